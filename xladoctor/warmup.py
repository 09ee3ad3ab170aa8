"""How long a program warms up, for all stages; in SQL, the macro ``warmup()``."""

from __future__ import annotations

#: Iterations of a loop, and launches of a call site, in which compiling is expected: the first
#: compiles the graph, the second compiles another for many optimizers, and only the third can show
#: that this is over.
WARMUP = 3
