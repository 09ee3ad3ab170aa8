"""Counters for a framework that counts nothing itself, but reports each compilation and launch."""

from __future__ import annotations

from typing import Callable, Sequence


class EventCounters:
    """See :class:`.frontend.Counters`; the frontend's hooks do the counting."""

    reads: frozenset[str] = frozenset()
    report: Callable[[], str] | None = None
    reports_each = True

    def __init__(self) -> None:
        self.begun = self.ended = self.launches = 0
        self.compile_ns = 0.0
        #: Calls of Python on the host by graphs, and their time, named as in the step log.
        self.called_back = {"host_callbacks": 0, "host_callbacks_ns": 0}

    def note(self, nanoseconds: float) -> None:
        """Count a compilation that has ended."""
        self.ended += 1
        self.compile_ns += nanoseconds

    def call_back(self, nanoseconds: int) -> None:
        """Count a call of Python on the host by a graph."""
        self.called_back["host_callbacks"] += 1
        self.called_back["host_callbacks_ns"] += nanoseconds

    def compiled(self) -> int | None:
        return self.begun or None

    def relaunched(self) -> int | None:
        return self.launches or None

    def value(self, name: str) -> int | None:
        return self.called_back[name]

    def compile_times(self) -> tuple[int, float, Sequence[tuple[float, float]]]:
        return self.ended, self.compile_ns, ()  # each is reported when it ends

    def names(self) -> list[str]:
        return [*self.called_back]

    def fallbacks(self) -> list[str]:
        return []

    def is_fallback(self, name: str) -> bool:
        return False
