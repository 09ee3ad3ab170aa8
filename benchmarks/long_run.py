"""What a long run leaves on disk and in memory: a million executions, bare and captured.

    python -m benchmarks.long_run [--modes seldom each] [--executions N] [--capture OPTIONS]

Modes: `seldom` reads a value every 100 steps (1,000,000 executions), `each` reads one each step
(100,000). The program runs bare, then under `xladoctor run`; each time its resident memory is read
once a second. Growth is from the first twentieth of the executions, by when everything that is
needed has been loaded and the timeline is closed, to the end of the loop. The graph is one
addition, so that a step is as short as torch_xla lets it be; all executions are real.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.environment import for_cpu

ROOT = Path(__file__).parents[1]
PROGRAM = Path(__file__).with_name("many_executions.py")
MODES = {"seldom": (1_000_000, 100), "each": (100_000, 1)}  # executions, steps a read
DISK_MB = 50.0
GROWTH_MB = 50.0
PERIOD_S = 1.0


@dataclass
class Memory:
    """A program's resident memory while it ran.

    Attributes:
        marks: executions done and wall clock in nanoseconds, at each twentieth of the way.
        samples: wall clock in nanoseconds and MB, once a second.
    """

    marks: list[tuple[int, int]] = field(default_factory=list)
    samples: list[tuple[int, float]] = field(default_factory=list)

    def at(self, mark: int) -> float:
        """MB at that mark, between the samples around it."""
        instants, sizes = zip(*self.samples, strict=True)
        return float(np.interp(self.marks[mark][1], instants, sizes))

    @property
    def growth(self) -> float:
        """MB from the first twentieth to the end."""
        return self.at(-1) - self.at(1)

    @property
    def peak(self) -> float:
        """MB at most, the end of the process included."""
        return max(size for _, size in self.samples)

    @property
    def step_us(self) -> float:
        """Microseconds an execution, from the first twentieth to the end."""
        (first, began), (last, ended) = self.marks[1], self.marks[-1]
        return (ended - began) / 1e3 / (last - first)

    def row(self, name: str) -> str:
        """What the table says of it."""
        return (
            f"{name:10}{self.step_us:>9.0f} µs{self.at(1):>10.1f} MB{self.at(-1):>10.1f} MB"
            f"{self.growth:>+10.1f} MB{self.peak:>10.1f} MB"
        )


def watch(pid: int, memory: Memory, over: threading.Event) -> None:
    """Read a process's resident memory until it has ended."""
    status = Path(f"/proc/{pid}/status")
    with contextlib.suppress(OSError, StopIteration):  # ended; or about to, without memory
        while not over.is_set():
            lines = status.read_text().splitlines()
            size = next(line for line in lines if line.startswith("VmRSS:"))
            memory.samples.append((time.time_ns(), int(size.split()[1]) / 1024))
            over.wait(PERIOD_S)


def follow(command: list[str]) -> Memory:
    """Run the program to its end, and watch its memory.

    Raises:
        SystemExit: it failed, also if it executed more or less than it should.
    """
    memory, over = Memory(), threading.Event()
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            command, cwd=ROOT, env=for_cpu(), text=True, stderr=errors, stdout=subprocess.PIPE
        )
        assert child.stdout
        for line in child.stdout:
            progress = json.loads(line)
            memory.marks.append((progress["done"], progress["wall_ns"]))
            if progress["done"] == 0:
                watched = (progress["pid"], memory, over)
                threading.Thread(target=watch, args=watched, daemon=True).start()
        status = child.wait()
        over.set()
        if status:
            errors.seek(0)
            raise SystemExit(f"{' '.join(command)}: status {status}\n{errors.read()[-3000:]}")
    return memory


def sizes(run: Path) -> tuple[dict[str, float], dict[str, float]]:
    """MB of each file of a run directory: the light evidence, and the timeline."""
    files = {
        file.relative_to(run).as_posix(): file.stat().st_size / 1e6
        for file in sorted(run.rglob("*"))
        if file.is_file()
    }
    timeline = {name: size for name, size in files.items() if name.endswith(".xplane.pb")}
    return {name: size for name, size in files.items() if name not in timeline}, timeline


def measure(mode: str, executions: int, steps_a_read: int, options: list[str]) -> None:
    """Run one mode, and print what it left."""
    arguments = [str(PROGRAM), str(executions), str(steps_a_read)]
    print(f"{mode}: {executions:,} executions, a read every {steps_a_read} steps", flush=True)
    print(f"{'':10}{'step':>12}{'RSS at 5%':>13}{'at the end':>13}{'growth':>13}{'peak':>13}")
    bare = follow([sys.executable, *arguments])
    print(bare.row("bare"), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        captured = follow(
            [
                sys.executable,
                "-m",
                "xladoctor",
                "run",
                "--quiet",
                "-o",
                str(run),
                "--format",
                f"terminal={folder}/report.txt",
                *options,
                *arguments,
            ]
        )
        print(captured.row("captured"))
        light, timeline = sizes(run)
        faults = [
            line
            for log in run.glob("process-*/faults.log")
            for line in log.read_text().splitlines()
        ]
    beyond = captured.growth - bare.growth
    print(f"growth beyond bare {beyond:+.1f} MB {within(beyond, GROWTH_MB)}")
    total = sum(light.values()) + sum(timeline.values())
    print(
        f"on disk {total:.2f} MB {within(total, DISK_MB)}: light evidence"
        f" {sum(light.values()):.2f} MB, timeline {sum(timeline.values()):.2f} MB"
    )
    for name, size in (light | timeline).items():
        print(f"  {size:>9.3f} MB  {name}")
    if faults:
        print("FAULTS of the capture, which is not all there therefore:", *faults, sep="\n  ")
    print(flush=True)


def within(value: float, target: float) -> str:
    """The target, and whether it was met."""
    return f"({'≤' if value <= target else '>'} {target:.0f} MB)"


def main() -> None:
    """Measure the requested modes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--executions", type=int, help="of every mode, instead of each mode's own")
    parser.add_argument("--capture", default="", help="options for `xladoctor run`, in one word")
    asked = parser.parse_args()
    for mode in asked.modes:
        executions, steps_a_read = MODES[mode]
        executions = asked.executions or executions
        if executions < 20 * steps_a_read:
            parser.error(f"--executions: mode {mode} needs {20 * steps_a_read} or more")
        measure(mode, executions, steps_a_read, shlex.split(asked.capture))


if __name__ == "__main__":
    main()
