"""What capture costs: the same program bare and under `xladoctor run`, in turn, several times.

Prints, pair by pair and as median with spread: the ratio of the median step outside the timeline's
window, and the seconds added outside the steps (start-up, writing the evidence, the diagnosis).
Run it on a quiet machine: `make benchmark`, or `python benchmarks/capture_overhead.py --pairs 9`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = Path(__file__).with_name("tiny_steps.py")


def measure(command: list[str]) -> tuple[float, float]:
    """Median step in milliseconds, and seconds outside the steps."""
    began = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=True,
        env={**os.environ, "PJRT_DEVICE": "CPU"},
    )  # fmt: skip
    wall = time.perf_counter() - began
    line = next(line for line in done.stdout.splitlines() if line.startswith('{"median_ms"'))
    timed = json.loads(line)
    return timed["median_ms"], wall - timed["steps_s"]


def pair(steps: int, bare_first: bool) -> tuple[float, float, float]:
    """One pair, in either order: median steps bare and captured (ms), seconds added outside."""
    program = [sys.executable, str(PROGRAM), str(steps)]
    with tempfile.TemporaryDirectory() as folder:
        captured = [sys.executable, "-m", "xladoctor", "run", "--quiet", "-o", f"{folder}/run",
                    *program[1:]]  # fmt: skip
        order = [program, captured] if bare_first else [captured, program]
        results = {id(command): measure(command) for command in order}
    (bare_ms, bare_s), (captured_ms, captured_s) = results[id(program)], results[id(captured)]
    return bare_ms, captured_ms, captured_s - bare_s


def main() -> None:
    """Print the table and its summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args()
    print(f"{'bare':>10} {'captured':>10} {'ratio':>7} {'added outside steps':>20}")
    ratios, added = [], []
    for number in range(options.pairs):
        bare_ms, captured_ms, seconds = pair(options.steps, bare_first=number % 2 == 0)
        ratios.append(captured_ms / bare_ms)
        added.append(seconds)
        print(f"{bare_ms:>7.3f} ms {captured_ms:>7.3f} ms {ratios[-1]:>7.3f} {seconds:>18.2f} s")
    for name, values, unit in (("step ratio", ratios, ""), ("added", added, " s")):
        print(f"{name}: median {statistics.median(values):.3f}{unit},"
              f" {min(values):.3f} to {max(values):.3f}{unit}")  # fmt: skip


if __name__ == "__main__":
    main()
