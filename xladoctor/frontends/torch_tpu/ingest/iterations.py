"""Divides launches into iterations of the loop, by the operators that recur.

A log has no steps. Most operators run once in each, or as often as there are layers; the rarest of
those that recur evenly begin iterations. That is a guess, so iterations tell earlier from later
compilations, and never become steps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

_EARLY, _LATE = 0.5, 0.75  # of the log; an operator of the loop is launched before, and after
_EVEN = 2.0  # times the usual distance between two launches of an operator, or as often shorter
_MOSTLY = 0.8  # share of the distances
_SAME = 0.9  # share up to which numbers of launches are the same
_COMMON = 0.5  # share of the operators of the commonest number


class Iterations:
    """The iterations of the loop, from 0; launches before the first belong to it."""

    def __init__(self, launches: Sequence[int]) -> None:
        """``launches``: the number of the operator of each, in order."""
        self._begins = _begins(launches)

    def of(self, launch: int) -> int:
        """The iteration of a launch, given its place among them."""
        return max(0, bisect_right(self._begins, launch) - 1)

    def __len__(self) -> int:
        return len(self._begins)


def _begins(launches: Sequence[int]) -> list[int]:
    """The launches that begin iterations; none if nothing recurs."""
    places: dict[int, list[int]] = {}
    for at, operator in enumerate(launches):
        places.setdefault(operator, []).append(at)
    recurring = [own for own in places.values() if _recurs(own, len(launches))]
    alike = [
        sum(_SAME * len(own) <= len(other) <= len(own) / _SAME for other in recurring)
        for own in recurring
    ]
    common = [
        own for own, number in zip(recurring, alike, strict=True) if number >= _COMMON * max(alike)
    ]
    if not common:
        return []
    fewest = min(map(len, common))
    first = next(own for own in common if _SAME * len(own) <= fewest)
    before = _shared(launches, first[0], first[1])
    return [at - before for at in first]


def _recurs(places: list[int], launches: int) -> bool:
    """Whether an operator is launched evenly, until the end."""
    gaps = [later - earlier for earlier, later in pairwise(places)]
    if not gaps or places[0] > _EARLY * launches or places[-1] < _LATE * launches:
        return False
    usual = median(gaps)
    even = sum(usual / _EVEN <= gap <= usual * _EVEN for gap in gaps)
    return even >= _MOSTLY * len(gaps)


def _shared(launches: Sequence[int], first: int, second: int) -> int:
    """How many operators before the second launch also precede the first: they begin iterations."""
    shared = 0
    while (
        shared < first
        and shared < second - first - 1
        and launches[first - shared - 1] == launches[second - shared - 1]
    ):
        shared += 1
    return shared
