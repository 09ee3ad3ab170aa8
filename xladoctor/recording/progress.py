"""A status line on the terminal's last row while the program writes above it.

The program owns the terminal: its output must look as it would without us. So the last row is taken
out of the scrolling region (as package managers do for their progress bar) and written with the
cursor saved and restored. Nothing is drawn if standard error is not a terminal.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from xladoctor.regular_files import LOG, open_regular

_SAVE, _RESTORE, _CLEAR_LINE = "\x1b7", "\x1b8", "\x1b[2K"
_DOWN, _UP = "\x1bD", "\x1b[1A"  # keep the column, unlike a line feed: the program may be mid-line


class StatusLine:
    """Shows steps, compilations and elapsed time; follows the step logs as they grow."""

    def __init__(self) -> None:
        self._rows = 0
        self._began = 0.0
        self._directory: Path | None = None
        self._offsets: dict[Path, int] = {}
        self._steps = self._compilations = 0

    def started(self, directory: Path) -> None:
        """Follow the step logs that will come in ``directory``."""
        self._directory = directory
        self._began = time.monotonic()

    def tick(self) -> None:
        """Redraw the line."""
        self._follow()
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        text = (
            f"xladoctor: {self._steps} step{'s' * (self._steps != 1)},"
            f" {self._compilations} compilation{'s' * (self._compilations != 1)}, "
            f"{minutes}:{seconds:02d}"
        )
        self._draw(text)

    def ended(self) -> None:
        """Give the last row back to the program's terminal."""
        if self._rows:
            self._write(f"{_SAVE}\x1b[r\x1b[{self._rows};1H{_CLEAR_LINE}{_RESTORE}")
            self._rows = 0

    def _draw(self, text: str) -> None:
        columns, rows = os.get_terminal_size(sys.stderr.fileno())
        if rows < 4:
            return
        reserve = ""
        if rows != self._rows:  # make room below the cursor, then keep the last row for us
            reserve = f"{_DOWN}{_UP}{_SAVE}\x1b[1;{rows - 1}r{_RESTORE}"
            self._rows = rows
        dimmed = f"\x1b[2m{text[: columns - 1]}\x1b[0m"
        self._write(f"{reserve}{_SAVE}\x1b[{rows};1H{_CLEAR_LINE}{dimmed}{_RESTORE}")

    def _write(self, text: str) -> None:
        terminal = sys.__stderr__ or sys.stderr  # that one may refuse to move the cursor
        terminal.write(text)
        terminal.flush()

    def _follow(self) -> None:
        if self._directory is None:
            return
        for log in self._directory.glob("process-*/steps.jsonl"):
            offset = self._offsets.get(log, 0)
            try:
                with open_regular(log, LOG) as file:
                    file.seek(offset)
                    fresh = file.read()
            except OSError:  # gone, or what the program put in its place
                continue
            whole = fresh[: fresh.rfind(b"\n") + 1]
            self._offsets[log] = offset + len(whole)
            self._steps += whole.count(b'{"event":"step"')
            self._compilations += whole.count(b'{"event":"compile"')


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
