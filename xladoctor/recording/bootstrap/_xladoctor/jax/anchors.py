"""Which calls of compiled functions end a step, in programs that have no barriers.

A step goes from one call of the loop's *anchor* to the next. Of the lines that launch work in a
turn of a loop, that is the one whose graph computes most: between two of its launches nothing
heavier is launched. So a program has an anchor for each of its loops (training, evaluation), and
a line that is launched once has none.
"""

from __future__ import annotations

_Weight = tuple[float, int]


class Anchors:
    """Follows the launches of one thread."""

    def __init__(self, flops: dict[int | None, float]) -> None:
        """``flops``: those of the heaviest graph that a call site has compiled."""
        self._flops = flops
        self._launches = 0
        self._last: dict[int | None, int] = {}
        self._order: dict[int | None, int] = {}
        self._won: dict[int | None, int] = {}
        #: Launches that no heavier one has followed yet, each heavier than the next.
        self._heavier: list[tuple[_Weight, int]] = []

    def ends_step(self, site: int | None) -> bool:
        """A launch at a call site: whether it ends a step."""
        self._launches += 1
        weight = (self._flops.get(site, 0.0), -self._order.setdefault(site, len(self._order)))
        heavier = self._heavier
        while heavier and heavier[-1][0] <= weight:
            heavier.pop()
        last = self._last.get(site)
        leads = last is not None and (not heavier or heavier[-1][1] < last)
        heavier.append((weight, self._launches))
        self._last[site] = self._launches
        # The first launch of an evaluation comes after heavier ones of training: it is a step too.
        won = self._won[site] = self._won.get(site, 0) + (1 if leads else -1)
        return last is not None and won > 0
