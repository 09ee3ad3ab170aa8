"""Sessions of JAX's profiler, and the profiles that the program records with it.

``jax.profiler.start_trace`` and ``trace`` make a session, and ``stop_trace`` writes
``LOGDIR/plugins/profile/<second>/<host>.xplane.pb``.
"""

from __future__ import annotations

import socket
from typing import Any, Callable

from .. import clock, framework
from ..disguise import hide_frames
from ..written_profile import written


class Profiles(framework.Profiles):
    """See :class:`..framework.Profiles`."""

    def __init__(self) -> None:
        super().__init__()
        self._number: int | None = None
        self._began = 0

    def open(self) -> Any:
        from jaxlib import _profiler

        options = _profiler.ProfileOptions()
        options.python_tracer_level = 0
        return _profiler.ProfilerSession(options)

    def hand_over(self, begin: Callable[[], int], end: Callable[[int, str | None], None]) -> None:
        import jax
        from jax._src import profiler

        def start(original: Any) -> Any:
            def start_trace(*args: Any, **kwargs: Any) -> Any:
                if self._number is not None:
                    return original(*args, **kwargs)  # refuses a second session
                number, self._began = begin(), clock.wall_ns()
                try:
                    result = original(*args, **kwargs)
                except BaseException as error:
                    end(number, None)
                    hide_frames(error)
                    raise
                self._number = number
                return result

            return start_trace

        def stop(original: Any) -> Any:
            def stop_trace(*args: Any, **kwargs: Any) -> Any:
                number, self._number = self._number, None
                folder = getattr(profiler._profile_state, "log_dir", None)
                file = None
                try:
                    result = original(*args, **kwargs)
                    file = written(str(folder), self._began, [socket.gethostname()])
                except BaseException as error:
                    hide_frames(error)
                    raise
                finally:
                    if number is not None:
                        end(number, file)
                return result

            return stop_trace

        self.hooks.replace(profiler, "start_trace", start, jax.profiler)
        self.hooks.replace(profiler, "stop_trace", stop, jax.profiler)
