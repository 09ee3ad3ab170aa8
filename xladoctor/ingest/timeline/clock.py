"""A decoded timeline on one clock: events by instants in nanoseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xladoctor.frontends.vocabulary import called
from xladoctor.ingest.timeline.intervals import Intervals, Times, outermost
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.events import Events
from xladoctor.ingest.xplane.space import CALL, IN_GRAPH, Line, Space

_ABSOLUTE_NS = 1 << 59  # 2^59 ns is in 1988: an origin beyond it is a wall clock, not an offset
# The evidence holds instants up to 2^62 ns, in 2116; only damaged files have later ones. An event's
# offset and duration, of less than 2^63 ps each, are added to this.
_LATEST_NS = (1 << 62) - (1 << 55)

#: Stats of the allocator's events: the device, its peak, and the parts of its memory.
MEMORY = (
    *("index_on_host", "peak_bytes_in_use"),
    *("bytes_allocated", "bytes_reserved", "bytes_available"),
)
#: Stats that the analysis needs; others are decoded when a query needs them.
NEEDED = (
    "hlo_op",
    "hlo_module",
    "run_id",
    "graph_hash",
    "step_num",
    "_r",
    "file",
    "line",
    IN_GRAPH,
    CALL,
    *MEMORY,
)


@dataclass
class Timeline:
    """A space, its events, and their clock: the wall clock, if the file has its start."""

    space: Space
    events: Events

    @classmethod
    def of(cls, space: Space, advance: Callable[[int], None] | None = None) -> Timeline:
        """Decode what the analysis needs; ``advance`` is called with the number of bytes read."""
        return cls(space, space.decode(NEEDED, advance))

    def origin(self, line: Line) -> int:
        """The instant that a line's offsets count from.

        Profilers write offsets from the start of the profile, or instants of the wall clock.
        """
        if line.origin_ns > _ABSOLUTE_NS:
            return _instant(line.origin_ns)
        return _instant(line.origin_ns + (self.space.started_ns or 0))

    def begins(self, line: Line, which: wire.Array | slice = slice(None)) -> Times:
        """When events of a line began; ``which`` are their numbers in the line."""
        return self.origin(line) + self.events.start_ps[line.events][which] // 1000

    def ends(self, line: Line, which: wire.Array | slice = slice(None)) -> Times:
        """When events of a line ended."""
        part = line.events
        picoseconds = self.events.start_ps[part][which] + self.events.duration_ps[part][which]
        return self.origin(line) + picoseconds // 1000

    def named(self, line: Line, *names: str) -> wire.Array:
        """Numbers, within the line, of the events with one of a few names."""
        indices = [index for name in names if (index := self.events.index(name)) >= 0]
        return (
            np.flatnonzero(np.isin(self.events.name[line.events], indices))
            if indices
            else (np.empty(0, np.int64))
        )

    def choice(self, names: Iterable[str]) -> wire.Array:
        """A mask over names, for :meth:`chosen`: efficient for many names and lines."""
        chosen = np.zeros(len(self.events.names) + 1, np.bool_)  # the last is for events without
        indices = [index for name in names if (index := self.events.index(name)) >= 0]
        chosen[indices] = True
        return chosen

    def beginning(self, *beginnings: str) -> wire.Array:
        """A mask over names, for :meth:`chosen`: those that begin so."""
        return self.choice(name for name in self.events.names if name.startswith(beginnings))

    def chosen(self, line: Line, choice: wire.Array) -> wire.Array:
        """Numbers, within the line, of the events whose names are in a mask."""
        return np.flatnonzero(choice[self.events.name[line.events]])

    def outermost(self, line: Line, choice: wire.Array) -> tuple[wire.Array, Times, Times]:
        """Chosen events that are in no other such event, in order of time: their numbers within the
        line, begins and ends.
        """
        which = self.chosen(line, choice)
        begin, end = self.begins(line, which), self.ends(line, which)
        outer = outermost(begin, end)
        return which[outer], begin[outer], end[outer]

    def spans(self, parts: Iterable[tuple[Line, wire.Array]]) -> tuple[Times, Times]:
        """Begins and ends of events of several lines, given by their numbers within each."""
        begins, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for line, which in parts:
            begins.append(self.begins(line, which))
            ends.append(self.ends(line, which))
        return np.concatenate(begins), np.concatenate(ends)

    def during(self, lines: Iterable[Line], choice: wire.Array) -> Intervals:
        """When these lines were in chosen events."""
        return Intervals.union(*self.spans((line, self.chosen(line, choice)) for line in lines))

    @cached_property
    def compiled_calls(self) -> wire.Array:
        """A mask over names: those of calls of compiled functions."""
        return self.choice(name for name in self.events.names if called(name))

    @cached_property
    def threads(self) -> list[Line]:
        """The threads of hosts that have events."""
        planes = (plane for plane in self.space.planes if kind_of(plane.name) == "host")
        return [line for plane in planes for line in plane.lines if line.count]

    @cached_property
    def begin(self) -> int:
        """Start of the profile, or of its first event."""
        if self.space.started_ns is not None:
            return _instant(self.space.started_ns)
        return min((int(self.begins(line).min()) for line in self._filled), default=0)

    @cached_property
    def end(self) -> int:
        """End of the last event."""
        return max((int(self.ends(line).max()) for line in self._filled), default=self.begin)

    @property
    def _filled(self) -> list[Line]:
        return [line for line in self.space.lines if line.count]


def _instant(nanoseconds: int) -> int:
    """An instant of a file, limited so that offsets can be added."""
    return max(-_LATEST_NS, min(nanoseconds, _LATEST_NS))


def kind_of(plane: str) -> str:
    """The kind of a plane, by its name: host, device, metadata or other (``xplane_schema.cc``)."""
    if plane == "/host:metadata":
        return "metadata"
    if plane.startswith("/device:"):
        return "device"
    return "host" if plane.startswith("/host:") and "TFStreamz" not in plane else "other"
