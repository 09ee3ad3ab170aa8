"""What ``xladoctor.expect`` costs if it is met: a block, and a step inside one.

    python -m benchmarks.expect_overhead [--kind tiny] [--rounds 40] [--steps 50]

Three processes run the same training loop, some steps each in turn, so that noise hits all alike:
bare; inside one block for all of its turn; and inside a block for each step. For each it prints the
median step, and its ratio to the bare one's of the same round: median, quartiles and range over the
rounds. Then the microseconds of an empty block. Steps are steady: while graphs are new,
source lines are recorded, which takes a tenth of the tracing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch_xla

import xladoctor
from benchmarks import programs
from benchmarks.environment import for_cpu

WAYS = ("bare", "one block", "block a step")
WARM_UP = 100  # steps
EMPTY = 10_000  # blocks


def serve(way: str, kind: str, steps: int, rounds: int) -> None:
    """Run the loop of one process, some steps for each line of standard input."""

    def block(wanted: str) -> Any:
        return expectation if way == wanted else nullcontext()

    expectation = xladoctor.expect(compilations=0, host_syncs=10**9, fallbacks=0)
    if way != "bare":
        with xladoctor.expect(compilations=100):
            pass  # counting begins here
    losses = programs.KINDS[kind](WARM_UP + rounds * steps + 1, torch_xla.device())
    for _ in range(WARM_UP):
        next(losses)
    answer(0.0)
    for _ in sys.stdin:
        with block(WAYS[1]):
            answer(statistics.median(timed(losses, steps, block(WAYS[2]))))
    answer(0.0 if way == "bare" else empty(expectation))


def timed(losses: Any, steps: int, block: Any) -> Iterator[float]:
    """Microseconds of each step."""
    for _ in range(steps):
        began = time.perf_counter_ns()
        with block:
            next(losses)
        yield (time.perf_counter_ns() - began) / 1e3


def empty(block: Any) -> float:
    """Microseconds of a block with nothing in it."""
    began = time.perf_counter_ns()
    for _ in range(EMPTY):
        with block:
            pass
    return (time.perf_counter_ns() - began) / 1e3 / EMPTY


def answer(value: float) -> None:
    """Write a number, at once."""
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


class Served:
    """A process that runs the loop in one way."""

    def __init__(self, way: str, words: list[str]) -> None:
        command = [sys.executable, "-m", "benchmarks.expect_overhead", "--serve", way, *words]
        self._child = subprocess.Popen(
            command,
            env={**for_cpu(), "PYTHONPATH": os.pathsep.join(sys.path)},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self) -> float:
        """Have it run its steps; their median."""
        assert self._child.stdin
        self._child.stdin.write("\n")
        self._child.stdin.flush()
        return self.read()

    def read(self) -> float:
        """Its next number."""
        assert self._child.stdout
        line = self._child.stdout.readline()
        if not line:
            raise SystemExit(f"a process ended early, with status {self._child.wait()}")
        return float(json.loads(line))

    def end(self) -> float:
        """Let it end; the microseconds of an empty block."""
        assert self._child.stdin
        self._child.stdin.close()
        return self.read()


def spread(values: list[float]) -> str:
    """Median, quartiles and range."""
    low, lower, middle, upper, high = np.percentile(values, (0, 25, 50, 75, 100))
    return f"{middle:.3f}   {lower:.3f}..{upper:.3f}   {low:.3f}..{high:.3f}"


def main() -> None:
    """Measure, and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kind", default="tiny")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--serve", choices=WAYS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.serve, asked.kind, asked.steps, asked.rounds)
        return
    words = [f"--{name}={getattr(asked, name)}" for name in ("kind", "rounds", "steps")]
    served = {way: Served(way, words) for way in WAYS}
    for process in served.values():
        process.read()
    measured: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(asked.rounds):
        for way in WAYS if number % 2 else WAYS[::-1]:
            measured[way].append(served[way].ask())
    for way, medians in measured.items():
        ratios = [a / b for a, b in zip(medians, measured["bare"], strict=True)]
        more = statistics.median(a - b for a, b in zip(medians, measured["bare"], strict=True))
        print(f"{way:13}{statistics.median(medians):7.0f} us {more:+6.0f} us   {spread(ratios)}")
    blocks = [process.end() for process in served.values()]
    print(f"an empty block: {blocks[1]:.1f} us, {blocks[2]:.1f} us")


if __name__ == "__main__":
    main()
