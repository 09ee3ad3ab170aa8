"""The rows that viewers show besides the timeline's own events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xladoctor.errors import XladoctorError
from xladoctor.ingest.xplane import wire

#: Bound of instants and durations, so that two can be added: in picoseconds 26 days. Only damaged
#: files have others.
MOST = 1 << 61


class ViewError(XladoctorError):
    """A run that cannot be shown, or a viewer that cannot be started."""


@dataclass(frozen=True, slots=True)
class Slices:
    """Intervals with a name each; they may nest or overlap.

    Attributes:
        names: texts that ``name`` points to.
        name: int32, index of each one's name, -1 for none.
        begin_ps: int64, picoseconds from the origin.
        duration_ps: int64.
        origin_ns: instant of the wall clock, or of the timeline's own where it has no other.
    """

    names: list[str]
    name: wire.Array
    begin_ps: wire.Ints
    duration_ps: wire.Ints
    origin_ns: int

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True, slots=True)
class Track:
    """A named row of slices."""

    name: str
    slices: Slices


def slices(rows: list[tuple[str, int, int]]) -> Slices:
    """Slices of rows: name, begin and duration in nanoseconds."""
    names: dict[str, int] = {}
    codes = np.array([names.setdefault(name, len(names)) for name, _, _ in rows], np.int32)
    begin = np.array([begin for _, begin, _ in rows], np.int64)
    duration = np.array([duration for _, _, duration in rows], np.int64)
    return sliced(list(names), codes, begin, duration)


def sliced(names: list[str], name: wire.Array, begin: wire.Ints, duration: wire.Ints) -> Slices:
    """Slices of columns, in nanoseconds."""
    begin = np.clip(begin, -MOST, MOST)
    origin = int(begin.min()) if len(begin) else 0
    since, lasted = (np.clip(column, 0, MOST // 1000) for column in (begin - origin, duration))
    return Slices(names, name, since * 1000, lasted * 1000, origin)
