"""Matches the compilations of a timeline with those of a log; they share no identifier."""

from __future__ import annotations

from collections.abc import Sequence

#: A compiled function, and the nanoseconds of all its phases.
Timed = tuple[str | None, int]

#: How far the two times of one compilation may differ: the timeline includes gaps between phases.
_PART, _LEAST_NS = 0.3, 5_000_000


def first_of(timeline: Sequence[Timed], log: Sequence[Timed]) -> int | None:
    """The index in the log at which the timeline's compilations begin.

    The functions must be the same in a row, with about the same times. If several indices fit, one
    must fit clearly better; otherwise None.
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
    """The total difference in nanoseconds; None if they cannot be the same compilations."""
    apart = 0
    for (function, took), (name, logged_ns) in zip(timeline, logged, strict=True):
        difference = abs(took - logged_ns)
        if function != name or difference > max(_PART * took, _LEAST_NS):
            return None
        apart += difference
    return apart
