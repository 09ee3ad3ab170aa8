"""The status line, in a pseudo-terminal: on the last row, and never in the program's way."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import dedent

import pexpect
import pytest

from tests.live.forked import Finished
from tests.live.harness import INTERRUPTIBLE, LIMIT_S, LIVE, Captured, environment, write
from tests.live.screen import Screen

pytestmark = [
    *LIVE,
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),  # Python 3.12: xdist threads
]

STEPS = 40
TRAIN = f"""
    import sys, time
    print("loading torch ... ", end="", flush=True)  # half a line, while the status line appears
    time.sleep(1)
    import torch
    import torch_xla
    print("done")
    weights = torch.ones(8, 8).to(torch_xla.device())
    for step in range({STEPS}):
        weights = weights * 0.9
        torch_xla.sync()
        print("step", step)
    print("ready", flush=True)
    try:
        time.sleep(40)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        raise
    """
OUTPUT = ["loading torch ... done", *(f"step {step}" for step in range(STEPS)), "ready"]
WORK = """
    import time
    print("working", flush=True)
    time.sleep(1.5)
    """


def spawn(
    folder: Path, *words: str, rows: int = 24, term: str = "xterm", shell: str = ""
) -> pexpect.spawn[str]:
    """Start ``xladoctor run`` in a pseudo-terminal of 80 columns."""
    command = [sys.executable, "-m", "xladoctor", "run", "-o", "out", *words]
    if shell:
        command = ["sh", "-c", f'"$@" {shell}', "sh", *command]
    return pexpect.spawn(
        command[0],
        command[1:],
        cwd=str(folder),
        dimensions=(rows, 80),
        echo=False,
        encoding="utf-8",
        timeout=LIMIT_S,
        env=environment(TERM=term, NO_COLOR="1"),
    )


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, Captured]:
    """What the terminal received up to the program's last step, and after Ctrl-C; and the run."""
    folder = tmp_path_factory.mktemp("session")
    program = write(folder, "train.py", INTERRUPTIBLE + dedent(TRAIN))
    with spawn(folder, program.name) as terminal:
        shown = rf"xladoctor: {STEPS} steps, \d+ compilations?, \d+:\d\d[^\x1b]*"
        terminal.expect(rf"{shown}\x1b\[0m\x1b8")
        during = f"{terminal.before}{terminal.after}"
        terminal.sendintr()
        terminal.expect(pexpect.EOF)
        after = str(terminal.before)
    assert terminal.exitstatus is not None
    return during, after, Captured(program, folder / "out", Finished(terminal.exitstatus, "", ""))


@pytest.mark.xdist_group("terminal")
def test_status_is_on_the_last_row_and_output_above_it(session: tuple[str, str, Captured]) -> None:
    during, _, run = session
    screen = Screen().feed(during)

    lately = r"(; last 10 s: 1 compiled(; last .*)?)?"
    status = rf"xladoctor: {STEPS} steps, 1 compilation, \d+:\d\d{lately}"
    assert len(run.log_lines("compile")) == 1
    assert re.fullmatch(status, screen.lines[-1].rstrip())
    assert screen.region == (0, 22)
    assert screen.text[:-1] == [*OUTPUT, *[""] * (len(screen.text) - 1 - len(OUTPUT))]


@pytest.mark.xdist_group("terminal")
def test_terminal_is_given_back_whole_with_all_output(session: tuple[str, str, Captured]) -> None:
    during, after, _ = session
    screen = Screen().feed(during).feed(after)
    text = "\n".join(screen.text)

    assert screen.region == screen.whole
    assert screen.text[: len(OUTPUT) + 2] == [
        *OUTPUT,
        "interrupted",
        "Traceback (most recent call last):",
    ]
    assert re.search(r"compilations?, \d+:\d\d", text) is None
    assert text.index("KeyboardInterrupt") < text.index("xladoctor  train.py")


@pytest.mark.xdist_group("terminal")
def test_interrupt_key_reaches_the_program_once(session: tuple[str, str, Captured]) -> None:
    _, after, run = session

    assert after.count("interrupted\r\n") == 1
    assert after.count("KeyboardInterrupt") == 1
    assert run.finished.status == 130
    assert run.report["run"]["signal"] == 2


def _shown(folder: Path, *words: str, rows: int = 24, term: str = "xterm", shell: str = "") -> str:
    program = write(folder, "work.py", WORK)
    with spawn(folder, *words, program.name, rows=rows, term=term, shell=shell) as terminal:
        terminal.expect(pexpect.EOF)
        return str(terminal.before)


def test_status_line_is_shown_from_the_start(tmp_path: Path) -> None:
    assert "xladoctor: 0 steps, 0 compilations, 0:00" in _shown(tmp_path)


@pytest.mark.parametrize(
    ("words", "rows", "term", "shell"),
    [
        (["--quiet"], 24, "xterm", ""),
        pytest.param([], 24, "dumb", "", marks=pytest.mark.thorough),
        pytest.param([], 3, "xterm", "", marks=pytest.mark.thorough),
        ([], 24, "xterm", "2>errors"),
    ],
    ids=["quiet", "dumb terminal", "three rows", "standard error in a file"],
)
def test_nothing_is_drawn_where_it_is_not_wanted(
    tmp_path: Path, words: list[str], rows: int, term: str, shell: str
) -> None:
    shown = _shown(tmp_path, *words, rows=rows, term=term, shell=shell)

    assert shown.startswith("working\r\n")
    assert "\x1b" not in shown
    assert "steps" not in shown
