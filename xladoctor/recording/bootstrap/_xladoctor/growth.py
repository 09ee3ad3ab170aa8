"""By how much the framework's counters grew, for the step log."""

from __future__ import annotations

import threading
from typing import Any

from . import clock
from .frontend import Counters

_SNAPSHOT_NS = 250_000_000  # asking for all takes too long for each step
_SNAPSHOT_SHARE = 1000  # and later every thousandth of the time passed: the log stays bounded
_DENSE_STEPS = 20


class Growth:
    """What each counter held when it was last asked for."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._fallbacks = counters.fallbacks
        self._lock = threading.Lock()
        self._known: dict[str, int] = {}
        self._cleared: dict[str, int] = {}  # what counters held when the program cleared them
        self._began = clock.perf_counter_ns()
        self._next = 0

    def at_step(self, index: int) -> dict[str, Any] | None:
        """What belongs in the log with the ``index``-th step: fallbacks at each step, all other
        growth now and then.
        """
        if index < _DENSE_STEPS:
            self._next = 0
        return self.now_and_then()

    def now_and_then(self) -> dict[str, Any] | None:
        """The same between two steps."""
        now = clock.perf_counter_ns()
        if now >= self._next:
            self._next = now + max(_SNAPSHOT_NS, (now - self._began) // _SNAPSHOT_SHARE)
            return self.snapshot()
        names = self._fallbacks()
        return self._grown(names) if names else None

    def snapshot(self) -> dict[str, Any]:
        """All that grew: ``counters``, and ``fallbacks`` among them."""
        return self._grown(self._counters.names())

    def clearing(self) -> None:
        """The program is about to clear all counters."""
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
