"""An XSpace (``.xplane.pb``): its planes and lines, and its events as columns.

:mod:`.read` makes one of a file. Damaged or missing parts are skipped and noted with their byte
offset; the rest is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.events import Events, Stats

#: Events that are decoded at a time.
STRIDE = 500_000
_MOST_PARTS = 64  # parts of stats, each of which is searched in each query
_DENSE = 16  # metadata ids up to so many times their number are looked up in a table
#: Stats of a kernel: the recorded graph that it is part of, and the call that launched it.
IN_GRAPH, CALL = "cuda_graph_id", "correlation_id"


@dataclass(slots=True)
class Line:
    """A thread, a stream, or a view of a device.

    Attributes:
        number: counts the lines of the file from 0.
        origin_ns: nanoseconds that the events' offsets count from.
        begin: its first byte; ``end``: the byte after its last.
        first: number of its first event in the file; ``count``: number of its events.
        marks: positions of the first event of each part of the line.
    """

    number: int
    plane: Plane
    id: int
    name: str
    origin_ns: int
    begin: int
    end: int
    first: int
    count: int
    marks: list[int]

    @property
    def events(self) -> slice:
        """The line's rows in the columns."""
        return slice(self.first, self.first + self.count)


@dataclass(slots=True)
class Plane:
    """A host, a device, or what belongs to them.

    Attributes:
        event_metadata: by id, as protobuf messages (name, display_name, stats).
        stat_names: by id.
        stats: the plane's own stats, by name.
    """

    number: int
    name: str = ""
    lines: list[Line] = field(default_factory=list)
    event_metadata: dict[int, Any] = field(default_factory=dict)
    stat_names: dict[int, str] = field(default_factory=dict)
    stats: dict[str, Any] = field(default_factory=dict)

    def metadata_stats(self, entry: Any) -> dict[str, Any]:
        """The stats of all events with this metadata, by name."""
        return self.values(entry.stats)

    def values(self, stats: Iterable[Any]) -> dict[str, Any]:
        """Values of stats by name; references resolved."""
        by_name = {}
        for stat in stats:
            given = (field.name for field, _ in stat.ListFields() if field.name != "metadata_id")
            kind = next(given, None)  # a value of zero is not written
            value = getattr(stat, kind) if kind else 0
            if kind == "ref_value":
                value = self.stat_names.get(value)
            by_name[self.stat_names.get(stat.metadata_id, f"#{stat.metadata_id}")] = value
        return by_name


@dataclass(slots=True)
class Space:
    """A file, its planes and what was damaged.

    Attributes:
        size: bytes.
        planes: in the order of the file.
        hostnames: the machines that were profiled, if they are named.
        damage: what could not be read, as counted by :mod:`.wire`.
        line_count, event_count: totals of all planes.
        started_ns: wall clock at the start of the profile; None if the file lacks it.
        labels: names of the program's labels; None if the file does not distinguish them.
        categories: categories of its events, in lower case, if the file has them.
        pid, rank: the process's; None if the file lacks them.
        joins_calls: whether the file shows which call led to which work of a device.
        lacks_lines: whether the file has more lines than are read.
    """

    path: Path
    size: int
    buffer: np.ndarray[Any, np.dtype[np.uint8]]
    planes: list[Plane] = field(default_factory=list)
    hostnames: list[str] = field(default_factory=list)
    damage: wire.Ints = field(default_factory=wire.no_damage)
    line_count: int = 0
    event_count: int = 0
    started_ns: int | None = None
    labels: set[str] | None = None
    categories: frozenset[str] = frozenset()
    pid: int | None = None
    rank: int | None = None
    joins_calls: bool = False
    lacks_lines: bool = False

    @property
    def lines(self) -> list[Line]:
        """All lines, in the order of the file."""
        return [line for plane in self.planes for line in plane.lines]

    def decode(
        self, wanted: Iterable[str] | None = None, advance: Callable[[int], None] | None = None
    ) -> Events:
        """All events as columns, with their ``wanted`` stats (None for all).

        ``advance`` is called with the number of further bytes decoded.
        """
        return _Decoder(self, None if wanted is None else set(wanted), advance).run()

    def joined(self, events: Events) -> tuple[wire.Ints, wire.Ints]:
        """For work of devices: the number of the call that led to it, and its own; empty here."""
        return np.empty(0, np.int64), np.empty(0, np.int64)

    def in_graphs(self, events: Events) -> wire.Ints:
        """Work of devices that is marked as part of a recorded graph."""
        rows = events.rows_of(IN_GRAPH)
        whole = np.isin(rows.kind, (wire.INT64, wire.UINT64))
        return rows.event[whole & (rows.value > 0)].astype(np.int64)

    def numbers_of_calls(self, events: Events) -> tuple[wire.Ints, wire.Ints]:
        """Work of devices, and the id of the call that led to it, which need not be in the file."""
        rows = events.rows_of(CALL)
        rows = rows.select(np.isin(rows.kind, (wire.INT64, wire.UINT64)) & (rows.value > 0))
        return rows.event.astype(np.int64), rows.value

    def numbered(self, events: Events) -> tuple[wire.Ints, wire.Ints]:
        """Operators numbered in the order of the forward pass, and their numbers; empty here."""
        return np.empty(0, np.int64), np.empty(0, np.int64)

    def add_damage(self, damage: wire.Ints) -> None:
        """Add the damage found in a part of the file; the same place counts once."""
        if damage[0] and damage[1] != self.damage[1]:
            self.damage[0] += damage[0]
            first = self.damage[1]
            self.damage[1] = damage[1] if first < 0 else min(first, damage[1])

    def damage_note(self) -> str | None:
        """A note on damage; None if everything could be read."""
        count, first, _ = (int(number) for number in self.damage)
        if not count:
            return None
        return f"{self.path}: {self._damaged(first, 1 if first >= self.size else count)}"

    def _damaged(self, first: int, count: int) -> str:
        """What is damaged: so many places, the first of them at a byte, or the end."""
        cut = first >= self.size
        where = f"cut off at byte {self.size}" if cut else f"damaged at byte {first} of {self.size}"
        more = f" and {count - 1} more place{'s' * (count > 2)}" if count > 1 else ""
        return f"{where}{more}; what could be read is used"


class _Decoder:
    """Decodes all lines of a space into one set of columns, with a thread per processor."""

    def __init__(
        self, space: Space, wanted: set[str] | None, advance: Callable[[int], None] | None
    ) -> None:
        self._space = space
        self._wanted = wanted
        self._advance = advance or (lambda count: None)
        self._names: dict[str, int] = {}
        count = space.event_count
        self._columns = (
            np.empty(count, np.int32),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
        )

    def run(self) -> Events:
        tasks = [task for plane in self._space.planes for task in self._tasks(plane)]
        if len(tasks) <= self._space.line_count:  # no line is large
            parts = [self._done(task()) for task in tasks]
            if len(parts) > _MOST_PARTS:
                parts = [Stats.joined(parts)]
        else:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                parts = [self._done(done) for done in pool.map(lambda task: task(), tasks)]
        events = Events(list(self._names), *self._columns, parts, self._space.buffer)
        events.settle()
        return events

    def _done(self, part: tuple[int, Stats, wire.Ints]) -> Stats:
        size, stats, damage = part
        self._advance(size)
        self._space.add_damage(damage)
        return stats

    def _intern(self, text: str) -> int:
        return self._names.setdefault(text, len(self._names))

    def _tasks(self, plane: Plane) -> Iterator[Callable[[], tuple[int, Stats, wire.Ints]]]:
        """Functions that decode some of a plane's events each."""
        if not plane.lines:
            return
        names = {key: self._intern(entry.name) for key, entry in plane.event_metadata.items()}
        stats = {key: self._intern(text) for key, text in plane.stat_names.items()}
        lookups, wanted = (_lookup(names), _lookup(stats)), self._wanted_ids(plane)
        for line in plane.lines:
            ends = [*line.marks[1:], line.end][: len(line.marks)]
            for number, (begin, end) in enumerate(zip(line.marks, ends, strict=True)):
                first = line.first + number * STRIDE
                count = min(STRIDE, line.events.stop - first)
                yield partial(self._decode, (begin, end), lookups, wanted, first, count)

    def _decode(
        self, place: tuple[int, int], lookups: Any, wanted: wire.Array, first: int, count: int
    ) -> tuple[int, Stats, wire.Ints]:
        begin, end = place
        stats, damage = Stats.empty((end - begin) // 2 + 2 * count), wire.no_damage()
        names, starts, durations = self._columns
        room = slice(first, first + count)
        _, rows = wire.decode_events(
            self._space.buffer,
            begin,
            end,
            lookups[0],
            lookups[1],
            wanted,
            (names[room], starts[room], durations[room]),
            first,
            stats.columns,
            damage,
        )
        return end - begin, stats.select(slice(rows)), damage

    def _wanted_ids(self, plane: Plane) -> wire.Array:
        if self._wanted is None:
            return np.empty(0, np.uint8)
        ids = plane.stat_names  # ids far beyond their number count as wanted
        wanted = np.zeros(min(_DENSE * len(ids), max([0, *ids])) + 1, np.uint8)
        for key, text in plane.stat_names.items():
            if text in self._wanted and 0 <= key < len(wanted):
                wanted[key] = 1
        return wanted


def _lookup(names: dict[int, int]) -> tuple[wire.Array, wire.Ints, wire.Array]:
    """(index by id, sorted ids, index of each): a table if ids are small, else sorted arrays."""
    if not names or (min(names) >= 0 and max(names) < _DENSE * len(names)):
        table = np.full(max(names, default=-1) + 1, -1, np.int32)
        table[list(names)] = list(names.values())
        return table, np.empty(0, np.int64), np.empty(0, np.int32)
    ids = np.array(sorted(names), np.int64)
    indices = np.array([names[int(key)] for key in ids], np.int32)
    return np.empty(0, np.int32), ids, indices
