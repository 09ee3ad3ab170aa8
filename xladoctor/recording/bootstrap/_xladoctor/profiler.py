"""The profiler: a process can have one session at a time, and the program's own goes first."""

from __future__ import annotations

import threading
from typing import Any, Callable

from . import clock
from .frontend import ProfilerSession, Profiles


class Profiler:
    """Makes sessions for the capture. ``lock`` is held whenever one begins or ends."""

    def __init__(self, profiles: Profiles) -> None:
        self.lock = threading.RLock()
        self._profiles = profiles
        self._open = False

    def hand_over(self, end: Callable[[], None]) -> None:
        """From now on the program's own profiles end what the capture records, by ``end``."""

        def wrap(make: Callable[..., Any]) -> Callable[..., Any]:
            def session(*args: Any, **kwargs: Any) -> Any:
                with self.lock:
                    end()
                    return make(*args, **kwargs)

            return session

        self._profiles.hand_over(wrap)

    def take_back(self) -> None:
        """As it was before :meth:`hand_over`."""
        self._profiles.take_back()

    def forget(self) -> None:
        """In a forked child: the session and the lock are the parent's."""
        self.lock = threading.RLock()
        self._open = False

    def start(self) -> ProfilerSession | None:
        """A new session, or None while there is one already.

        While the program's own is open it will be an empty one, which does that one no harm.
        """
        with self.lock:
            if self._open:
                return None
            session = self._profiles.open()
            self._open = True
            return session

    def stop(self, session: ProfilerSession) -> tuple[bytes | None, int]:
        """The serialized XSpace, and the nanoseconds that making it took.

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
