"""Finds which launch made an array that is read.

If the line that made a value has launched again before the value is read, the device has work while
the host waits, if the host has to wait at all. Only some steps are examined, as that takes some
microseconds per launch.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, Callable

from ..disguise import pass_on

_EVERY = 7  # one step in so many is examined; coprime to ten, as programs log every ten steps
_ENDS = 8  # outputs examined at either end of a launch's results; a loss is not in the middle
_MOST = 4096  # arrays that are remembered


class Origins:
    """Remembers the arrays that some steps made."""

    def __init__(self, leaves: Callable[[Any], list[Any]], launches: Mapping[int | None, int]):
        """
        Args:
            leaves: returns the leaves of a tree.
            launches: launches so far, by call site.
        """
        self._leaves = leaves
        self._launches = launches
        self._made: dict[int, tuple[Any, int | None, int]] = {}
        #: By call site: reads whose launch is known, and how many of them were late.
        self.reads: dict[int | None, list[int]] = {}

    def made(self, step: int, site: int | None, out: Any) -> None:
        """Called when a launch in a step has returned ``out``."""
        if step % _EVERY:
            return
        if len(self._made) > _MOST:
            self._made.clear()
        number = self._launches.get(site, 0)
        for array in self._some(out):
            try:
                self._made[id(array)] = weakref.ref(array), site, number
            except TypeError:  # None, or an object that the program registered as a leaf
                continue

    def read(self, site: int | None, values: Any) -> None:
        """Called when a tree of arrays is read; late if the lines of all have launched again."""
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
        try:
            leaves = self._leaves(tree)
        except Exception as error:  # the program's own code may raise anything
            pass_on(error)
            return []
        return leaves if len(leaves) <= 2 * _ENDS else leaves[:_ENDS] + leaves[-_ENDS:]
