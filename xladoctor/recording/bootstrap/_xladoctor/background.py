"""A thread outside ``threading``, whose threads the program may count, list and join."""

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
        """Whether it ends within ``timeout_s``; true if it was never started, or is what asks."""
        if self.ident == _thread.get_ident():
            return True
        if not self._running.acquire(timeout=timeout_s):
            return False
        self._running.release()
        return True
