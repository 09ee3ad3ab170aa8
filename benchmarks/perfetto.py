"""`xladoctor view RUN --perfetto FILE` on a run with five million events, beside `analyze`.

`python -m benchmarks.perfetto [--folder FOLDER] [--rounds N] [--steps N]`. Whole processes, in
turn: seconds, seconds of processors, MB at the peak. What the export adds is the difference.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.make_timeline import FOLDER, captured_run


def measured(*arguments: str | Path) -> tuple[float, float, float]:
    """Seconds, seconds of processors, and MB at the peak of one command."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "xladoctor", *map(str, arguments)]
    environment = {**os.environ, "XLADOCTOR_CACHE": "off"}
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command}: status {child.returncode}")
    wall = time.perf_counter() - began
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


def main() -> None:
    """Measure and print medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args()
    run = captured_run(asked.folder, asked.steps)
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = Path(folder) / "trace.pftrace", Path(folder) / "trace.pftrace.gz"
        commands: dict[str, tuple[str | Path, ...]] = {
            "analyze": ("analyze", run),
            "--perfetto": ("view", run, "--perfetto", plain),
            "--perfetto .gz": ("view", run, "--perfetto", packed),
        }
        rounds = [
            {name: measured(*command) for name, command in commands.items()}
            for _ in range(asked.rounds)
        ]
        sizes = {"--perfetto": plain.stat().st_size, "--perfetto .gz": packed.stat().st_size}
    print(f"{'':16}{'wall':>9}{'CPU':>9}{'peak':>12}{'file':>10}")
    for name in commands:
        wall, used, peak = (
            statistics.median(figures)
            for figures in zip(*(each[name] for each in rounds), strict=True)
        )
        size = f"{sizes[name] / 1e6:>7,.0f} MB" if name in sizes else ""
        print(f"{name:16}{wall:>7.2f} s{used:>7.2f} s{peak:>9,.0f} MB{size}")


if __name__ == "__main__":
    main()
