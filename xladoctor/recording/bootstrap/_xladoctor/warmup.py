"""How long a program warms up: the one constant, for the capture and for every stage after it."""

from __future__ import annotations

#: Iterations of a loop, and launches of a call site, in which compiling is expected: the first
#: compiles the graph, many optimizers compile another on their second update, and the third is the
#: first that can show that it is over.
WARMUP = 3

#: Where there are no barriers: a call ends steps only if a launch of it does so much of what one of
#: the loop that does most in all does. An evaluation's does a third of a training step's.
LEAST_OF_STEP = 0.1
