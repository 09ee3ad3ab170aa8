"""Counters of a framework that counts nothing itself, but tells of each compilation and launch."""

from __future__ import annotations

from typing import Callable, Sequence


class Counters:
    """See :class:`.frontend.Counters`; the hooks count."""

    reads: frozenset[str] = frozenset()
    report: Callable[[], str] | None = None
    tells_each = True

    def __init__(self) -> None:
        self.begun = self.ended = self.launches = 0
        self.compile_ns = 0.0
        #: What graphs called on the host, and for how long, by the names of the step log.
        self.called_back = {"host_callbacks": 0, "host_callbacks_ns": 0}

    def note(self, nanoseconds: float) -> None:
        """A compilation ended."""
        self.ended += 1
        self.compile_ns += nanoseconds

    def call_back(self, nanoseconds: int) -> None:
        """A graph called Python on the host."""
        self.called_back["host_callbacks"] += 1
        self.called_back["host_callbacks_ns"] += nanoseconds

    def compiled(self) -> int | None:
        return self.begun or None

    def relaunched(self) -> int | None:
        return self.launches or None

    def value(self, name: str) -> int | None:
        return self.called_back[name]

    def compile_times(self) -> tuple[int, float, Sequence[tuple[float, float]]]:
        return self.ended, self.compile_ns, ()  # each is told of when it ends

    def names(self) -> list[str]:
        return [*self.called_back]

    def fallbacks(self) -> list[str]:
        return []

    def is_fallback(self, name: str) -> bool:
        return False
