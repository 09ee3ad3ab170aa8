"""A bar on standard error while a large file is read."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_S = 1.0


class ProgressBar:
    """Shows what is read, and how far, once that has taken a second; leaves nothing behind.

    An observer of the kind :class:`xladoctor.ingest.interface.Progress`.
    """

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._label = ""
        self._began = 0.0
        self._total = self._read = 0

    def start(self, total_bytes: int, label: str) -> None:
        """A file of that size is about to be read."""
        self.done()
        self._label, self._total, self._read = label, total_bytes, 0
        self._began = time.monotonic()

    def advance(self, count: int) -> None:
        """More bytes were read."""
        self._read += count
        if time.monotonic() - self._began < _PATIENCE_S:
            return
        if self._bar is None or self._task is None:
            self._bar = _bar()
            self._task = self._bar.add_task(self._label, total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=self._read)

    def done(self) -> None:
        """The file was read, or given up."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None


@contextmanager
def progress_bar() -> Iterator[ProgressBar | None]:
    """A bar, if one can be seen, removed however the reading ends; else None."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield None
        return
    bar = ProgressBar()
    try:
        yield bar
    finally:
        bar.done()


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    label = TextColumn("xladoctor: reading {task.description}", markup=False)
    return Progress(
        label, BarColumn(), DownloadColumn(), console=Console(file=sys.__stderr__), transient=True
    )
