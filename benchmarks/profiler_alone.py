"""What the profiler costs by itself, without xladoctor: the floor of steps inside the window.

    python -m benchmarks.profiler_alone [--kinds tiny large] [--blocks 20]

In one bare process blocks of 60 steps are run in turn with and without a session of TSL's profiler;
which one begins alternates. For each kind it prints the ratio of the median steps of both blocks of
a pair: median, quartiles and range over the pairs.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np
import torch_xla

from benchmarks import programs
from benchmarks.environment import for_cpu

BLOCK = 60  # steps, as many as a window has
WARM_UP = 40
BLOCKS = {"graph": 4}  # whose steps take a tenth of a second


def ratios(kind: str, pairs: int) -> list[float]:
    """Of each pair of blocks, the median step with the profiler by that without."""
    session = torch_xla._XLAC.profiler.TslProfilerSessionWrapper
    losses = programs.KINDS[kind](WARM_UP + 2 * BLOCK * pairs, torch_xla.device())
    _median_ns(losses, WARM_UP)
    found = []
    for pair in range(pairs):
        spent = {}
        for traced in (True, False) if pair % 2 else (False, True):
            running = session() if traced else None
            spent[traced] = _median_ns(losses, BLOCK)
            if running is not None:
                running.stop()
        found.append(spent[True] / spent[False])
    return found


def _median_ns(losses: Any, steps: int) -> float:
    spent, began = [], time.perf_counter_ns()
    for _ in range(steps):
        next(losses)
        now = time.perf_counter_ns()
        spent.append(now - began)
        began = now
    return statistics.median(spent)


def main() -> None:
    """Measure each kind in a process of its own, and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kinds", nargs="+", choices=programs.KINDS, default=list(programs.KINDS))
    parser.add_argument("--blocks", type=int, help="pairs of blocks (20; graph: 4)")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if not asked.here:
        for kind in asked.kinds:
            pairs = str(asked.blocks or BLOCKS.get(kind, 20))
            command = [sys.executable, "-m", "benchmarks.profiler_alone", "--here", "--kinds", kind,
                       "--blocks", pairs]  # fmt: skip
            subprocess.run(command, env=for_cpu(), check=True)
        return
    (kind,) = asked.kinds
    low, lower, middle, upper, high = np.percentile(
        ratios(kind, asked.blocks), (0, 25, 50, 75, 100)
    )
    print(f"{kind:8} {middle:.3f}   {lower:.3f}..{upper:.3f}   {low:.3f}..{high:.3f}", flush=True)


if __name__ == "__main__":
    main()
