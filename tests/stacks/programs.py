"""Programs that hang, started for a test and ended after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

from tests.cli.command import ENVIRONMENT
from xladoctor.stacks.process import process

LIMIT_S = 60.0  # for a program to come to where it hangs, on a busy machine


@contextmanager
def hanging(
    folder: Path, source: str, *, settles: bool = True, env: dict[str, str] | None = None
) -> Iterator[int]:
    """A program that says ``ready`` and then hangs; with ``settles``, sleeping in the kernel."""
    path = folder / "program.py"
    path.write_text(dedent(source).strip() + "\n", encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**ENVIRONMENT, **(env or {})},
        start_new_session=True,
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "ready\n"
            if settles:
                wait_for_state(running.pid, "S")
            yield running.pid
        finally:
            os.killpg(running.pid, signal.SIGKILL)


def wait_for_state(pid: int, state: str) -> None:
    """Wait until the main thread has been in the state for a while."""
    deadline, seen = time.monotonic() + LIMIT_S, 0
    while seen < 6:
        now = process(pid)
        assert now is not None
        assert time.monotonic() < deadline, f"state {now.state}"
        seen = seen + 1 if now.state == state else 0
        time.sleep(0.05)


def line_of(folder: Path, text: str) -> int:
    """The one line of the program that has this text."""
    lines = (folder / "program.py").read_text(encoding="utf-8").splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if text in line]
    return number
