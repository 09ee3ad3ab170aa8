"""Two programs that share the machine in turn, a slice of time each, so that noise hits both alike.

A program whose turn is over is stopped, with its loader's workers: its process group, which is its
own. The command that wraps it, and only waits meanwhile, is left alone. The steps that it was in
the midst of are told from the instants of the stops. Its start, its end and what follows are never
cut.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.environment import for_cpu

START_S = 120.0  # a program that is not ready by then never will be
FINISH_S = 300.0


@dataclass
class Program:
    """A run of `benchmarks.programs`, maybe under a command that wraps it.

    Attributes:
        log: the file for its standard error.
        spawn_ns: wall clock before it was started.
        gaps: when it was stopped and when it went on, wall clock in nanoseconds.
        output: what the program printed about itself.
        end_ns: wall clock when the command had ended.
    """

    command: list[str]
    cwd: Path
    log: Path
    gaps: list[tuple[int, int]] = field(default_factory=list)
    output: dict[str, Any] = field(default_factory=dict)
    spawn_ns: int = 0
    end_ns: int = 0
    _group: int = 0

    def start(self) -> None:
        """Up to where it has a device, and no further."""
        self.spawn_ns = time.time_ns()
        with self.log.open("w") as errors:
            self._child = subprocess.Popen(
                self.command,
                cwd=self.cwd,
                env=for_cpu(),
                stdin=subprocess.PIPE,
                bufsize=0,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        if not (line := self._line(START_S)).startswith("ready "):
            self._give_up()
        self._group = int(line.split()[1])
        self._tell()
        self._pause()

    def turn(self, seconds: float) -> bool:
        """Let it run for a while; whether its loop is over."""
        self._resume()
        line = self._line(seconds)
        if line not in ("", "done\n"):
            self._give_up()
        self._pause()
        return bool(line)

    def finish(self) -> None:
        """Let it end, and read what it has to say."""
        self._resume()
        self._tell()
        assert self._child.stdout
        lines = self._child.stdout.read().decode().splitlines()
        status = self._child.wait(FINISH_S)
        self.end_ns = time.time_ns()
        reports = [line for line in lines if line.startswith('{"ready_ns"')]
        if status or not reports:
            self._give_up()
        self.output = json.loads(reports[0])

    def _line(self, seconds: float) -> str:
        """The next line that it prints, or nothing where none comes within that time."""
        assert self._child.stdout
        if not select.select([self._child.stdout], [], [], seconds)[0]:
            return ""
        return self._child.stdout.readline().decode()

    def _tell(self) -> None:
        assert self._child.stdin
        self._child.stdin.write(b"\n")

    def _pause(self) -> None:
        self.gaps.append((time.time_ns(), 0))
        os.killpg(self._group, signal.SIGSTOP)

    def _resume(self) -> None:
        os.killpg(self._group, signal.SIGCONT)
        self.gaps[-1] = (self.gaps[-1][0], time.time_ns())

    def kill(self) -> None:
        """End it with all its processes, if it still runs."""
        if self._child.poll() is None:
            if self._group:
                os.killpg(self._group, signal.SIGKILL)
            self._child.kill()
            self._child.wait()

    def _give_up(self) -> None:
        self.kill()
        raise SystemExit(f"{' '.join(self.command)} failed:\n{self.log.read_text()[-3000:]}")


def run_in_turn(programs: list[Program], slice_s: float) -> None:
    """Run programs from start to end, their loops in turn, ``slice_s`` seconds each."""
    started: list[Program] = []
    try:
        for program in programs:
            started.append(program)
            program.start()
        waiting = deque(programs)
        while waiting:
            program = waiting.popleft()
            if not program.turn(slice_s):
                waiting.append(program)
        for program in programs:
            program.finish()
    finally:
        for program in started:
            program.kill()
