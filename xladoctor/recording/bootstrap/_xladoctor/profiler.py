"""The profiler: a process can have one session at a time, and the program's own goes first."""

from __future__ import annotations

import threading
from typing import Callable

from . import clock
from .frontend import ProfilerSession, Profiles, Recorded


class Profiler:
    """Makes sessions for the capture. ``lock`` is held whenever one begins or ends."""

    def __init__(self, profiles: Profiles) -> None:
        self.lock = threading.RLock()
        self._profiles = profiles
        self._open = False
        self._programs: set[int] = set()
        self._count = 0

    def hand_over(self, begins: Callable[[], None], ended: Callable[[str | None], None]) -> None:
        """From now on the program's own profiles end what the capture records.

        Args:
            begins: called before one begins.
            ended: called with the timeline that it wrote, or None.
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
                    if file is not None or not self._programs:  # a second one is refused
                        ended(file)

        self._profiles.hand_over(begin, end)

    def take_back(self) -> None:
        """As it was before :meth:`hand_over`."""
        self._profiles.take_back()

    def forget(self) -> None:
        """In a forked child: the sessions and the lock are the parent's."""
        self.lock = threading.RLock()
        self._open = False
        self._programs.clear()

    @property
    def light(self) -> bool:
        """See :class:`.frontend.Profiles`."""
        return self._profiles.light

    @property
    def is_the_programs(self) -> bool:
        """Whether a profile of the program is under way."""
        return bool(self._programs)

    def start(self) -> ProfilerSession | None:
        """A new session, or None while there is one already.

        One that somebody outside asked the program's server for is not known: then it will be an
        empty one, which does that one no harm.
        """
        with self.lock:
            if self._open or self._programs or self._profiles.open is None:
                return None
            try:
                session = self._profiles.open()
            except RuntimeError:  # there is one already
                return None
            self._open = True
            return session

    def stop(self, session: ProfilerSession) -> tuple[Recorded | None, int]:
        """What it recorded, and the nanoseconds that ending it took.

        None where somebody else's session was open before, as of the profiler server. The
        interpreter is held for that long.
        """
        with self.lock:
            began = clock.perf_counter_ns()
            try:
                return session.stop(), clock.perf_counter_ns() - began
            except RuntimeError:  # "Another profiling session active."
                return None, clock.perf_counter_ns() - began
            finally:
                self._open = False
