"""Which compilations of a timeline are which of a log: nothing in either names the other's."""

from __future__ import annotations

from collections.abc import Sequence

#: A function that was compiled, and the nanoseconds that all phases took.
Timed = tuple[str | None, int]

#: What both may differ in of one compilation: the timeline has what lies between the phases, too.
_PART, _LEAST_NS = 0.3, 5_000_000


def first_of(timeline: Sequence[Timed], log: Sequence[Timed]) -> int | None:
    """Where the timeline's compilations begin in the log: the same functions in a row, each for
    about as long. Of several such places the one that fits clearly better; None if none does.
    """
    fits = sorted(
        (apart, first)
        for first in range(len(log) - len(timeline) + 1)
        if (apart := _apart(timeline, log[first : first + len(timeline)])) is not None
    )
    if not fits or (len(fits) > 1 and fits[1][0] < 2 * fits[0][0]):
        return None
    return fits[0][1]


def _apart(timeline: Sequence[Timed], logged: Sequence[Timed]) -> int | None:
    """By how many nanoseconds these differ in all; None if they cannot be the same."""
    apart = 0
    for (function, took), (name, logged_ns) in zip(timeline, logged, strict=True):
        difference = abs(took - logged_ns)
        if function != name or difference > max(_PART * took, _LEAST_NS):
            return None
        apart += difference
    return apart
