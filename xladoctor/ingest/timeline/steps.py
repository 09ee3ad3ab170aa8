"""The thread that ran the loop, and its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from xladoctor.frontends.vocabulary import events, part_of
from xladoctor.ingest.timeline.clock import Timeline, kind_of
from xladoctor.ingest.timeline.compiling import program_of
from xladoctor.ingest.timeline.devices import Device
from xladoctor.ingest.timeline.intervals import Intervals, Times
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.space import Line

#: What the capture marks the end of a step by, with the step's number in the log behind it.
MARK = "xladoctor.step#"
#: How the names of XLA's own events that launch a program begin.
_RUNTIME = ("PjRtCpuExecutable::Execute", "TfrtCpuExecutable::Execute")
_REPEATED = 3
_LITTLE = 0.1  # of the events of a step
_WHOLE = 0.9  # of the events of a turn, in what came before the first call and after the last
#: Source of the step that all of a timeline is taken for where nothing tells steps apart.
SPAN = "span"


@dataclass(frozen=True, slots=True)
class Steps:
    """Disjoint steps in order, in nanoseconds.

    Attributes:
        source: StepMarker, StepTrace, ProfilerStep, Steps, executions, batches or repetition: what
            marked them; the capture's own marks; span: nothing, and all is taken as one.
        barriers: whether they go from barrier to barrier.
        number: the program's own, else counted from 0.
        counted: whether the program's own numbers are those of its steps, from 0.
        logged: whether they are those of the step log.
        each: what they go from and to, where nothing marks steps.
        earlier: how many the program made before the first, as far as is known, where ``number``
            does not say.
        warming_up: which do what only first ones do.
    """

    source: str
    begin: Times
    end: Times
    number: Times
    barriers: bool = False
    counted: bool = False
    logged: bool = False
    each: str = ""
    earlier: int = 0
    warming_up: wire.Array = field(default_factory=lambda: np.zeros(1, bool))

    @property
    def before(self) -> Times:
        """How many steps the program made before each, as far as is known.

        Of several the first may have the profiler's start in it, and counts as the program's first.
        """
        place = np.arange(len(self.end))
        own = self.counted & ((place > 0) | (len(place) == 1))
        earlier = self.earlier * ((place > 0) | (len(place) == 1))
        return np.where(own, np.maximum(self.number, place), place + earlier)


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
    lines = [
        line for plane in timeline.hosts for line in plane.lines if line is not main and line.count
    ]
    if any(len(timeline.named(line, *events("barrier"))) for line in lines):
        return [main]
    backward = timeline.choice(
        name for name in timeline.events.names if name.startswith(events("backward"))
    )
    return [
        main,
        *(
            line
            for line in lines
            if len(timeline.named(line, *events("graph"))) or len(timeline.chosen(line, backward))
        ),
    ]


def find_steps(
    timeline: Timeline,
    main: Line | None,
    compiling: Intervals | None,
    devices: Sequence[Device],
    *,
    to_the_end: bool = True,
) -> Steps | None:
    """Steps by markers, annotations, the device's own line or repeated executions, if any.

    Args:
        compiling: when the loop's thread compiled.
        to_the_end: whether the last step can be whole: a window of the capture may end within it.
    """
    return (
        (_by_markers(timeline, main) or _by_annotations(timeline, main) if main else None)
        or _by_device(timeline)
        or (
            _by_executions(timeline, main, compiling, devices, to_the_end=to_the_end)
            if main and compiling
            else None
        )
        or _by_modules(timeline, to_the_end=to_the_end)
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
    marks = np.array([name.startswith(MARK) for name in timeline.events.names], bool)
    if (captured := marks[timeline.events.name[rows.event]]).any():  # beside the program's own
        rows = rows.select(captured)
    if not len(rows.event):
        return None
    which = rows.event - main.first
    begins, ends = timeline.begins(main, which), timeline.ends(main, which)
    outer = outermost(begins, ends)
    names = (timeline.events.names[code] for code in np.unique(timeline.events.name[rows.event]))
    marker = next((mark for name in names for mark in events("step") if name.startswith(mark)), "")
    steps = _until(ends[outer], int(begins.min()), rows.value[outer], "StepTrace")
    if marker == MARK:
        return _after_first(steps)
    steps = _without_empty(timeline, main, steps)
    return replace(steps, source=marker.strip("#"), counted=True) if marker else steps


def _without_empty(timeline: Timeline, main: Line, steps: Steps) -> Steps:
    """Without a last step in which next to nothing is done: profilers begin one when another ends,
    and the program may have no more.
    """
    labels = timeline.choice(timeline.space.labels or ())
    work = np.flatnonzero(~labels[timeline.events.name[main.events]])
    begins = np.sort(timeline.begins(main, work))
    done = np.searchsorted(begins, steps.end) - np.searchsorted(begins, steps.begin)
    if len(done) < 2 or done[-1] >= _LITTLE * done[:-1].min():
        return steps
    return replace(steps, begin=steps.begin[:-1], end=steps.end[:-1], number=steps.number[:-1])


def _after_first(steps: Steps) -> Steps | None:
    """The first mark of the capture's ends a step that the timeline may not have from its begin."""
    if len(steps.end) < 2:
        return None
    return Steps(
        MARK.strip("#"), steps.begin[1:], steps.end[1:], steps.number[1:], counted=True, logged=True
    )


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


def _by_executions(
    timeline: Timeline,
    main: Line,
    compiling: Intervals,
    devices: Sequence[Device],
    *,
    to_the_end: bool,
) -> Steps | None:
    """From launch to launch of the program that takes the most time.

    On the devices, where these name the program; else in its launches. A launch that compiled tells
    nothing of how long the program takes, and what is launched within another is a part of it:
    where functions are traced, those that it calls, and itself once more.
    """
    begins, ends, names = launched(timeline, main)
    names = _versions(timeline.events.names)[names]
    steady = np.where(compiling.covered(begins, ends) > 0, 0, ends - begins)
    worked = _worked(devices)

    def rank(name: int) -> tuple[int, ...]:
        own = names == name
        program = program_of(timeline.events.names[name])
        return worked[program], int(steady[own].sum()), int((ends - begins)[own].sum())

    count = Counter(names.tolist())
    often = [name for name in count if count[name] >= _REPEATED]
    if not often:
        return None
    longest = max(often, key=rank)
    updates = [name for name in often if timeline.events.names[name].startswith(events("update"))]
    # an update ends a step, whatever that calls several times
    chosen = min([longest, *updates], key=lambda name: count[name])
    own = names == chosen
    steps = repeated(
        timeline, main, begins[own], ends[own], chosen in updates, to_the_end=to_the_end
    )
    return steps and replace(steps, each=timeline.events.names[chosen])


def _versions(names: list[str]) -> wire.Array:
    """For each name the first of all versions of a compiled function."""
    first: dict[str, int] = {}
    return np.array(
        [
            first.setdefault(name.rpartition("/")[0] if part_of(name) else name, index)
            for index, name in enumerate(names)
        ],
        np.int64,
    )


def _worked(devices: Sequence[Device]) -> Counter[str]:
    """How long the devices worked for each program."""
    worked: Counter[str] = Counter()
    for device in devices:
        for module, own in zip(device.ops["hlo_module"], device.ops["self_ns"], strict=True):
            worked[program_of(module or "")] += own
    return worked


def launched(timeline: Timeline, line: Line) -> tuple[Times, Times, wire.Array]:
    """Begin, end and name's index of a thread's launches that lie in no other, in order."""
    which = timeline.chosen(line, timeline.choice(executions(timeline)))
    begins, ends = timeline.begins(line, which), timeline.ends(line, which)
    outer = outermost(begins, ends)
    return begins[outer], ends[outer], timeline.events.name[line.events][which[outer]]


def outermost(begin: Times, end: Times) -> wire.Array:
    """Which of these spans lie in none of the others, in order of time; of equal ones the first."""
    order = np.lexsort((-end, begin))
    reached = np.maximum.accumulate(end[order])
    return order[np.concatenate((order[:1] >= 0, end[order][1:] > reached[:-1]))]


def _by_modules(timeline: Timeline, *, to_the_end: bool) -> Steps | None:
    """The same on a device, for the module that takes most of its time."""
    for plane in timeline.space.planes:
        for line in plane.lines:
            if line.name == "XLA Modules" and line.count:
                names = timeline.events.name[line.events]
                lasted = np.bincount(names, timeline.events.duration_ps[line.events])
                which = np.flatnonzero(names == lasted.argmax())
                begins, ends = timeline.begins(line, which), timeline.ends(line, which)
                return repeated(timeline, line, begins, ends, to_the_end=to_the_end)
    return None


def repeated(
    timeline: Timeline,
    line: Line,
    begins: Times,
    ends: Times,
    last: bool = False,
    *,
    to_the_end: bool = True,
) -> Steps | None:
    """Steps of a thread by what it does once in each, if that is enough to show what recurs.

    They go from one of these events to the next, or, if it comes ``last`` in a step, from end to
    end. What is before the first and after the last is a step if it is as much as a whole one, at
    most as long as the longest: what the program does after its loop is none.
    """
    if len(begins) < _REPEATED:
        return None
    begins, ends = np.sort(begins), np.sort(ends)
    first, until = timeline.begins(line), timeline.ends(line)
    place = np.searchsorted(np.sort(first), begins)
    around = len(first) - int(place[-1]) + int(place[0])
    whole = to_the_end and around >= _WHOLE * np.diff(place).min()
    if last:
        instants = np.append(first.min(), ends)[not whole :]
    else:
        end = min(int(until.max()), int(begins[-1] + np.diff(begins).max()))
        instants = np.append(begins, end)[: len(begins) + whole]
    return Steps("executions", instants[:-1], instants[1:], np.arange(len(instants) - 1))


def _until(ends: Times, begin: int, numbers: Times, source: str) -> Steps:
    """Steps that end at these instants, each beginning where the one before ended."""
    starts = np.concatenate(([min(begin, int(ends[0]))], ends[:-1])).astype(np.int64)
    return Steps(source, starts, ends, numbers)


def executions(timeline: Timeline) -> list[str]:
    """Names of the events in which a program is launched."""
    beginnings = (*_RUNTIME, *events("execution"))
    return [name for name in timeline.events.names if name.startswith(beginnings)]
