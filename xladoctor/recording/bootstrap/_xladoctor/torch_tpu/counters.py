"""Counts of TorchTPU's compilation cache, beside those of compiled functions."""

from __future__ import annotations

from typing import Any

from ..event_counters import EventCounters


class Counters(EventCounters):
    """See :class:`..frontend.Counters`. A launch is counted once its executable is looked up, which
    a thread of the runtime does some time after the call.
    """

    def __init__(self) -> None:
        super().__init__()
        self._backend: Any = None

    def attach(self, backend: Any) -> None:
        """Use the extension module of the device; private, as no public name counts.

        Raises:
            AttributeError: another release of TorchTPU has other names.
        """
        for name in ("_get_cache_requests", "_get_cache_misses", "_get_cache_stats"):
            getattr(backend, name)
        self._backend = backend

    def relaunched(self) -> int | None:
        return (self.launches + self.requests()) or None

    def requests(self) -> int:
        """Executables that were looked up in the cache."""
        return 0 if self._backend is None else int(self._backend._get_cache_requests())

    def misses(self) -> int:
        """Executables that were not in the cache; some may still be compiled."""
        return 0 if self._backend is None else int(self._backend._get_cache_misses())

    def compile_statistics(self) -> tuple[int, float]:
        """Executables whose compilation has ended, and its nanoseconds in all."""
        if self._backend is None:
            return 0, 0.0
        entries = self._backend._get_cache_stats().per_entry_stats
        lasted = [_seconds(entry.compilation_duration) for entry in entries]
        return sum(map(bool, lasted)), 1e9 * sum(lasted)


def _seconds(duration: Any) -> float:
    return (
        float(duration.total_seconds()) if hasattr(duration, "total_seconds") else float(duration)
    )
