"""The bar while a large file is read: when it comes, and that it goes."""

from __future__ import annotations

import sys

import pexpect
import pytest

from tests.cli.command import ENVIRONMENT, ROOT
from xladoctor.cli.progress_bar import progress_bar

READING = """
import sys, time
from xladoctor.cli.progress_bar import progress_bar
with progress_bar() as bar:
    for name in ("[a].xplane.pb", "b.xplane.pb"):
        if bar: bar.start(100_000_000, name)
        for _ in range(4):
            time.sleep({pause})
            if bar: bar.advance(20_000_000)
        {ending}
        if bar: bar.done()
print("done")
"""


def on_a_terminal(pause: float, ending: str = "", **environment: str) -> str:
    program = READING.format(pause=pause, ending=ending)
    with pexpect.spawn(
        sys.executable,
        ["-c", program],
        cwd=str(ROOT),
        encoding="utf-8",
        timeout=60,
        env={**ENVIRONMENT, "TERM": "xterm", **environment},
    ) as terminal:
        terminal.expect(pexpect.EOF)
        return str(terminal.before)


def test_bar_comes_after_a_second_and_goes() -> None:
    shown = on_a_terminal(0.4)
    assert "xladoctor: reading [a].xplane.pb" in shown
    assert "xladoctor: reading b.xplane.pb" in shown
    assert "80.0/100.0 MB" in shown
    assert "20.0/100.0 MB" not in shown  # not a second yet
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 2  # the cursor is back
    assert shown.endswith("\x1b[2Kdone\r\n")


@pytest.mark.parametrize(("pause", "terminal"), [(0.01, "xterm"), (0.4, "dumb")])
def test_bar_does_not_come(pause: float, terminal: str) -> None:
    assert on_a_terminal(pause, TERM=terminal) == "done\r\n"


def test_bar_goes_when_the_reading_fails() -> None:
    shown = on_a_terminal(0.4, ending="raise SystemExit(3)")
    assert "reading [a].xplane.pb" in shown
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1
    assert shown.endswith("\x1b[2K")


def test_no_terminal_no_bar(capfd: pytest.CaptureFixture[str]) -> None:
    with progress_bar() as bar:
        assert bar is None
    assert capfd.readouterr() == ("", "")
