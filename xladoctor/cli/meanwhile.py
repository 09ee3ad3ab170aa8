"""What the command does while the program runs: it gets the analysis ready, and reports so far."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from xladoctor.recording.interface import RunDirectory
from xladoctor.recording.launcher import Observer
from xladoctor.report.output import say
from xladoctor.repository import from_here

#: What every analysis imports, from the bottom to the top.
_MODULES = (
    "xladoctor.causes",
    "xladoctor.evidence.load",
    "xladoctor.diagnosis.engine",
    "xladoctor.diagnosis.pictures.make",
    "xladoctor.ingest.run_directory",
    "xladoctor.ingest.step_log",
    "xladoctor.ingest.timeline.read",
    "xladoctor.report.interface",
    "xladoctor.report.json",
    "xladoctor.report.terminal",
)
#: Of a thread that should run when nothing else does, but has to end soon when it is asked to.
_NICE = 10


class Meanwhile:
    """An observer of the program, with another one behind it.

    Attributes:
        directory: where the program's evidence goes, from its start on.
    """

    directory: Path

    def __init__(
        self,
        shown: Observer,
        prepared: Iterable[Callable[[], object]] = (),
        report: Callable[[Path], None] | None = None,
        every_s: float = 0.0,
    ) -> None:
        """
        Args:
            shown: the observer behind it.
            prepared: what to call once, in a thread; results are kept where it is called again.
            report: reports on a run directory; called in a copy of this process.
            every_s: seconds between two such reports.
        """
        self._shown = shown
        self._steps: list[Callable[[], object]] = [
            *(partial(import_module, name) for name in _MODULES),
            *prepared,
        ]
        self._report, self._every_s = report, every_s
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._due = 0.0
        self._copy = 0

    def started(self, directory: Path) -> None:
        """Called before the program starts."""
        self.directory = directory
        self._due = time.monotonic() + self._every_s
        if self._report is not None:
            say(f"reports on the program so far: {from_here(RunDirectory(directory).report)}")
        self._shown.started(directory)

    def tick(self) -> None:
        """Called while the program is running, with the signals blocked that are meant for it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._prepare, daemon=True)
            self._thread.start()
        if self._report is not None and time.monotonic() >= self._due and self._is_free():
            self._due = time.monotonic() + self._every_s
            self._thread.join()  # a copy has only this thread, and the other's locks
            self._copy = os.fork() or self._report_and_end()
        self._shown.tick()

    def ended(self) -> None:
        """Called after the program has ended."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if not self._is_free():
            os.kill(self._copy, signal.SIGKILL)
            os.waitpid(self._copy, 0)
            self._copy = 0
        self._shown.ended()

    def _prepare(self) -> None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)  # of this thread
        for step in self._steps:
            if self._over.is_set():
                break
            with contextlib.suppress(Exception):  # it is raised again where it can be reported
                step()

    def _is_free(self) -> bool:
        """Whether the last copy has ended."""
        if self._copy and os.waitpid(self._copy, os.WNOHANG) != (0, 0):
            self._copy = 0
        return not self._copy

    def _report_and_end(self) -> NoReturn:
        """Report, in the copy: silently, as the terminal is the program's."""
        try:
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            os.nice(_NICE)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            if self._report is not None:
                self._report(self.directory)
        finally:
            os._exit(0)
