"""Sets of time as sorted, disjoint intervals, in nanoseconds (int64)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Times = np.ndarray[Any, np.dtype[np.int64]]
#: After all instants.
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Intervals:
    """Disjoint intervals in order: ``begin[i] < end[i] <= begin[i + 1]``."""

    begin: Times
    end: Times

    @classmethod
    def union(cls, begin: Times, end: Times) -> Intervals:
        """The time that any of these intervals covers; they may overlap and be in any order."""
        if len(begin) == 0:
            return cls(np.empty(0, np.int64), np.empty(0, np.int64))
        if np.any(begin[1:] < begin[:-1]):
            order = np.argsort(begin, kind="stable")
            begin, end = begin[order], end[order]
        reached = np.maximum.accumulate(end)
        first = np.concatenate(([True], begin[1:] > reached[:-1]))
        last = np.concatenate((first[1:], [True]))
        merged = cls(begin[first], reached[last])
        lasting = merged.end > merged.begin
        return cls(merged.begin[lasting], merged.end[lasting])

    def within(self, begin: int, end: int) -> Intervals:
        """The part between two instants."""
        starts, stops = np.clip(self.begin, begin, end), np.clip(self.end, begin, end)
        kept = stops > starts
        return Intervals(starts[kept], stops[kept])

    def gaps(self, begin: int, end: int) -> Intervals:
        """The time between two instants that is not covered."""
        inside = self.within(begin, end)
        starts = np.concatenate(([begin], inside.end)).astype(np.int64)
        stops = np.concatenate((inside.begin, [end])).astype(np.int64)
        kept = stops > starts
        return Intervals(starts[kept], stops[kept])

    def common(self, other: Intervals) -> Intervals:
        """The time that is in both sets."""
        if not len(self.begin) or not len(other.begin):
            return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
        begin, end = int(self.begin[0]), int(self.end[-1])
        outside = self.gaps(begin, end), other.gaps(begin, end)
        neither = Intervals.union(
            *(
                np.concatenate([getattr(part, side) for part in outside])
                for side in ("begin", "end")
            )
        )
        return neither.gaps(begin, end)

    def covered(self, begin: Times, end: Times) -> Times:
        """How much of each span ``begin[i]`` to ``end[i]`` is covered."""
        return self._until(end) - self._until(begin)

    @property
    def total(self) -> int:
        """The total time covered."""
        return int((self.end - self.begin).sum())

    def _until(self, instants: Times) -> Times:
        """Time covered before each instant."""
        if len(self.begin) == 0:
            return np.zeros(len(instants), np.int64)
        before = np.concatenate(([0], np.cumsum(self.end - self.begin)))
        count = np.searchsorted(self.begin, instants, side="right")
        last = np.maximum(count - 1, 0)
        beyond = np.where(count > 0, np.maximum(self.end[last] - instants, 0), 0)
        return np.asarray(before[count] - beyond, np.int64)


def covering(begin: Times, end: Times, instants: Times) -> Times:
    """The index of the span around each instant, -1 for none; spans are disjoint and sorted."""
    at = np.searchsorted(begin, instants, side="right") - 1
    return np.where((at >= 0) & (instants < np.append(end, 0)[at]), at, -1)


def outermost(begin: Times, end: Times) -> Times:
    """The indices of the spans that are in no other, in order of time; of equal ones the first."""
    order = np.lexsort((-end, begin))
    reached = np.maximum.accumulate(end[order])
    return order[np.concatenate((order[:1] >= 0, end[order][1:] > reached[:-1]))]
