"""A slow reader of an XSpace that is plainly right: protobuf and direct definitions."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.xspace.schema import message

#: A stat: its name, the kind of its value, and the value. References are resolved to the text.
Stat = tuple[str, str, Any]


@dataclass(frozen=True)
class ReferenceEvent:
    """An event as the file has it; times in picoseconds.

    ``plane`` and ``line`` count from 0 over the whole file. ``start_ps`` is relative to the line's
    ``timestamp_ns``; an aggregated event has ``occurrences`` instead and starts at 0.
    ``metadata_stats`` are those of the event's metadata, which hold for all events of that name.
    """

    plane: int
    line: int
    name: str
    start_ps: int
    duration_ps: int
    occurrences: int | None
    stats: tuple[Stat, ...]
    display_name: str = ""
    metadata_stats: tuple[Stat, ...] = ()
    depth: int = 0
    self_ps: int = 0

    def stat(self, name: str) -> Any:
        """The value of the event's first stat of this name, or None."""
        return next((value for given, _, value in self.stats if given == name), None)


def read(data: bytes) -> list[ReferenceEvent]:
    """All events in the order of the file. Raises protobuf's DecodeError for damaged bytes."""
    events: list[ReferenceEvent] = []
    line_number = 0
    for plane_number, plane in enumerate(message("XSpace").FromString(data).planes):
        metadata = {entry.key: entry.value for entry in plane.event_metadata}
        names = {entry.key: entry.value.name for entry in plane.stat_metadata}
        for line in plane.lines:
            line_events = [
                _event(e, metadata, names, plane_number, line_number) for e in line.events
            ]
            events += nested(line_events)
            line_number += 1
    return events


def nested(events: Sequence[ReferenceEvent]) -> list[ReferenceEvent]:
    """The events of one line with depth and self time.

    In the order of (start, longest first, file), an event is open at a later one's start if that
    lies in [start, end); its end is clipped to that of the innermost event open at its own start.
    """
    order = sorted(range(len(events)), key=lambda i: (events[i].start_ps, -events[i].duration_ps))
    ends: list[int] = []
    depths: list[int] = []
    own: list[int] = []
    for i in order:
        start, end = events[i].start_ps, events[i].start_ps + events[i].duration_ps
        still_open = [rank for rank, other in enumerate(ends) if start < other]
        if still_open:
            end = min(end, ends[still_open[-1]])
            own[still_open[-1]] -= end - start
        ends.append(end)
        depths.append(len(still_open))
        own.append(end - start)
    placed = dict(zip(order, zip(depths, own, strict=True), strict=True))
    return [
        replace(event, depth=placed[i][0], self_ps=placed[i][1]) for i, event in enumerate(events)
    ]


def _event(
    event: Any, metadata: Mapping[int, Any], names: Mapping[int, str], plane: int, line: int
) -> ReferenceEvent:
    known = metadata.get(event.metadata_id)
    counted = event.WhichOneof("data") == "num_occurrences"
    return ReferenceEvent(
        plane=plane,
        line=line,
        name=known.name if known is not None else f"#{event.metadata_id}",
        start_ps=event.offset_ps,
        duration_ps=event.duration_ps,
        occurrences=event.num_occurrences if counted else None,
        stats=tuple(_stats(event.stats, names)),
        display_name=known.display_name if known is not None else "",
        metadata_stats=tuple(_stats(known.stats, names)) if known is not None else (),
    )


def _stats(stats: Any, names: Mapping[int, str]) -> Iterator[Stat]:
    """A stat without a value says nothing and is left out."""
    for stat in stats:
        field = stat.WhichOneof("value")
        if field is None:
            continue
        kind, value = field.removesuffix("_value"), getattr(stat, field)
        if kind == "ref":
            value = names.get(_as_int64(value))
        elif kind == "compressed_str":
            kind, value = "str", gzip.decompress(value).decode()
        yield names.get(stat.metadata_id, f"#{stat.metadata_id}"), kind, value


def _as_int64(value: int) -> int:
    """A reference is unsigned and the key that it names is signed; readers in C++ convert so."""
    return value - (1 << 64) if value >= 1 << 63 else value
