"""Shares the profiler: a process can have one session, and the program's own has priority."""

from __future__ import annotations

import threading
from typing import Callable

from . import clock
from .framework import Profiles
from .frontend import ProfilerSession, Recorded


class Profiler:
    """Opens sessions for the capture. ``lock`` is held while one begins or ends."""

    def __init__(self, profiles: Profiles) -> None:
        self.lock = threading.RLock()
        self._profiles = profiles
        self._open = False
        self._programs: set[int] = set()
        self._count = 0

    def hand_over(self, begins: Callable[[], None], ended: Callable[[str | None], None]) -> None:
        """Have the program's own profiles end the capture's session from now on.

        Args:
            begins: called before a profile of the program begins.
            ended: called after it, with the timeline that it wrote, or None.
        """

        def begin() -> int:
            with self.lock:
                begins()
                self._count += 1
                self._programs.add(self._count)
                return self._count

        def end(number: int, file: str | None) -> None:
            with self.lock:
                if number in self._programs:
                    self._programs.remove(number)
                    if file is not None or not self._programs:  # a second profile is refused
                        ended(file)

        self._profiles.hand_over(begin, end)

    def take_back(self) -> None:
        """Undo :meth:`hand_over`."""
        self._profiles.take_back()

    def forget(self) -> None:
        """Start afresh in a forked child: sessions and the lock are the parent's."""
        self.lock = threading.RLock()
        self._open = False
        self._programs.clear()

    @property
    def light(self) -> bool:
        """See :class:`.framework.Profiles`."""
        return self._profiles.light

    @property
    def is_the_programs(self) -> bool:
        """Whether the program is recording a profile of its own."""
        return bool(self._programs)

    def start(self) -> ProfilerSession | None:
        """A new session, or None while one is open.

        A session requested through the program's profiler server is not noticed here. The new one
        then records nothing, and does not disturb it.
        """
        with self.lock:
            if self._open or self._programs or self._profiles.open is None:
                return None
            try:
                session = self._profiles.open()
            except RuntimeError:  # a session is open already
                return None
            self._open = True
            return session

    def stop(self, session: ProfilerSession) -> tuple[Recorded | None, int]:
        """End a session; return what it recorded, and the nanoseconds that ending it took.

        What it recorded is None if another session was open before, such as the profiler server's.
        Ending it holds the interpreter's lock.
        """
        with self.lock:
            began = clock.perf_counter_ns()
            try:
                return session.stop(), clock.perf_counter_ns() - began
            except RuntimeError:  # "Another profiling session active."
                return None, clock.perf_counter_ns() - began
            finally:
                self._open = False
