"""Makes the tables ``event`` and ``event_stat``, of every event and stat, when queried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xladoctor.ingest.interface import Columns, Interned
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.events import KINDS, Events, Stats
from xladoctor.ingest.xplane.nesting import nest_all
from xladoctor.ingest.xplane.space import Line, Plane, Space

_TEXTS = ("graph_hash", "hlo_module", "hlo_op", "op", "file")
_NUMBERS = {
    "program_id": "program_id",
    "line": "file_line",
    "_p": "flow_out",
    "_c": "flow_in",
    "_pt": "flow_out_type",
    "_ct": "flow_in_type",
}

#: The instant that a line's offsets count from, in nanoseconds.
Origin = Callable[[Line], int]


def event_table(
    space: Space, origin: Origin, process: int, step_of: Callable[[wire.Ints], wire.Ints]
) -> Columns:
    """Columns of ``event``; ``step_of`` returns the step of each instant, -1 for none."""
    events = space.decode([*_TEXTS, *_NUMBERS])
    depth, own = nest_all(space, events)
    count, lines = len(events.name), space.lines
    starts, durations = np.empty(count, np.int64), np.empty(count, np.int64)
    for line in lines:
        part = line.events
        starts[part] = origin(line) + events.start_ps[part] // 1000
        ends = origin(line) + (events.start_ps[part] + events.duration_ps[part]) // 1000
        durations[part] = ends - starts[part]
    columns: Columns = {
        "process": np.broadcast_to(np.int32(process), count),
        "event": np.arange(count),
        "line": _by_line(lines, [line.number for line in lines]),
        "plane": _by_line(lines, [line.plane.number for line in lines]),
        "start_ns": starts,
        "duration_ns": durations,
        "depth": depth,
        "self_ns": own // 1000,
        "step": _masked(step_of(starts)),
        "occurrences": _occurrences(events),
    }
    columns |= {stat: _text(space, events, stat) for stat in _TEXTS}
    columns |= {column: _number(space, events, stat) for stat, column in _NUMBERS.items()}
    columns["name"] = Interned(events.name, events.names)  # last: stats add texts to the names
    return columns


def stat_table(space: Space, process: int) -> Columns:
    """Columns of ``event_stat``; for bytes only their count."""
    events = space.decode()
    stats = events.stats
    real = stats.kind == wire.DOUBLE
    whole = (stats.kind == wire.INT64) | (stats.kind == wire.UINT64)
    number = np.where(
        real, np.ascontiguousarray(stats.value).view(np.float64), stats.value.astype(np.float64)
    )
    unsigned = stats.kind == wire.UINT64
    number[unsigned] = stats.value[unsigned].view(np.uint64).astype(np.float64)
    texts = events.interned(stats)
    distinct = {name: index for index, name in enumerate(events.names)}
    for kind, show in (
        (wire.DOUBLE, _real),
        (wire.INT64, str),
        (wire.UINT64, _unsigned),
        (wire.BYTES, "{} bytes".format),
    ):
        rows = np.flatnonzero(stats.kind == kind)
        values = stats.value[rows]
        if kind == wire.BYTES:
            values = np.array([len(events.data(at)) for at in values.tolist()], np.int64)
        different, where = np.unique(values, return_inverse=True)
        codes = [distinct.setdefault(show(value), len(distinct)) for value in different.tolist()]
        texts[rows] = np.array(codes, np.int64)[where]
    kinds = Interned(stats.kind.astype(np.int32), [KINDS.get(kind, "") for kind in range(9)])
    return {
        "process": np.broadcast_to(np.int32(process), len(stats.event)),
        "event": stats.event,
        "name": Interned(stats.name, list(distinct)),
        "kind": kinds,
        "value": Interned(texts.astype(np.int32), list(distinct)),
        "number": np.ma.masked_array(number, ~(real | whole)),
    }


def _real(bits: int) -> str:
    return repr(float(np.int64(bits).view(np.float64)))


def _unsigned(value: int) -> str:
    return str(value % (1 << 64))


def _by_line(lines: list[Line], values: list[int]) -> wire.Array:
    return np.repeat(np.array(values, np.int32), [line.count for line in lines])


def _masked(values: wire.Ints) -> Any:
    return np.ma.masked_array(values, values < 0)


def _occurrences(events: Events) -> Any:
    column = np.full(len(events.name), -1, np.int64)
    known = events.occurrences
    column[list(known)] = list(known.values())
    return _masked(column)


def _text(space: Space, events: Events, stat: str) -> Interned:
    codes = np.full(len(events.name), -1, np.int32)
    rows = events.rows_of(stat)
    numbers = np.flatnonzero((rows.kind == wire.INT64) | (rows.kind == wire.UINT64))
    interned = events.interned(rows)
    codes[rows.event] = interned
    if len(numbers):  # some producers write a number where others write a text
        texts = [str(value) for value in rows.value[numbers].tolist()]
        codes[rows.event[numbers]] = [events.add_name(text) for text in texts]
    _from_metadata(space, events, stat, lambda value: events.add_name(str(value)), codes, -1)
    return Interned(codes, events.names)


def _number(space: Space, events: Events, stat: str) -> Any:
    column, known = np.zeros(len(events.name), np.int64), np.zeros(len(events.name), np.bool_)
    rows = _numeric(events.rows_of(stat))
    column[rows.event], known[rows.event] = rows.value, True
    given = np.where(known, column, _UNKNOWN)
    _from_metadata(space, events, stat, _as_int, given, _UNKNOWN)
    return np.ma.masked_array(given, given == _UNKNOWN)


_UNKNOWN = int(np.iinfo(np.int64).min)


def _as_int(value: Any) -> int:
    """An integer of 64 bits as signed, as the columns hold it."""
    return int(np.uint64(value % (1 << 64)).view(np.int64)) if isinstance(value, int) else _UNKNOWN


def _numeric(rows: Stats) -> Stats:
    return rows.select((rows.kind == wire.INT64) | (rows.kind == wire.UINT64))


def _from_metadata(
    space: Space,
    events: Events,
    stat: str,
    convert: Callable[[Any], int],
    column: wire.Array,
    unknown: int,
) -> None:
    """Fill in stats that are given once, in the event's metadata, as on device planes."""
    for plane in space.planes:
        values = _metadata_values(plane, stat)
        if not values or not plane.lines:
            continue
        for line in plane.lines:
            names, part = events.name[line.events], column[line.events]
            for name in np.unique(names).tolist():
                if events.names[name] in values:
                    missing = (names == name) & (part == unknown)
                    part[missing] = convert(values[events.names[name]])


def _metadata_values(plane: Plane, stat: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if stat == "hlo_op":  # some devices name an operation by its whole HLO text
        values = {
            entry.name: entry.display_name
            for entry in plane.event_metadata.values()
            if entry.display_name and entry.name.startswith("%")
        }
    if stat in plane.stat_names.values():
        entries = (
            (entry.name, plane.metadata_stats(entry))
            for entry in plane.event_metadata.values()
            if entry.stats
        )
        values |= {name: stats[stat] for name, stats in entries if stat in stats}
    return values
