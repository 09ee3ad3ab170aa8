"""Sessions of torch_xla's profiler, and the profiles that the program records with it.

``xp.start_trace`` makes a session, ``xp.stop_trace`` stops it and exports what it recorded.
``xp.trace`` and ``xp.trace_detached`` request a recording from profiler servers, which may be the
program's own (``xp.start_server``). Both write
``LOGDIR/plugins/profile/<second>/<host>.xplane.pb``.
"""

from __future__ import annotations

import socket
import weakref
from typing import Any, Callable

from .. import clock, framework
from ..written_profile import written

_HERE = ("localhost", "127.0.0.1", "[::1]")


class Profiles(framework.Profiles):
    """Sessions return the timeline's bytes; `xp.stop_trace()` would also build a `trace.json.gz`,
    which takes as long again.
    """

    def __init__(self, xlac: Any) -> None:
        super().__init__()
        self._owner = xlac.profiler
        self.open = xlac.profiler.TslProfilerSessionWrapper
        self._ports: set[int] = set()

    def hand_over(self, begin: Callable[[], int], end: Callable[[int, str | None], None]) -> None:
        replace = self.hooks.replace
        self.hooks.put(self._owner, "TslProfilerSessionWrapper", _followed(self.open, begin, end))
        replace(self._owner, "start_server", self._start_server)
        replace(self._owner, "trace", lambda original: self._trace(original, begin, end))

    def _start_server(self, original: Any) -> Any:
        def start_server(port: int, *args: Any, **kwargs: Any) -> Any:
            server = original(port, *args, **kwargs)
            self._ports.add(port)
            return server

        return start_server

    def _trace(self, original: Any, begin: Any, end: Any) -> Any:
        def trace(service_addr: str, logdir: str, *args: Any, **kwargs: Any) -> Any:
            names = self._own(service_addr)
            if not names:  # the servers are other processes
                return original(service_addr, logdir, *args, **kwargs)
            number, began, file = begin(), clock.wall_ns(), None
            try:
                result = original(service_addr, logdir, *args, **kwargs)
                file = written(logdir, began, names)
                return result
            finally:
                end(number, file)

        return trace

    def _own(self, addresses: str) -> list[str]:
        """The beginnings of the names of files that this process's servers will write."""
        here = (*_HERE, socket.gethostname())
        split = [address.rpartition(":") for address in addresses.split(",")]
        return [
            host
            for host, _, port in split
            if host in here and port.isdecimal() and int(port) in self._ports
        ]


def _followed(kind: Any, begin: Any, end: Any) -> Any:
    """The class of the program's sessions, extended to report when they begin and end."""

    class TslProfilerSessionWrapper(kind):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            number = begin()
            self._began = clock.wall_ns()
            # In any case: also if it is not exported, not stopped, or refused.
            self._end = weakref.finalize(self, end, number, None)
            self._end.atexit = False
            self._number = number
            super().__init__(*args, **kwargs)

        def export(self, space: bytes, log_dir: str, *args: Any, **kwargs: Any) -> Any:
            result = super().export(space, log_dir, *args, **kwargs)
            if self._end.detach():
                end(self._number, written(log_dir, self._began, [socket.gethostname()]))
            return result

    TslProfilerSessionWrapper.__module__ = kind.__module__
    TslProfilerSessionWrapper.__qualname__ = kind.__qualname__
    return TslProfilerSessionWrapper
