"""What the loop's thread did in program order, and the executions that it launched.

Together they are the timeline's dependency graph: an execution cannot begin before it is launched,
nor before the one launched earlier has ended; a wait of the host ends when an execution has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from xladoctor.frontends.vocabulary import events
from xladoctor.ingest.frames import NOWHERE
from xladoctor.ingest.interface import Columns, Ingested, Interned
from xladoctor.ingest.timeline.activity import NAMES, Pieces, input_names, pieces
from xladoctor.ingest.timeline.breakdown import step_of
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.compiling import calls_that_compiled
from xladoctor.ingest.timeline.devices import Device
from xladoctor.ingest.timeline.intervals import Intervals, Times, covering
from xladoctor.ingest.timeline.operator_calls import operator_calls
from xladoctor.ingest.timeline.python_frames import PythonFrames
from xladoctor.ingest.timeline.steps import Steps, executions
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.space import Line

_LATE_NS = 50_000  # an execution's last event may end this long after the wait for it
_NO_WAIT_NS = 1000
_PAUSE_NS = 1_000_000  # after the last launch: what follows belongs to no known launch
_PYTHON = len(NAMES)
_WAIT = NAMES.index("wait")
_NEVER = np.iinfo(np.int64).max
#: Calls by the events that enclose them; a cut has none.
_NAMED = {"barrier": events("barrier"), "read": ("xladoctor.read",),
          "input": ("xladoctor.input",), "save": ("xladoctor.save",),
          "upload": ("xladoctor.upload",)}  # fmt: skip
_KINDS = (*_NAMED, "cut")
_CUT = _KINDS.index("cut")


@dataclass(frozen=True, slots=True)
class _Calls:
    """The outermost calls of a kind, in order; codes of names for ``file``, -1 for none."""

    begin: Times
    end: Times
    kind: wire.Array
    file: wire.Array
    line: wire.Array


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of a timeline to look at: the loop's threads between two instants."""

    timeline: Timeline
    lines: list[Line]
    begin: int
    end: int
    steps: Steps | None
    numbers: Times | None


def add_dependencies(
    timeline: Timeline, lines: list[Line], steps: Steps | None, numbers: Times | None,
    devices: list[Device], process: int, ingested: Ingested,
) -> None:  # fmt: skip
    """Fill ``host_segment`` and ``device_execution``, of the busiest device."""
    for table in ("host_segment", "device_execution"):
        ingested.table(table)
    if not lines or not devices:
        return
    device = max(devices, key=lambda device: device.busy.total)
    whole = (timeline.begin, timeline.end)
    limits = whole if steps is None else (int(steps.begin[0]), int(steps.end[-1]))
    window = _Window(timeline, lines, *limits, steps, numbers)
    handed, runs = _joined(timeline, lines)
    if not len(handed):
        handed, started = _launches(timeline, lines)
        runs = _executions(device, started) if len(handed) else runs
    inside = np.flatnonzero((handed > window.begin) & (handed <= window.end))
    if not len(inside):
        return
    runs = Intervals(runs.begin[inside], runs.end[inside])
    count = len(inside)
    ingested.append("device_execution", {
        "process": np.full(count, process), "execution": np.arange(count),
        "device": np.full(count, device.number), "launched_ns": handed[inside],
        "begin_ns": runs.begin, "end_ns": runs.end,
    })  # fmt: skip
    segments = _segments(window, handed[inside], runs)
    process_of = np.full(len(segments["segment"]), process)
    ingested.append("host_segment", {"process": process_of, **segments})


def _joined(timeline: Timeline, lines: list[Line]) -> tuple[Times, Intervals]:
    """When these threads had handed over work, in order, and when that ran, where this is told."""
    calls, works = timeline.space.joined(timeline.events)
    own = np.zeros(len(timeline.events.name), np.bool_)
    for line in lines:
        own[line.events] = True
    calls, works = calls[own[calls]], works[own[calls]]
    begins, ends = _instants(timeline, np.concatenate((calls, works)))
    handed, call = np.unique(ends[: len(calls)], return_inverse=True)
    begin, end = np.full(len(handed), _NEVER), np.zeros(len(handed), np.int64)
    np.minimum.at(begin, call, begins[len(calls) :])
    np.maximum.at(end, call, ends[len(calls) :])
    return handed, Intervals(begin, end)


def _instants(timeline: Timeline, events: Times) -> tuple[Times, Times]:
    """Begin and end of events by their numbers in the file."""
    begin, end = np.empty(len(events), np.int64), np.empty(len(events), np.int64)
    for line in timeline.space.lines:
        mine = np.flatnonzero((events >= line.first) & (events < line.events.stop))
        begin[mine] = timeline.begins(line, events[mine] - line.first)
        end[mine] = timeline.ends(line, events[mine] - line.first)
    return begin, end


def _launches(timeline: Timeline, lines: list[Line]) -> tuple[Times, Times]:
    """When the host had handed each graph over, and when the runtime started on it.

    By the frontend's own event, else by the runtime's.
    """
    calls = executions(timeline)
    asked, handed, _ = _events(timeline, lines, events("launch"))
    if not len(handed):
        called, _, _ = _events(timeline, lines, calls)
        handed = np.unique(_when_compiled(timeline, lines, called))
        return handed, handed
    everywhere = [line for plane in timeline.hosts for line in plane.lines if line.count]
    called = np.sort(_events(timeline, everywhere, calls)[0])
    first = np.append(called, _NEVER)[np.searchsorted(called, asked)]
    started = np.where(first < np.append(asked[1:], _NEVER), first, asked)
    other = np.diff(handed, prepend=-1) > 0
    return handed[other], started[other]


def _when_compiled(timeline: Timeline, lines: list[Line], called: Times) -> Times:
    """Instants of calls, but the end of compiling where a call compiled what it then launched."""
    compiled = [calls_that_compiled(timeline, line) for line in lines]
    since, until = (np.concatenate(part) for part in zip(*compiled, strict=True))
    at = np.searchsorted(called, since)
    same = np.append(called, -1)[at] == since
    asked = called.copy()
    asked[at[same]] = until[same]
    return asked


def _executions(device: Device, started: Times) -> Intervals:
    """When each launched graph ran; at its launch, for no time, if it left no trace."""
    modules = device.modules
    early = int(np.searchsorted(modules.begin, started[0]))
    if len(modules.begin) - early >= len(started):  # a device's own line has them in order
        runs = slice(early, early + len(started))
        if np.all(modules.begin[runs] >= started):
            return Intervals(modules.begin[runs], modules.end[runs])
    busy = device.computing
    stops = np.append(started[1:], _pause_after(busy, int(started[-1])))
    first = np.searchsorted(busy.end, started, side="right")
    last = np.searchsorted(busy.begin, stops) - 1
    begins, ends = started.copy(), started.copy()
    ran = last >= first
    begins[ran] = np.maximum(busy.begin[first[ran]], started[ran])
    ends[ran] = np.minimum(busy.end[last[ran]], stops[ran])
    return Intervals(begins, ends)


def _pause_after(busy: Intervals, instant: int) -> int:
    """When a device first pauses for long after it has worked after an instant."""
    first = int(np.searchsorted(busy.end, instant, side="right"))
    pauses = np.flatnonzero(busy.begin[first + 1 :] - busy.end[first:-1] >= _PAUSE_NS)
    return int(busy.end[first + pauses[0]]) if len(pauses) else _NEVER


def _segments(window: _Window, launched: Times, runs: Intervals) -> Columns:
    """What the host did, cut where its activity or its call changes, and at launches."""
    sequence = pieces(window.timeline, window.lines)
    doing = _lasting(sequence)
    calls = _calls(window.timeline, window.lines)
    if not len(calls.begin):
        calls = _profiled(window, sequence.of("wait"))
    stops = np.empty(0, np.int64) if window.steps is None else window.steps.end
    hard = _distinct(np.concatenate((launched, stops, [window.begin, window.end])))
    cuts = _distinct(np.concatenate((doing.begin, doing.end, calls.begin, calls.end, hard)))
    cuts = cuts[(cuts >= window.begin) & (cuts <= window.end)]
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
        "step": _or_null(step_of(window.steps, window.numbers, begin)),
        "activity": Interned(activity.astype(np.int32), [*NAMES, "python"]),
        "region": Interned(np.append(calls.kind, -1)[call].astype(np.int32), list(_KINDS)),
        "call": _or_null(call), "begin_ns": begin, "duration_ns": end - begin,
        "launches": np.ma.masked_array(launching, ~here),
        "awaits": _or_null(np.where(activity == _WAIT, _awaited(end, launched, runs), -1)),
        "file": Interned(np.append(calls.file, -1)[call].astype(np.int32),
                         window.timeline.events.names),
        "line": _or_null(np.append(calls.line, -1)[call]),
    }  # fmt: skip


def _distinct(instants: Times) -> Times:
    """Each once, in order; many times as fast as numpy's own, which makes a hash table."""
    ordered = np.sort(instants)
    return ordered[np.diff(ordered, prepend=ordered[:1] - 1) > 0]


def _awaited(end: Times, launched: Times, runs: Intervals) -> wire.Ints:
    """The last execution that had ended, or nearly, at each instant; -1 for none."""
    reached = np.maximum.accumulate(runs.end)
    ended = np.searchsorted(reached, end + _LATE_NS, side="right") - 1
    return np.minimum(ended, np.searchsorted(launched, end) - 1)


def _lasting(doing: Pieces) -> Pieces:
    """Without waits that did not wait: each freed tensor makes two."""
    kept = (doing.end - doing.begin >= _NO_WAIT_NS) | (doing.activity != _WAIT)
    return Pieces(doing.begin[kept], doing.end[kept], doing.activity[kept])


def _calls(timeline: Timeline, lines: list[Line]) -> _Calls:
    """The outermost calls whose extent is known. A cut is a graph or a fetch outside the others.

    An operator that runs on the CPU makes one: its inputs are fetched, it runs in Python's time,
    and its result is uploaded, which ends the region.
    """
    named = (*chain(*_NAMED.values()), *events("graph"), *events("fetch"))
    begin, end, event = _events(timeline, lines, named)
    kind = _kinds(timeline, event)
    apart = kind == _CUT
    sent = np.sort(_events(timeline, lines, events("send"))[1])
    other = np.append(begin[~apart], _NEVER)[np.searchsorted(begin[~apart], end)]
    until = np.append(sent, _NEVER)[np.searchsorted(sent, end)]
    end = np.where(apart & (until < other), until, end)
    outer = _outer(begin, end)
    begin, end, event, kind = begin[outer], end[outer], event[outer], kind[outer]
    return _Calls(begin, end, kind, _texts(timeline, event, "file"),
                    _numbers(timeline, event, "line"))  # fmt: skip


def _profiled(window: _Window, waiting: Intervals) -> _Calls:
    """The operators that read from the device and the waits for batches, where the capture marks
    no calls. What is read while a batch is made is a part of making it.
    """
    timeline = window.timeline
    asked = timeline.choice(input_names(timeline.events.names))
    parts = [(line, timeline.chosen(line, asked)) for line in window.lines]
    inputs = Intervals.union(*(np.concatenate([get(*part) for part in parts])
                               for get in (timeline.begins, timeline.ends)))  # fmt: skip
    _, reads, _ = operator_calls(timeline, window.lines, waiting)
    apart = covering(inputs.begin, inputs.end, reads.begin) < 0
    reads = Intervals(reads.begin[apart], reads.end[apart])
    count, more = len(reads.begin), len(inputs.begin)
    frames = PythonFrames.of(timeline, window.lines[0] if count else None)
    sites = [*frames.sites(reads.begin, [""] * count), *[NOWHERE] * more]
    kind = np.repeat([_KINDS.index("read"), _KINDS.index("input")], [count, more])
    file = [timeline.events.add_name(site.file) if site.file else -1 for site in sites]
    line = [-1 if site.line is None else site.line for site in sites]
    begin, end = np.append(reads.begin, inputs.begin), np.append(reads.end, inputs.end)
    order = np.argsort(begin, kind="stable")
    return _Calls(begin[order], end[order], kind[order].astype(np.int8),
                  np.array(file, np.int64)[order], np.array(line, np.int64)[order])  # fmt: skip


def _events(
    timeline: Timeline, lines: list[Line], names: Sequence[str]
) -> tuple[Times, Times, wire.Ints]:
    """Outermost events of these names, in order: begin, end, and number in the file."""
    parts = [(line, timeline.named(line, *names)) for line in lines]
    begin = np.concatenate([timeline.begins(*part) for part in parts])
    end = np.concatenate([timeline.ends(*part) for part in parts])
    event = np.concatenate([line.first + numbers for line, numbers in parts])
    order = np.lexsort((-end, begin))
    order = order[_outer(begin[order], end[order])]
    return begin[order], end[order], event[order]


def _outer(begin: Times, end: Times) -> wire.Array:
    """Which of these spans, sorted by begin, lie in no earlier one."""
    reached = np.maximum.accumulate(np.append(np.iinfo(np.int64).min, end[:-1]))[: len(end)]
    return np.asarray(begin >= reached)


def _kinds(timeline: Timeline, event: wire.Ints) -> wire.Array:
    kind_of = np.full(len(timeline.events.names), _CUT, np.int8)
    for kind, names in enumerate(_NAMED.values()):
        for index in map(timeline.events.index, names):
            if index >= 0:
                kind_of[index] = kind
    return kind_of[timeline.events.name[event]]


def _texts(timeline: Timeline, event: wire.Ints, stat: str) -> wire.Array:
    """The index of each event's text under a stat, in the names of the events; -1 for none."""
    rows = timeline.events.rows_of(stat)
    return _matched(event, rows.event, timeline.events.interned(rows))


def _numbers(timeline: Timeline, event: wire.Ints, stat: str) -> wire.Array:
    """The integer that each event has under a stat, -1 for none."""
    rows = timeline.events.rows_of(stat)
    return _matched(event, rows.event, rows.value)


def _matched(wanted: wire.Ints, keys: wire.Array, values: wire.Array) -> wire.Array:
    """The value of each wanted key, -1 for none; keys come in order."""
    at = np.searchsorted(keys, wanted)
    present = np.append(keys, -1)[at] == wanted
    return np.where(present, np.append(values, -1)[at], -1)


def _or_null(numbers: wire.Array) -> Any:
    """Numbers; those below zero are unknown."""
    return np.ma.masked_array(numbers, numbers < 0)
