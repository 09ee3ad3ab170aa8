"""Finds what the host does at each instant, from the innermost event with a known meaning.

The loop's thread and autograd's are taken together: while autograd's runs the backward pass, the
loop's waits for it, so the two make one sequence.
"""

# mypy: disable-error-code="arg-type"
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from xladoctor.facts.parts import ACTIVITIES, Activity
from xladoctor.frontends.vocabulary import (
    events,
    marked,
    of_known_runtime,
    vocabularies,
    vocabulary,
)
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.compiling import calls_that_compiled
from xladoctor.ingest.timeline.intervals import Intervals, Times, covering
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.compiled import compiled
from xladoctor.ingest.xplane.nesting import in_order
from xladoctor.ingest.xplane.space import Line

#: Activity -> regular expression for the whole name of its events: the capture's own, and those of
#: XLA's runtime as seen in captured timelines. Frontends add more.
_EVENTS: dict[Activity, str] = {
    "compile": r".*Client::Compile.*|CompileToLocalExecutable",
    "wait": r"xladoctor\.read|Wait for (usage|donation) holds|ThunkExecutor::Execute.*"
    r"|.*Buffer::(ToLiteral|Await|GetReadyFuture).*|BlockHostUntil.*",
    "upload": r"xladoctor\.upload|.*BufferFromHost.*",
    "input": r"xladoctor\.input",
    "save": r"xladoctor\.save",
    "dispatch": r".*Executable::Execute.*|PjRt.*::Execute.*",
    "collective": r"xladoctor\.collective",
}
_RUNTIME = ("compile", "wait", "upload", "dispatch")
_COMPILE = ACTIVITIES.index("compile")
_LAST_WAITS = 4  # one in so many waits is among the last
_LONGER = 3  # times as long as the longest of these, and a wait is for the compiler
_LAUNCHING_NS = 200_000  # an operator that hands its work to a device has done so by then


@compiled(
    "int64(int64[::1], int64[::1], int8[::1], int64, int64[::1], int64[::1], int8[::1])",
    work=lambda begin, *_: 20 * len(begin),
)
def _sweep(
    begin: Times,
    end: Times,
    activity: wire.Array,
    sticky: int,
    out_begin: Times,
    out_end: Times,
    out_activity: wire.Array,
) -> int:
    """Cut nested events into disjoint pieces, each of the innermost event; return their number."""
    ends, kinds = np.empty(len(begin) + 1, np.int64), np.empty(len(begin) + 1, np.int8)
    height, count, cursor = 0, 0, np.int64(0)
    for event in range(len(begin) + 1):
        now = begin[event] if event < len(begin) else np.iinfo(np.int64).max
        while height > 0 and ends[height - 1] <= now:
            height -= 1
            if ends[height] > cursor:
                out_begin[count], out_end[count] = cursor, ends[height]
                out_activity[count] = kinds[height]
                count += 1
                cursor = ends[height]
        if event == len(begin):
            break
        if height > 0 and now > cursor:
            out_begin[count], out_end[count], out_activity[count] = cursor, now, kinds[height - 1]
            count += 1
        cursor = max(cursor, now)
        stop, kind = end[event], activity[event]
        if height > 0:
            stop = min(stop, ends[height - 1])
            if kinds[height - 1] == sticky:
                kind = np.int8(sticky)
        ends[height], kinds[height] = stop, kind
        height += 1
    return count


@dataclass(frozen=True, slots=True)
class Pieces:
    """Disjoint pieces of time in order, each with one activity; the gaps are Python.

    Attributes:
        activity: index in :data:`ACTIVITIES`.
    """

    begin: Times
    end: Times
    activity: wire.Array

    def of(self, name: str) -> Intervals:
        """When the thread did one activity."""
        which = self.activity == ACTIVITIES.index(name)
        return Intervals(self.begin[which], self.end[which])


def pieces(timeline: Timeline, lines: list[Line]) -> Pieces:
    """The activities of one sequence of events, which may be spread over several threads.

    Everything within a compilation counts as compiling, and so does what a call does before its
    last compilation.
    """
    kinds = _kinds(timeline.events.names)
    waiting = _waiting(timeline.events.names)
    kinds[waiting] = ACTIVITIES.index("wait")
    known = [
        (line, np.flatnonzero(kinds[timeline.events.name[line.events]] >= 0)) for line in lines
    ]
    if len(waiting):
        known = [(line, _outside(timeline, line, which, waiting)) for line, which in known]
    computing = _computing(timeline, known)
    known = [
        (line, which[~on_host]) for (line, which), on_host in zip(known, computing, strict=True)
    ]
    begin, end = timeline.spans(known)
    kind = np.concatenate(
        [kinds[timeline.events.name[line.events][which]] for line, which in known]
    )
    if len(waiting):
        name = np.concatenate([timeline.events.name[line.events][which] for line, which in known])
        waits = np.flatnonzero(np.isin(name, waiting))
        kind[waits[_for_compiler(begin[waits], end[waits])]] = _COMPILE
    compiled = [calls_that_compiled(timeline, line) for line in lines]
    begin = np.concatenate([begin, *(since for since, _ in compiled)])
    end = np.concatenate([end, *(until for _, until in compiled)])
    kind = np.append(kind, np.full(len(begin) - len(kind), _COMPILE, np.int8))
    begin, end, kind = in_order(begin, end, kind)
    room = 2 * len(begin) + 1
    columns = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int8)
    count = _sweep(begin, end, kind, _COMPILE, *columns)
    return Pieces(*(column[:count] for column in columns))


def _waiting(names: list[str]) -> wire.Array:
    """The names of events that wait, whatever runs within them."""
    frontend = marked(names)
    if frontend is None:
        return np.empty(0, np.int64)
    pattern = re.compile(vocabulary(frontend).waiting)
    return np.flatnonzero([bool(pattern.fullmatch(name)) for name in names])


def _for_compiler(begin: Times, end: Times) -> wire.Array:
    """Which waits are for an executable that another thread compiles, as far as durations show:
    those that are far longer than any of the last ones, when all is compiled.
    """
    if len(begin) < 2 * _LAST_WAITS:
        return np.zeros(len(begin), bool)
    last = np.argsort(begin, kind="stable")[-(len(begin) // _LAST_WAITS) :]
    longest = int(np.max(end[last] - begin[last]))
    return np.asarray(end - begin > _LONGER * longest)


def _outside(timeline: Timeline, line: Line, which: wire.Array, waiting: wire.Array) -> wire.Array:
    """The events of a line that are not within one that waits."""
    waits = np.isin(timeline.events.name[line.events][which], waiting)
    begin, end = timeline.begins(line, which), timeline.ends(line, which)
    within = Intervals.union(begin[waits], end[waits])
    place = covering(within.begin, within.end, begin)
    inside = (place >= 0) & (end <= np.append(within.end, 0)[place])
    return which[waits | ~inside]


def _computing(timeline: Timeline, known: list[tuple[Line, wire.Array]]) -> list[wire.Array]:
    """Which events of each line are operators that compute on the host although it drives a device:
    they do not call the runtime, and take longer than a launch.
    """
    names = timeline.events.names
    nothing = [np.zeros(len(which), bool) for _, which in known]
    operator = timeline.beginning(*events("operator"))
    if not operator.any():
        return nothing
    call = timeline.choice(filter(of_known_runtime().fullmatch, names))
    calls = [np.sort(timeline.begins(line, timeline.chosen(line, call))) for line, _ in known]
    if not any(map(len, calls)):
        return nothing
    computing = []
    for (line, which), of_line in zip(known, calls, strict=True):
        begin, end = timeline.begins(line, which), timeline.ends(line, which)
        without = np.searchsorted(of_line, begin) == np.searchsorted(of_line, end)
        chosen = operator[timeline.events.name[line.events][which]]
        computing.append(chosen & without & (end - begin >= _LAUNCHING_NS))
    return computing


def activities(timeline: Timeline, lines: list[Line]) -> dict[str, Intervals]:
    """When the sequence did each activity in :data:`ACTIVITIES`; these times do not overlap."""
    if not lines:
        return {}
    sequence = pieces(timeline, lines)
    return {name: sequence.of(name) for name in ACTIVITIES}


def runtime_names(names: list[str]) -> wire.Array:
    """Which of these events are calls of the runtime, within which no code of the program runs."""
    return np.isin(_kinds(names), [ACTIVITIES.index(name) for name in _RUNTIME])


def input_names(names: list[str]) -> list[str]:
    """The events among these in which a thread waits for the next batch, or makes it."""
    kinds = _kinds(names)
    return [
        name for name, kind in zip(names, kinds, strict=True) if kind == ACTIVITIES.index("input")
    ]


def _kinds(names: list[str]) -> wire.Array:
    """The activity of each name, -1 for none."""
    patterns = [re.compile("|".join(_patterns(activity))) for activity in ACTIVITIES]

    def kind(name: str) -> int:
        fitting = (number for number, p in enumerate(patterns) if p.fullmatch(name))
        return next(fitting, -1)

    return np.array([kind(name) for name in names], np.int8)


def _patterns(activity: Activity) -> Iterator[str]:
    """The patterns for the events of an activity, of the runtime and of each frontend."""
    yield _EVENTS[activity]
    for frontend in vocabularies().values():
        if activity in frontend.activities:
            yield frontend.activities[activity]
