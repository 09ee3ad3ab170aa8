"""Hand-made XSpaces, in code that reads like what they hold.

``space.plane("/host:CPU").line("python").event("train", 0, 100, _r=1, step_num=3)``: times in
microseconds from the line's origin; the kind of a stat follows from the type of its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.xspace.schema import message
from tests.xspace.wire import encoded


class Ref(str):
    """A text that is stored once, as the name of a stat metadata, and referred to."""

    __slots__ = ()


class Unsigned(int):
    """A number that is stored as ``uint64_value``; other integers as ``int64_value``."""


Value = int | float | str | bytes
Column = np.ndarray[Any, np.dtype[Any]]


class Space:
    """An XSpace under construction."""

    def __init__(self, hostname: str = "host") -> None:
        self._space = message("XSpace")(hostnames=[hostname])
        self._planes: dict[str, Plane] = {}

    def plane(self, name: str, /, **stats: Value) -> Plane:
        """The plane of this name, made at the first call; ``stats`` are added to it."""
        if name not in self._planes:
            number = len(self._planes)
            self._planes[name] = Plane(self._space.planes.add(id=number, name=name))
        self._planes[name].add_stats(stats)
        return self._planes[name]

    def hlo(self, program_id: int, name: str, hlo_proto: bytes, key: int | None = None) -> None:
        """A compiled module in ``/host:metadata``, named as XLA does: ``name(program_id)``.

        Its ``key`` in the plane is the program's id, unless the writer numbers modules otherwise.
        """
        number = program_id if key is None else key
        stats: dict[str, Any] = {"Hlo Proto": hlo_proto}
        self.plane("/host:metadata").metadata(f"{name}({program_id})", number, **stats)

    def started_at(self, unix_ns: int, duration_ns: int = 1_000_000_000) -> None:
        """When the profile began and ended."""
        self.plane(
            "Task Environment",
            profile_start_time=Unsigned(unix_ns),
            profile_stop_time=Unsigned(unix_ns + duration_ns),
        )

    def bytes(self) -> bytes:
        """The serialized XSpace."""
        return bytes(self._space.SerializeToString())


class Plane:
    """A plane with its interned names."""

    def __init__(self, plane: Any) -> None:
        self._plane = plane
        self._events: dict[str, int] = {}
        self._stats: dict[str, int] = {}

    def line(
        self,
        name: str,
        /,
        id: int | None = None,  # noqa: A002  # as the field is called
        timestamp_ns: int = 0,
        display_name: str = "",
    ) -> Line:
        """A new line; without an ``id`` it takes the next number."""
        number = len(self._plane.lines) + 1 if id is None else id
        line = self._plane.lines.add(
            id=number, name=name, timestamp_ns=timestamp_ns, display_name=display_name
        )
        return Line(self, line)

    def metadata(
        self, name: str, /, key: int | None = None, display_name: str = "", **stats: Value
    ) -> int:
        """The id of an event's metadata, made at the first call with all that is said of it."""
        if name not in self._events:
            number = len(self._events) + 1 if key is None else key
            entry = self._plane.event_metadata.add(key=number)
            entry.value.id, entry.value.name = number, name
            entry.value.display_name = display_name
            self.fill(entry.value.stats, stats)
            self._events[name] = number
        return self._events[name]

    def add_stats(self, stats: dict[str, Value]) -> None:
        """Stats of the plane itself."""
        self.fill(self._plane.stats, stats)

    def fill(self, target: Any, stats: dict[str, Value]) -> None:
        """Append ``stats`` to a repeated field of XStat."""
        for name, value in stats.items():
            stat = target.add(metadata_id=self.number(name))
            if isinstance(value, Ref):
                stat.ref_value = self.number(value)
            else:
                setattr(stat, _FIELDS[type(value)], value)

    def numbers(self, texts: Sequence[str]) -> Column:
        """The ids of texts that are stored as names of stat metadata."""
        known = {text: self.number(text) for text in dict.fromkeys(texts)}
        return np.array([known[text] for text in texts], np.int64)

    def number(self, name: str) -> int:
        """The id of a stat's metadata, made at the first call."""
        if name not in self._stats:
            number = self._stats[name] = len(self._stats) + 1
            entry = self._plane.stat_metadata.add(key=number)
            entry.value.id, entry.value.name = number, str(name)
        return self._stats[name]


class Line:
    """A line of events: a thread, a stream, or a view of a device."""

    def __init__(self, plane: Plane, line: Any) -> None:
        self._plane = plane
        self._line = line

    def event(self, name: str, start_us: float, duration_us: float = 0, /, **stats: Value) -> Line:
        """Append an event; give its metadata first where that has a display name or stats."""
        event = self._line.events.add(
            metadata_id=self._plane.metadata(name),
            offset_ps=round(start_us * 1e6),
            duration_ps=round(duration_us * 1e6),
        )
        self._plane.fill(event.stats, stats)
        return self

    def events(
        self,
        names: Sequence[str],
        start_us: Column,
        duration_us: Column,
        /,
        **stats: Column | Sequence[Ref],
    ) -> Line:
        """Append many events at once; stats are ``uint64_value``, or texts that are stored once."""
        values: list[tuple[int, int, Column]] = []
        for name, column in stats.items():
            number = self._plane.number(name)
            if isinstance(column, np.ndarray):
                values.append((number, 3, column))
            else:
                values.append((number, 7, self._plane.numbers(column)))
        which = {name: self._plane.metadata(name) for name in dict.fromkeys(names)}
        self._line.MergeFromString(
            encoded(
                np.array([which[name] for name in names], np.int64),
                np.rint(start_us * 1e6).astype(np.int64),
                np.rint(duration_us * 1e6).astype(np.int64),
                values,
            )
        )
        return self

    def aggregated(
        self, name: str, occurrences: int, duration_us: float, /, **stats: Value
    ) -> Line:
        """Append an event that sums up several, without a start."""
        event = self._line.events.add(
            metadata_id=self._plane.metadata(name),
            num_occurrences=occurrences,
            duration_ps=round(duration_us * 1e6),
        )
        self._plane.fill(event.stats, stats)
        return self


_FIELDS = {
    int: "int64_value",
    Unsigned: "uint64_value",
    float: "double_value",
    str: "str_value",
    bytes: "bytes_value",
}
