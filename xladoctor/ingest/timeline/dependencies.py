"""Lists what the loop's thread did in program order, and the executions that it launched.

Together they form the timeline's dependency graph: an execution cannot begin before it is launched,
nor before the previous one has ended; a wait of the host ends when an execution has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from xladoctor.facts.parts import ACTIVITIES, REGIONS, Region
from xladoctor.frontends.vocabulary import events
from xladoctor.ingest.frames import NOWHERE
from xladoctor.ingest.interface import Columns, Interned
from xladoctor.ingest.timeline.activity import Pieces, input_names, pieces
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.executions import launched_runs, matched, outer, outermost_events
from xladoctor.ingest.timeline.intervals import NEVER, Intervals, Times, covering
from xladoctor.ingest.timeline.operator_calls import operator_calls
from xladoctor.ingest.timeline.python_frames import PythonFrames
from xladoctor.ingest.timeline.reading import Reading
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.space import Line

_LATE_NS = 50_000  # an execution's last event may end this long after the wait for it
_NO_WAIT_NS = 1000
_PYTHON = len(ACTIVITIES)
_WAIT = ACTIVITIES.index("wait")
#: Kinds of calls -> the events that enclose them; a cut has none.
_NAMED: dict[Region, tuple[str, ...]] = {
    "barrier": events("barrier"),
    "read": ("xladoctor.read",),
    "input": ("xladoctor.input",),
    "save": ("xladoctor.save",),
    "upload": ("xladoctor.upload",),
}
_CUT = REGIONS.index("cut")


@dataclass(frozen=True, slots=True)
class _Calls:
    """The outermost calls of a kind, in order; ``file`` has indices of names, -1 for none."""

    begin: Times
    end: Times
    kind: wire.Array
    file: wire.Array
    line: wire.Array


def add_dependencies(reading: Reading) -> Columns:
    """Fill ``host_segment`` and ``device_execution``, of the busiest device.

    Returns:
        the latter; empty without executions.
    """
    timeline, lines, steps = reading.timeline, reading.lines, reading.steps
    reading.rows.table("host_segment", "device_execution")
    if not lines or not reading.devices:
        return {}
    device = max(reading.devices, key=lambda device: device.busy.total)
    begin, end = timeline.begin, timeline.end
    if steps is not None:
        begin, end = int(steps.begin[0]), int(steps.end[-1])
    handed, runs = launched_runs(timeline, lines, device)
    inside = np.flatnonzero((handed > begin) & (handed <= end))
    if not len(inside):
        return {}
    runs = Intervals(runs.begin[inside], runs.end[inside])
    count = len(inside)
    executions: Columns = {
        "execution": np.arange(count),
        "device": np.full(count, device.number),
        "launched_ns": handed[inside],
        "begin_ns": runs.begin,
        "end_ns": runs.end,
    }
    reading.rows.append("device_execution", executions)
    reading.rows.append("host_segment", _segments(reading, (begin, end), handed[inside], runs))
    return executions


def _segments(
    reading: Reading, limits: tuple[int, int], launched: Times, runs: Intervals
) -> Columns:
    """The host's segments, cut where its activity or its call changes, and at launches."""
    timeline, lines = reading.timeline, reading.lines
    sequence = pieces(timeline, lines)
    doing = _lasting(sequence)
    calls = _calls(timeline, lines)
    if not len(calls.begin):
        calls = _profiled(timeline, lines, sequence.of("wait"))
    stops = np.empty(0, np.int64) if reading.steps is None else reading.steps.end
    hard = _distinct(np.concatenate((launched, stops, limits)))
    cuts = _distinct(np.concatenate((doing.begin, doing.end, calls.begin, calls.end, hard)))
    cuts = cuts[(cuts >= limits[0]) & (cuts <= limits[1])]
    begin, end = cuts[:-1], cuts[1:]
    activity = np.append(doing.activity, _PYTHON)[covering(doing.begin, doing.end, begin)]
    call = covering(calls.begin, calls.end, begin)
    new = np.isin(begin, hard) | (np.diff(activity, prepend=-1) != 0)
    new |= np.diff(call, prepend=-2) != 0
    last = np.append(new[1:], True)
    begin, end, activity, call = begin[new], end[last], activity[new], call[new]
    launching = np.searchsorted(launched, end)
    here = np.append(launched, -1)[launching] == end
    return {
        "segment": np.arange(len(begin)),
        "step": _or_null(reading.step_of(begin)),
        "activity": Interned(activity.astype(np.int32), [*ACTIVITIES, "python"]),
        "region": Interned(np.append(calls.kind, -1)[call].astype(np.int32), list(REGIONS)),
        "call": _or_null(call),
        "begin_ns": begin,
        "duration_ns": end - begin,
        "launches": np.ma.masked_array(launching, ~here),
        "awaits": _or_null(np.where(activity == _WAIT, _awaited(end, launched, runs), -1)),
        "file": Interned(np.append(calls.file, -1)[call].astype(np.int32), timeline.events.names),
        "line": _or_null(np.append(calls.line, -1)[call]),
    }


def _distinct(instants: Times) -> Times:
    """The distinct instants, in order; many times faster than NumPy's function, which hashes."""
    ordered = np.sort(instants)
    return ordered[np.diff(ordered, prepend=ordered[:1] - 1) > 0]


def _awaited(end: Times, launched: Times, runs: Intervals) -> wire.Ints:
    """The last execution that had (nearly) ended at each instant; -1 for none."""
    reached = np.maximum.accumulate(runs.end)
    ended = np.searchsorted(reached, end + _LATE_NS, side="right") - 1
    return np.minimum(ended, np.searchsorted(launched, end) - 1)


def _lasting(doing: Pieces) -> Pieces:
    """The pieces without waits that took no time: each freed tensor makes two of them."""
    kept = (doing.end - doing.begin >= _NO_WAIT_NS) | (doing.activity != _WAIT)
    return Pieces(doing.begin[kept], doing.end[kept], doing.activity[kept])


def _calls(timeline: Timeline, lines: list[Line]) -> _Calls:
    """The outermost calls whose extent is known. A cut is a graph or a fetch outside the others.

    An operator that runs on the CPU makes a cut: its inputs are fetched, it runs while the host is
    in Python, and the upload of its result ends the region.
    """
    named = (*chain(*_NAMED.values()), *events("graph"), *events("fetch"))
    begin, end, event = outermost_events(timeline, lines, named)
    kind = _kinds(timeline, event)
    cut = kind == _CUT
    sent = np.sort(outermost_events(timeline, lines, events("send"))[1])
    other = np.append(begin[~cut], NEVER)[np.searchsorted(begin[~cut], end)]
    until = np.append(sent, NEVER)[np.searchsorted(sent, end)]
    end = np.where(cut & (until < other), until, end)
    apart = outer(begin, end)
    begin, end, event, kind = begin[apart], end[apart], event[apart], kind[apart]
    return _Calls(
        begin, end, kind, _texts(timeline, event, "file"), _numbers(timeline, event, "line")
    )


def _profiled(timeline: Timeline, lines: list[Line], waiting: Intervals) -> _Calls:
    """The operators that read from the device, and the waits for batches, if the capture marked no
    calls. Reads while a batch is made are part of making it.
    """
    names = timeline.choice(input_names(timeline.events.names))
    inputs = timeline.during(lines, names)
    _, reads, _ = operator_calls(timeline, lines, waiting)
    apart = covering(inputs.begin, inputs.end, reads.begin) < 0
    reads = Intervals(reads.begin[apart], reads.end[apart])
    count, more = len(reads.begin), len(inputs.begin)
    frames = PythonFrames.of(timeline, lines[0] if count else None)
    sites = [*frames.sites(reads.begin, [""] * count), *[NOWHERE] * more]
    kind = np.repeat([REGIONS.index("read"), REGIONS.index("input")], [count, more])
    file = [timeline.events.add_name(site.file) if site.file else -1 for site in sites]
    line = [-1 if site.line is None else site.line for site in sites]
    begin, end = np.append(reads.begin, inputs.begin), np.append(reads.end, inputs.end)
    order = np.argsort(begin, kind="stable")
    return _Calls(
        begin[order],
        end[order],
        kind[order].astype(np.int8),
        np.array(file, np.int64)[order],
        np.array(line, np.int64)[order],
    )


def _kinds(timeline: Timeline, event: wire.Ints) -> wire.Array:
    kind_of = np.full(len(timeline.events.names), _CUT, np.int8)
    for region, names in _NAMED.items():
        for index in map(timeline.events.index, names):
            if index >= 0:
                kind_of[index] = REGIONS.index(region)
    return kind_of[timeline.events.name[event]]


def _texts(timeline: Timeline, event: wire.Ints, stat: str) -> wire.Array:
    """The index of each event's text under a stat, in the names of the events; -1 for none."""
    rows = timeline.events.rows_of(stat)
    return matched(event, rows.event, timeline.events.interned(rows))


def _numbers(timeline: Timeline, event: wire.Ints, stat: str) -> wire.Array:
    """The integer that each event has under a stat; -1 for none."""
    rows = timeline.events.rows_of(stat)
    return matched(event, rows.event, rows.value)


def _or_null(numbers: wire.Array) -> Any:
    """The numbers, with NULL for negative ones, which stand for unknown."""
    return np.ma.masked_array(numbers, numbers < 0)
