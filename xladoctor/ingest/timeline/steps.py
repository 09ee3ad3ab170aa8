"""The thread that ran the loop, and its steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from xladoctor.frontends.vocabulary import events
from xladoctor.ingest.timeline.clock import Timeline, kind_of
from xladoctor.ingest.timeline.intervals import Times
from xladoctor.ingest.xplane.space import Line

#: How the names of XLA's own events that launch a program begin.
_RUNTIME = ("PjRtCpuExecutable::Execute", "TfrtCpuExecutable::Execute")
_REPEATED = 3


@dataclass(frozen=True, slots=True)
class Steps:
    """Disjoint steps in order, in nanoseconds.

    Attributes:
        source: StepMarker, StepTrace, Steps or executions: what marked them.
        barriers: whether they go from barrier to barrier.
        number: the program's own, else counted from 0.
    """

    source: str
    begin: Times
    end: Times
    number: Times
    barriers: bool = False


def main_line(timeline: Timeline) -> Line | None:
    """The thread that ran the loop: the one with the most step markers, annotations or launches."""
    lines = [line for plane in timeline.hosts for line in plane.lines if line.count]
    if not lines:
        return None
    annotated = timeline.events.rows_of("step_num").event
    barriers, executed = timeline.choice(events("barrier")), timeline.choice(executions(timeline))

    def rank(line: Line) -> tuple[int, ...]:
        steps = np.count_nonzero((annotated >= line.first) & (annotated < line.events.stop))
        launches = len(timeline.chosen(line, executed))
        named = line.name in ("python", "python3", "main")
        return (
            len(timeline.chosen(line, barriers)),
            int(steps),
            named * launches,
            named,
            launches,
        )

    return max(lines, key=rank)


def loop_lines(timeline: Timeline, main: Line | None) -> list[Line]:
    """The loop's thread, and autograd's, which cuts graphs but sets no marker.

    If several threads step, whose backward pass a thread runs is unknown: only the loop's counts.
    """
    if main is None:
        return []
    lines = [line for plane in timeline.hosts for line in plane.lines
             if line is not main and line.count]  # fmt: skip
    if any(len(timeline.named(line, *events("barrier"))) for line in lines):
        return [main]
    return [main, *(line for line in lines if len(timeline.named(line, *events("graph"))))]


def find_steps(timeline: Timeline, main: Line | None) -> Steps | None:
    """Steps by markers, annotations, the TPU's own line or repeated executions, if any."""
    return (
        (_by_markers(timeline, main) or _by_annotations(timeline, main) if main else None)
        or _by_device(timeline)
        or (_by_executions(timeline, main) if main else None)
        or _by_modules(timeline)
    )


def _by_markers(timeline: Timeline, main: Line) -> Steps | None:
    """From barrier to barrier; a barrier that launches nothing ends no step."""
    which = timeline.named(main, *events("barrier"))
    which = which[np.argsort(timeline.ends(main, which), kind="stable")]
    ends = timeline.ends(main, which)
    launches = np.sort(timeline.begins(main, timeline.named(main, *events("launch"))))
    if len(launches):
        begins = timeline.begins(main, which)
        inside = np.searchsorted(launches, ends) > np.searchsorted(launches, begins)
        ends = ends[inside]
    if not len(ends):
        return None
    marker = timeline.events.names[timeline.events.name[main.events][which[0]]]
    return replace(_until(ends, timeline.begin, np.arange(len(ends)), marker), barriers=True)


def _by_annotations(timeline: Timeline, main: Line) -> Steps | None:
    """Events with a stat ``step_num``, as profilers' step annotations have.

    What lies between two of them, such as fetching a batch, belongs to the later one.
    """
    rows = timeline.events.rows_of("step_num")
    own = (rows.event >= main.first) & (rows.event < main.events.stop)
    rows = rows.select(own)
    if not len(rows.event):
        return None
    which = rows.event - main.first
    begins, ends = timeline.begins(main, which), timeline.ends(main, which)
    order = np.lexsort((-ends, begins))
    begins, ends, numbers = begins[order], ends[order], rows.value[order]
    outer = ends > np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(ends)[:-1]))
    return _until(ends[outer], int(begins[0]), numbers[outer], "StepTrace")


def _by_device(timeline: Timeline) -> Steps | None:
    """The line ``Steps`` of a device, whose events are named by the step's number."""
    for plane in timeline.space.planes:
        for line in plane.lines:
            if line.name == "Steps" and kind_of(plane.name) == "device" and line.count:
                begins, ends = timeline.begins(line), timeline.ends(line)
                names = [timeline.events.names[i] for i in timeline.events.name[line.events]]
                numbers = [int(n) if n.isdigit() else i for i, n in enumerate(names)]
                order = np.argsort(begins, kind="stable")
                begins, ends = begins[order], np.maximum.accumulate(ends[order])
                ends[:-1] = np.minimum(ends[:-1], begins[1:])
                return Steps("Steps", begins, ends, np.array(numbers, np.int64)[order])
    return None


def _by_executions(timeline: Timeline, main: Line) -> Steps | None:
    """From launch to launch of the program that takes the most time."""
    best: Times = np.empty(0, np.int64)
    longest = 0
    for name in executions(timeline):
        which = timeline.named(main, name)
        lasted = int((timeline.ends(main, which) - timeline.begins(main, which)).sum())
        if len(which) >= _REPEATED and lasted > longest:
            best, longest = timeline.begins(main, which), lasted
    return _between(best)


def _by_modules(timeline: Timeline) -> Steps | None:
    """The same on a device, for the module that takes most of its time."""
    for plane in timeline.space.planes:
        for line in plane.lines:
            if line.name == "XLA Modules" and line.count:
                names = timeline.events.name[line.events]
                lasted = np.bincount(names, timeline.events.duration_ps[line.events])
                which = np.flatnonzero(names == lasted.argmax())
                return _between(timeline.begins(line, which))
    return None


def _between(begins: Times) -> Steps | None:
    begins = np.sort(begins)
    if len(begins) < _REPEATED:
        return None
    return Steps("executions", begins[:-1], begins[1:], np.arange(len(begins) - 1))


def _until(ends: Times, begin: int, numbers: Times, source: str) -> Steps:
    """Steps that end at these instants, each beginning where the one before ended."""
    starts = np.concatenate(([min(begin, int(ends[0]))], ends[:-1])).astype(np.int64)
    return Steps(source, starts, ends, numbers)


def executions(timeline: Timeline) -> list[str]:
    """Names of the events in which a program is launched."""
    beginnings = (*_RUNTIME, *events("execution"))
    return [name for name in timeline.events.names if name.startswith(beginnings)]
