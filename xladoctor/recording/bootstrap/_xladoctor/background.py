"""A thread that the program does not see, which may count, list and join those of ``threading``."""

from __future__ import annotations

import _thread
from typing import Callable


class Background:
    """Runs a function beside the program; it dies with the interpreter, as daemons do."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._running = _thread.allocate_lock()
        self.ident = 0  # as in ``sys._current_frames()``

    def start(self) -> None:
        """Start it, once."""
        self._running.acquire()
        self.ident = _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            self._work()
        finally:
            self._running.release()

    def ended(self, timeout_s: float = 0.0) -> bool:
        """Whether it has ended within ``timeout_s``; also if it never began."""
        if not self._running.acquire(timeout=timeout_s):
            return False
        self._running.release()
        return True
