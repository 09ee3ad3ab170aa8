"""Finds the labels that a program put around its parts: ``TraceMe``s of XLA.

In a timeline a label looks like any other event of the loop's thread. It differs from the runtime's
own events in that it is not inside a call of the runtime, which never calls back into the program.
A call that the timeline's begin or end cuts is missing, but what it did is there: operations of a
graph that runs on the calling thread, and the passes of a compilation, see :func:`_compiling`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from xladoctor.frontends.vocabulary import events, own_events
from xladoctor.ingest.interface import Columns, Interned
from xladoctor.ingest.timeline.activity import runtime_names
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import Intervals, Times, covering
from xladoctor.ingest.timeline.reading import Reading
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.nesting import in_order, innermost, nest
from xladoctor.ingest.xplane.space import Line

#: Events that are not labels: XLA's own, those of Python tracers, and of thread pools.
_NOT_LABELS = re.compile(r".*?::(?s:.*)|\$.*|end: .*|xladoctor\..*")
_PASSES = "RunInvariantCheckers"  # around each pass of XLA's compiler
_OPERATION = "hlo_op"  # stat of a graph's operations
_VARIANTS = 8  # more labels that only differ in a number are one: "step 7", "step 8", …
_WITHIN = " > "
_DEEPEST = 100  # labels in a path
_OF_STEPS = ("step_num", "_r")  # stats of labels that mark a step, with or without a number


@dataclass(frozen=True, slots=True)
class Regions:
    """The labels of the loop's thread, in order of time, the outer before the inner.

    Attributes:
        name: index in ``names``.
        parent: number of the enclosing label; -1 for none.
        own: nanoseconds outside of inner labels.
        barriers: barriers in it, outside of inner labels; 0 for a step's label, which ends in one.
    """

    begin: Times
    end: Times
    name: wire.Array
    parent: wire.Ints
    own: Times
    barriers: wire.Ints
    names: list[str]


def find_regions(timeline: Timeline, lines: list[Line]) -> Regions:
    """The labels of one sequence of events, which may be spread over several threads."""
    names = timeline.events.names
    if (labels := timeline.space.labels) is not None:  # then they may be anywhere
        labels = {name for name in labels if not own_events().fullmatch(name)}
        runtime, possible = np.zeros(len(names), bool), np.isin(names, list(labels))
    else:
        runtime = runtime_names(names)
        possible = np.array(
            [
                not (known or _NOT_LABELS.fullmatch(name) or own_events().fullmatch(name))
                for name, known in zip(names, runtime, strict=True)
            ],
            bool,
        )
    passes = timeline.choice([_PASSES])
    parts = [_labels(timeline, line, possible, runtime, passes) for line in lines]
    nothing = np.empty(0, np.int64)
    begin, end, event = (
        np.concatenate(columns) for columns in zip((nothing,) * 3, *parts, strict=True)
    )
    begin, end, event = in_order(begin, end, event)
    _, own, parent = nest(begin, end - begin)
    inside = _barriers(timeline, lines)
    around = innermost(begin, end, parent, inside)
    barriers = np.bincount(around[around >= 0], minlength=len(begin))
    for stat in _OF_STEPS:
        barriers[np.isin(event, timeline.events.rows_of(stat).event)] = 0
    return Regions(begin, end, timeline.events.name[event], parent, own, barriers, names)


def _barriers(timeline: Timeline, lines: list[Line]) -> Times:
    """When the loop's own thread reached a barrier."""
    if not lines:
        return np.empty(0, np.int64)
    return np.sort(timeline.begins(lines[0], timeline.named(lines[0], *events("barrier"))))


def _labels(
    timeline: Timeline, line: Line, possible: wire.Array, runtime: wire.Array, passes: wire.Array
) -> tuple[Times, Times, wire.Ints]:
    """Begin, end and number in the file of one thread's labels."""
    name = timeline.events.name[line.events]
    which = np.flatnonzero(possible[name])
    begin, end = timeline.begins(line, which), timeline.ends(line, which)
    calls = np.flatnonzero(runtime[name]) if len(which) else which
    inside = Intervals.union(timeline.begins(line, calls), timeline.ends(line, calls))
    outside = (covering(inside.begin, inside.end, begin) < 0) & (end > begin)
    if outside.any():
        outside &= ~np.isin(line.first + which, timeline.events.rows_of(_OPERATION).event)
    outside &= ~_compiling(begin, end, passes[name[which]] & outside, inside)
    return begin[outside], end[outside], line.first + which[outside]


def _compiling(begin: Times, end: Times, passes: wire.Array, calls: Intervals) -> wire.Array:
    """Which events are inside a compilation whose own event is missing, because it began before the
    profile or ended after it.

    If it began before, these are all events up to the thread's first call of the runtime. Otherwise
    they are the events around the compiler's passes, between two of them, and after them, such as
    code generation, as long as there is no call.
    """
    before = np.zeros(len(begin), bool)
    if len(calls.begin):
        first_call = int(calls.begin[0])
        if np.any(passes & (end <= first_call)):
            before = end <= first_call
    passes = passes & ~before
    if not passes.any():
        return before
    around = Intervals.union(begin, end)
    first, last = (
        int(covering(around.begin, around.end, instants)[0])
        for instants in (begin[passes][:1], begin[passes][-1:])
    )
    since, until = around.begin[first], around.end[last]
    if np.any((calls.begin >= since) & (calls.begin < until)):
        return before
    later = calls.begin[calls.begin >= until]
    within: wire.Array = before | (
        (begin >= since) & (begin < (later[0] if len(later) else np.inf))
    )
    return within


def add_regions(reading: Reading, regions: Regions, executions: Columns) -> None:
    """Fill ``region``, for the busiest device; its executions are rows of ``device_execution``."""
    rows = reading.rows
    rows.table("region")
    count = len(regions.begin)
    if not count:
        return
    nothing = np.empty(0, np.int64)
    launched = executions.get("launched_ns", nothing)
    lasted = executions.get("end_ns", nothing) - executions.get("begin_ns", nothing)
    first, last = (np.searchsorted(launched, instants) for instants in (regions.begin, regions.end))
    lasted = np.concatenate(([0], np.cumsum(lasted)))
    busy = max(
        (device.busy for device in reading.devices), key=lambda busy: busy.total, default=None
    )
    whole = regions.end - regions.begin
    step = reading.step_of(regions.begin)
    path, paths, deeper = _paths(regions)
    if deeper:
        rows.notes.append(
            f"{reading.timeline.space.path}: {deeper} labels lie within more than {_DEEPEST - 1}"
            " others; their paths are cut off there"
        )
    rows.append(
        "region",
        {
            "region": np.arange(count),
            "parent": np.ma.masked_array(regions.parent, regions.parent < 0),
            "name": Interned(regions.name.astype(np.int32), regions.names),
            "path": Interned(path, paths),
            "step": np.ma.masked_array(step, step < 0),
            "begin_ns": regions.begin,
            "duration_ns": whole,
            "self_ns": regions.own,
            "barriers": regions.barriers,
            "launches": last - first,
            "device_ns": lasted[last] - lasted[first],
            "idle_ns": whole - busy.covered(regions.begin, regions.end) if busy else [None] * count,
        },
    )


def _paths(regions: Regions) -> tuple[wire.Array, list[str], int]:
    """The path of each label, with those around it, as indices of texts.

    A label with too many around it has the path of the last that has not; also returns how many.
    """
    texts: dict[tuple[int, str], int] = {}
    depth: list[int] = []  # of each text, how many labels are in it
    deeper = 0
    shown = _shown(regions)
    codes = np.full(len(regions.begin) + 1, -1, np.int32)  # the last is no parent
    for number, (name, parent) in enumerate(
        zip(regions.name.tolist(), regions.parent.tolist(), strict=True)
    ):
        around = int(codes[parent])
        if around >= 0 and depth[around] == _DEEPEST:
            codes[number] = around
            deeper += 1
            continue
        codes[number] = texts.setdefault((around, shown[name]), len(texts))
        if len(texts) > len(depth):
            depth.append(depth[around] + 1 if around >= 0 else 1)
    paths: list[str] = []
    for parent, name in texts:
        paths.append(paths[parent] + _WITHIN + name if parent >= 0 else name)
    return codes[:-1], paths, deeper


def _shown(regions: Regions) -> dict[int, str]:
    """Names by index; a number in which many labels differ is left out."""
    names = {index: regions.names[index] for index in np.unique(regions.name).tolist()}
    forms = {index: re.sub(r"\d+", "N", name) for index, name in names.items()}
    variants = Counter(forms.values())
    return {
        index: forms[index]
        if variants[forms[index]] > _VARIANTS or name.startswith(events("step"))
        else name
        for index, name in names.items()
    }
