"""The growth of the framework's counters, for the step log."""

from __future__ import annotations

import threading
from typing import Any

from . import clock
from .frontend import Counters

_SNAPSHOT_NS = 250_000_000  # reading all counters takes too long to do at each step
_SNAPSHOT_SHARE = 1000  # later, a thousandth of the elapsed time, so that the log stays bounded
_DENSE_STEPS = 20


class Growth:
    """Reports the growth of each counter since it was last read."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._fallbacks = counters.fallbacks
        self._lock = threading.Lock()
        self._known: dict[str, int] = {}
        self._cleared: dict[str, int] = {}  # what counters held when the program cleared them
        self._began = clock.perf_counter_ns()
        self._next = 0

    def at_step(self, index: int) -> dict[str, Any] | None:
        """The growth to log with the ``index``-th step: fallbacks at each step, all other counters
        now and then.
        """
        if index < _DENSE_STEPS:
            self._next = 0
        return self.now_and_then()

    def now_and_then(self) -> dict[str, Any] | None:
        """The growth to log between two steps; None if it is not time for it."""
        now = clock.perf_counter_ns()
        if now >= self._next:
            self._next = now + max(_SNAPSHOT_NS, (now - self._began) // _SNAPSHOT_SHARE)
            return self.snapshot()
        names = self._fallbacks()
        return self._grown(names) if names else None

    def snapshot(self) -> dict[str, Any]:
        """Growth of all counters: ``counters``, and the ``fallbacks`` among them."""
        return self._grown(self._counters.names())

    def clearing(self) -> None:
        """Called before the program clears all counters."""
        with self._lock:
            self._cleared = self._changed(self._counters.names())
            self._known.clear()

    def _grown(self, names: list[str]) -> dict[str, Any]:
        with self._lock:
            changed = self._changed(names)
        is_fallback = self._counters.is_fallback
        fallbacks = {name: changed.pop(name) for name in [*filter(is_fallback, changed)]}
        kinds = (("counters", changed), ("fallbacks", fallbacks))
        return {kind: values for kind, values in kinds if values}

    def _changed(self, names: list[str]) -> dict[str, int]:
        changed = {}
        value_of = self._counters.value
        for name in names:
            value, known = value_of(name) or 0, self._known.get(name, 0)
            if value != known:
                changed[name] = value - known if value > known else value
                self._known[name] = value
        for name, value in self._cleared.items():
            changed[name] = changed.get(name, 0) + value
        self._cleared.clear()
        return changed
