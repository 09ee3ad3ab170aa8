"""An expectation, what happened in its block, and how it fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

#: What is counted, in the order in which it is reported.
Kind = Literal["compilations", "host_syncs", "fallbacks"]


class UnmetExpectation(AssertionError):  # noqa: N818  # a test fails with it, as with assert
    """More happened in a block than expected; the message says at which lines, and why."""

    __module__ = "xladoctor.expectation"  # as users name it


@dataclass(frozen=True, slots=True)
class Expectation:
    """The most that may happen in a block; None for any number."""

    compilations: int | None = None
    host_syncs: int | None = None
    fallbacks: int | None = None

    def __post_init__(self) -> None:
        """Raises TypeError or ValueError for anything that is not a number of events."""
        values = {name: getattr(self, name) for name in self.__slots__}
        if all(value is None for value in values.values()):
            raise TypeError(f"expect() needs at least one of {', '.join(values)}")
        for name, value in values.items():
            if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
                raise TypeError(f"{name} must be a number of events, not {value!r}")
            if value is not None and value < 0:
                raise ValueError(f"{name} must be 0 or more, not {value}")


@dataclass(frozen=True, slots=True)
class EventCounts:
    """What happened between two instants of the wall clock.

    Attributes:
        waits: by call site (its number in the session, or None) and kind.
        fallbacks: fallbacks by operator.
        lines: fallbacks by operator and call site, if the block was probed.
        known_lines: the same since the session began.
    """

    began_ns: int
    ended_ns: int
    compilations: int
    waits: dict[tuple[int | None, str], int]
    fallbacks: dict[str, int]
    lines: dict[tuple[str, int | None], int] = field(default_factory=dict)
    known_lines: dict[tuple[str, int | None], int] = field(default_factory=dict)

    @classmethod
    def between(cls, before: Any, after: Any) -> EventCounts:
        """What happened from one reading of the counts to the next."""
        return cls(
            before.at_ns,
            after.at_ns,
            after.compiled - before.compiled,
            _grown(before.waits, after.waits),
            _grown(before.fallbacks, after.fallbacks),
            _grown(before.lines, after.lines),
            after.lines,
        )

    def count(self, kind: Kind) -> int:
        """How often something happened."""
        if kind == "compilations":
            return self.compilations
        return sum((self.waits if kind == "host_syncs" else self.fallbacks).values())


def _grown(before: dict[Any, int], after: dict[Any, int]) -> dict[Any, int]:
    """How much each count grew; if it is lower now, the program has cleared it."""
    pairs = ((key, n, before.get(key, 0)) for key, n in after.items())
    return {key: n - was if n >= was else n for key, n, was in pairs if n != was}
