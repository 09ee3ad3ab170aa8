"""How long a program warms up, for every stage; SQL has it as the macro ``warmup()``."""

from __future__ import annotations

#: Turns of a loop, and launches of a call site, in which compiling is expected: the first compiles
#: the graph, many optimizers compile another one on their second update, the third is the first
#: that can show that it is over.
WARMUP = 3
