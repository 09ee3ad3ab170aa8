"""A status line on the terminal's last row while the program writes above it.

The program owns the terminal: its output must look as it would without us. So the last row is taken
out of the scrolling region (as package managers do for their progress bar) and written with the
cursor saved and restored. Nothing is drawn if standard error is not a terminal.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from xladoctor.recording.pace import LATELY_S, Logs, Pace

_SAVE, _RESTORE, _CLEAR_LINE = "\x1b7", "\x1b8", "\x1b[2K"
_DOWN, _UP = "\x1bD", "\x1b[1A"  # keep the column, unlike a line feed: the program may be mid-line


class StatusLine:
    """Shows how the program is doing and for how long, from its step logs as they grow."""

    def __init__(self) -> None:
        self._rows = 0
        self._began = 0.0
        self._logs: Logs | None = None

    def started(self, directory: Path) -> None:
        """Follow the step logs in ``directory``."""
        self._logs = Logs(directory)
        self._began = time.monotonic()

    def tick(self) -> None:
        """Redraw the line."""
        if self._logs is not None:
            self._draw(self._logs.pace())

    def ended(self) -> None:
        """Give the last row back to the program's terminal."""
        if self._rows:
            self._write(f"{_SAVE}\x1b[r\x1b[{self._rows};1H{_CLEAR_LINE}{_RESTORE}")
            self._rows = 0

    def _draw(self, pace: Pace) -> None:
        columns, rows = os.get_terminal_size(sys.stderr.fileno())
        if rows < 4:
            return
        text = described(pace, time.monotonic() - self._began, columns)
        reserve = ""
        if rows != self._rows:  # make room below the cursor, then keep the last row for us
            reserve = f"{_DOWN}{_UP}{_SAVE}\x1b[1;{rows - 1}r{_RESTORE}"
            self._rows = rows
        dimmed = f"\x1b[2m{text[: columns - 1]}\x1b[0m"
        self._write(f"{reserve}{_SAVE}\x1b[{rows};1H{_CLEAR_LINE}{dimmed}{_RESTORE}")

    def _write(self, text: str) -> None:
        terminal = sys.__stderr__ or sys.stderr  # sys.stderr may refuse to move the cursor
        terminal.write(text)
        terminal.flush()


def described(pace: Pace, elapsed_s: float, width: int) -> str:
    """The pace in words, as much as there is room for, the most important first."""
    minutes, seconds = divmod(int(elapsed_s), 60)
    text = (
        f"xladoctor: {_number(pace.steps, 'step')}, {_number(pace.compilations, 'compilation')},"
        f" {minutes}:{seconds:02d}"
    )
    return text + "".join(part for part, end in _parts(pace, len(text)) if end < width)


def _parts(pace: Pace, end: int) -> Iterator[tuple[str, int]]:
    """Further parts of the line, each with the column at which it ends."""
    steps, compilations, reads = pace.lately
    counts = [f"{compilations} compiled"] * bool(compilations) + [f"{reads} read"] * bool(reads)
    parts = [f"last {LATELY_S:.0f} s: {', '.join(counts)}"] * bool(counts)
    if steps and pace.last_ms is not None:
        usual = "" if pace.median_ms is None else f" (median {_time(pace.median_ms)})"
        parts += [f"last {_time(pace.last_ms)}{usual}", f"{steps / LATELY_S:.3g} steps a second"]
    for part in parts:
        end += len(part) + 2
        yield f"; {part}", end


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _time(milliseconds: float) -> str:
    """A time in characters that any terminal has."""
    return f"{milliseconds / 1e3:.3g} s" if milliseconds >= 1e3 else f"{milliseconds:.3g} ms"


class Silence:
    """No status line: standard error is not a terminal, or the user asked for quiet."""

    def started(self, directory: Path) -> None:
        """Nothing to do."""

    def tick(self) -> None:
        """Nothing to do."""

    def ended(self) -> None:
        """Nothing to do."""


def observer(quiet: bool) -> StatusLine | Silence:
    """A status line, if it would be seen."""
    visible = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return StatusLine() if visible and not quiet else Silence()
