"""Ctrl-C ends a command with one line, whatever it is doing, from its first imports on."""

from __future__ import annotations

import _thread
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ENVIRONMENT, ROOT
from xladoctor.cli import boundary

#: Numbers of modules imported after `xladoctor` itself.
FEW, STEP = (3, 200, 500), 23
RUN = str(ROOT / "sample_traces" / "scalar_read")
COMMANDS = {
    "analyze": ["analyze", RUN],
    "gate": ["gate", RUN],
    "run": ["run", "--output", "out", "train.py"],
}


def interrupted(words: list[str], after: int, folder: Path) -> tuple[int, list[str]] | None:
    """The status and what was printed on standard error if SIGINT comes once so many modules have
    been imported; None if it takes fewer.
    """
    command = [sys.executable, "-X", "importtime", "-m", "xladoctor", *words]
    output, imports = [], -1
    with subprocess.Popen(
        command,
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if not line.startswith("import time:"):
                output.append(line)
            elif imports >= 0 or line.endswith("| xladoctor\n"):
                imports += 1
                if imports == after:
                    process.send_signal(signal.SIGINT)
    return (process.returncode, output) if imports >= after else None


@pytest.mark.parametrize("after", FEW)
def test_command_that_starts_ends_with_one_line(after: int, tmp_path: Path) -> None:
    ended = interrupted(COMMANDS["analyze"], after, tmp_path)
    assert ended == (130, ["xladoctor: interrupted\n"])


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS)
def test_command_ends_with_one_line_after_any_import(command: str, tmp_path: Path) -> None:
    after = 1
    while ended := interrupted(COMMANDS[command], after, tmp_path):
        assert ended == (130, ["xladoctor: interrupted\n"]), after
        after += STEP
    assert after > 300


def test_interrupt_that_a_shell_has_barred_is_ignored(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ended = interrupted(["--version"], 3, tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == (0, [])


def test_interrupt_is_not_lost_in_a_callback_of_the_import_system() -> None:
    source = "def cb():\n    interrupt()\n    ended.append(True)\n"
    ended: list[bool] = []
    names: dict[str, Any] = {"interrupt": _thread.interrupt_main, "ended": ended}
    exec(compile(source, "<frozen importlib._bootstrap>", "exec"), names)

    def program() -> None:
        names["cb"]()
        time.sleep(5)

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)]
    try:
        boundary.end_on_interrupt()
        with pytest.raises(SystemExit):
            program()
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGALRM, before[1])
        boundary._interrupted.clear()
    assert ended == [True]
