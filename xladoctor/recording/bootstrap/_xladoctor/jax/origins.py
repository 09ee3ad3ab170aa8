"""Which launch made an array that is read.

A value that is read after the line that made it has launched again leaves the device work while
the host waits, if it has to wait at all. It is looked at in some of the steps: that takes some
microseconds a launch.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, Callable

_EVERY = 7  # steps, one is looked at; what is logged each ten steps meets it as often
_ENDS = 8  # of what a launch returns, the first and the last; a loss is not in the middle
_MOST = 4096  # arrays


class Origins:
    """The arrays of some steps."""

    def __init__(self, leaves: Callable[[Any], list[Any]], launches: Mapping[int | None, int]):
        """
        Args:
            leaves: of a tree.
            launches: of each call site, so far.
        """
        self._leaves = leaves
        self._launches = launches
        self._made: dict[int, tuple[Any, int | None, int]] = {}
        #: Reads of each call site of which this is known, and those that were late.
        self.reads: dict[int | None, list[int]] = {}

    def made(self, step: int, site: int | None, out: Any) -> None:
        """A launch in a step has returned."""
        if step % _EVERY:
            return
        if len(self._made) > _MOST:
            self._made.clear()
        number = self._launches.get(site, 0)
        for array in self._some(out):
            try:
                self._made[id(array)] = weakref.ref(array), site, number
            except TypeError:  # None, or what the program takes for a leaf
                continue

    def read(self, site: int | None, values: Any) -> None:
        """A tree of arrays is read: late if each has been launched again since."""
        if not self._made:
            return
        known = [self._is_late(array) for array in self._some(values)]
        late = [each for each in known if each is not None]
        if late:
            row = self.reads.setdefault(site, [0, 0])
            row[0] += 1
            row[1] += all(late)

    def _is_late(self, array: Any) -> bool | None:
        made = self._made.get(id(array))
        if made is None or made[0]() is not array:
            return None
        return self._launches.get(made[1], 0) > made[2]

    def _some(self, tree: Any) -> list[Any]:
        leaves = self._leaves(tree)
        return leaves if len(leaves) <= 2 * _ENDS else leaves[:_ENDS] + leaves[-_ENDS:]
