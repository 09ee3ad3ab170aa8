"""Sums up the operators that the host ran in each step, and what they launched on devices.

For timelines that join calls of the host with the work that they led to, and for all timelines of
programs that also run compiled functions.
"""

from __future__ import annotations

import numpy as np

from xladoctor.frontends.vocabulary import events
from xladoctor.frontends.vocabulary_file import Event
from xladoctor.ingest.interface import Interned
from xladoctor.ingest.timeline.activity import input_names
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import Times, covering, outermost
from xladoctor.ingest.timeline.python_frames import is_frame
from xladoctor.ingest.timeline.reading import Reading
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.nesting import nest
from xladoctor.ingest.xplane.space import Line
from xladoctor.quantities import duration, percent


def add_operators(reading: Reading) -> None:
    """Fill ``host_op``, if calls are joined with work."""
    timeline = reading.timeline
    calls, works = timeline.space.joined(timeline.events)
    if not len(calls):
        return
    lasted = timeline.events.duration_ps[works]
    names = timeline.events.names
    shown = ~timeline.choice(filter(is_frame, names))
    nothing = np.empty((6, 0), np.int64)
    parts = [_of_line(timeline, line, shown, calls, lasted) for line in timeline.threads]
    name, begin, *sums = np.concatenate([nothing, *parts], axis=1)
    step = reading.step_of(begin)
    # Step and name as one number: NumPy compares rows as bytes, which is ten times as slow.
    keys, where = np.unique((step + 1) * len(names) + name, return_inverse=True)
    count = np.bincount(where)
    total = [np.bincount(where, part).astype(np.int64) for part in sums]
    step, name = keys // len(names) - 1, keys % len(names)
    reading.rows.append(
        "host_op",
        {
            "step": np.ma.masked_array(step, step < 0),
            "name": Interned(name.astype(np.int32), names),
            "count": count,
            "duration_ns": total[0] // 1000,
            "self_ns": total[1] // 1000,
            "launches": total[2],
            "device_ns": total[3] // 1000,
        },
    )


#: Share of the operators' time from which on one of them is named.
_MOST = 0.5


def note_computing(reading: Reading) -> None:
    """Note which operator takes most of the time where the trace has no device: they compute."""
    if reading.devices or not reading.timeline.space.joins_calls:
        return
    timeline, names = reading.timeline, reading.timeline.events.names
    shown = timeline.beginning(*events("operator"))
    none = np.empty(0, np.int64)
    parts = [_of_line(timeline, line, shown, none, none) for line in reading.lines]
    name, _, _, own, *_ = np.concatenate([np.empty((6, 0), np.int64), *parts], axis=1)
    total = np.bincount(name, own, len(names)) if len(name) else np.zeros(0)
    most = int(total.argmax()) if len(total) else 0
    if total.sum() <= 0 or total[most] < _MOST * total.sum():
        return
    reading.rows.notes.append(
        f"{timeline.space.path}: no device in it: its operators compute on the CPU,"
        f" {percent(total[most] / total.sum())} of their {duration(total.sum() / 1e12)} in"
        f" {names[most]}"
    )


#: Where an operator is called, the most reliable first, with the meaning of the enclosing events.
_PLACES: tuple[tuple[str, Event], ...] = (("optimizer", "update"), ("backward", "backward"))
_ELSEWHERE = "loop"


def add_eager(reading: Reading) -> None:
    """Fill ``eager_op``, if the loop's threads (``lines``) run compiled functions."""
    timeline = reading.timeline
    making = timeline.choice(input_names(timeline.events.names))
    of_functions = timeline.beginning(*events("compiled"))
    compiled = [timeline.during([line], of_functions) for line in reading.lines]
    if not any(len(inside.begin) for inside in compiled):
        return
    calls, works = timeline.space.joined(timeline.events)
    lasted, names = timeline.events.duration_ps[works], timeline.events.names
    shown = timeline.beginning(*events("operator"))
    parts = [np.empty((6, 0), np.int64)]
    for line, inside in zip(reading.lines, compiled, strict=True):
        rows = _of_line(timeline, line, shown, calls, lasted)
        begin, end = rows[1], rows[1] + rows[2] // 1000
        outer = np.zeros(len(begin), bool)
        outer[outermost(begin, end)] = True
        for other in (inside, timeline.during([line], making)):
            outer &= covering(other.begin, other.end, begin) < 0
        place = np.full(len(begin), len(_PLACES), np.int64)
        for number, (_, event) in reversed([*enumerate(_PLACES)]):
            around = timeline.during([line], timeline.beginning(*events(event)))
            place[covering(around.begin, around.end, begin) >= 0] = number
        parts.append(np.stack((*rows[:3], rows[4], rows[5], place))[:, outer])
    name, begin, lasted_ps, launches, device_ps, place = np.concatenate(parts, axis=1)
    step = reading.step_of(begin)
    keys, where = np.unique(((step + 1) * len(names) + name) * 3 + place, return_inverse=True)
    rest, place = np.divmod(keys, 3)
    step, name = rest // len(names) - 1, rest % len(names)
    total = [
        np.bincount(where, part, len(keys)).astype(np.int64)
        for part in (lasted_ps, launches, device_ps)
    ]
    reading.rows.append(
        "eager_op",
        {
            "step": np.ma.masked_array(step, step < 0),
            "place": Interned(place.astype(np.int32), [*(name for name, _ in _PLACES), _ELSEWHERE]),
            "name": Interned(name.astype(np.int32), names),
            "count": np.bincount(where),
            "duration_ns": total[0] // 1000,
            "launches": total[1],
            "device_ns": total[2] // 1000,
        },
    )


def _of_line(
    timeline: Timeline,
    line: Line,
    shown: wire.Array,
    calls: Times,
    lasted: Times,
) -> Times:
    """For each event: name, begin (ns), duration and self time (ps), launches, their time (ps)."""
    events, part = timeline.events, line.events
    which = timeline.chosen(line, shown)
    start, duration = events.start_ps[part][which], events.duration_ps[part][which]
    _, own, _ = nest(start, duration)
    mine = (calls >= part.start) & (calls < part.stop)
    at = events.start_ps[calls[mine]]
    order = np.argsort(at, kind="stable")
    until = np.concatenate(([0], np.cumsum(lasted[mine][order])))
    first = np.searchsorted(at[order], start)
    last = np.searchsorted(at[order], start + np.maximum(duration, 1))
    return np.stack(
        (
            events.name[part][which].astype(np.int64),
            timeline.begins(line, which),
            duration,
            own,
            last - first,
            until[last] - until[first],
        )
    )
