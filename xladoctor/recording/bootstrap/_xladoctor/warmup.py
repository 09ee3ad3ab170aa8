"""Constants of warm-up and steps, for the capture and every stage after it."""

from __future__ import annotations

#: Iterations of a loop, and launches of a call site, in which compiling is expected: the first
#: compiles the graph, many optimizers compile another one at their second update, and only the
#: third can show that compiling is over.
WARMUP = 3

#: Without barriers, a call ends steps only if its launch does at least this share of the work of a
#: launch of the heaviest loop. A step of evaluation does about a third of a training step's work.
LEAST_OF_STEP = 0.1
