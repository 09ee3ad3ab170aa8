"""What the profiler costs by itself, without xladoctor: the floor of steps inside the window.

    python -m benchmarks.profiler_alone [--kinds tiny large] [--processes 8]

In each of several bare processes a session of TSL's profiler is opened over 60 steps, as the window
is: the first of the process, which costs most, since its memory is new. For each kind it prints the
ratio of the median step inside to that of the 60 steps before: median, quartiles and range over the
processes; and the page faults of a step, before and inside.
"""

from __future__ import annotations

import argparse
import json
import resource
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
WARM_UP = 100


def measure(kind: str) -> None:
    """Run one process's steps, and print its figures."""
    losses = programs.KINDS[kind](WARM_UP + 2 * BLOCK, torch_xla.device())
    _steps(losses, WARM_UP)
    before, faults_before = _steps(losses, BLOCK)
    running = torch_xla._XLAC.profiler.TslProfilerSessionWrapper()
    inside, faults_inside = _steps(losses, BLOCK)
    running.stop()
    print(json.dumps([inside / before, faults_before, faults_inside]))


def _steps(losses: Any, count: int) -> tuple[float, float]:
    """The median step in nanoseconds, and page faults a step."""
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    spent, began = [], time.perf_counter_ns()
    for _ in range(count):
        next(losses)
        now = time.perf_counter_ns()
        spent.append(now - began)
        began = now
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
    return statistics.median(spent), faults / count


def main() -> None:
    """Measure each kind, and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kinds", nargs="+", choices=programs.KINDS, default=list(programs.KINDS))
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.here:
        measure(asked.kinds[0])
        return
    for kind in asked.kinds:
        command = [sys.executable, "-m", "benchmarks.profiler_alone", "--here", "--kinds", kind]
        measured = np.array(
            [
                json.loads(
                    subprocess.run(
                        command, env=for_cpu(), check=True, capture_output=True
                    ).stdout.splitlines()[-1]
                )
                for _ in range(asked.processes)
            ]
        )
        low, lower, middle, upper, high = np.percentile(measured[:, 0], (0, 25, 50, 75, 100))
        before, inside = np.median(measured[:, 1:], axis=0)
        print(
            f"{kind:8} {middle:.3f}   {lower:.3f}..{upper:.3f}   {low:.3f}..{high:.3f}"
            f"   {before:.0f} -> {inside:.0f} page faults a step",
            flush=True,
        )


if __name__ == "__main__":
    main()
