"""Finds the thread that ran the loop, and its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from xladoctor.frontends.vocabulary import FIRST_PHASE, events, part_of, phase_of
from xladoctor.ingest.timeline.clock import Timeline, kind_of
from xladoctor.ingest.timeline.compiling import program_of
from xladoctor.ingest.timeline.devices import Device
from xladoctor.ingest.timeline.intervals import Intervals, Times, covering, outermost
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.space import Line
from xladoctor.quantities import whole_number

#: The capture's mark at the end of a step, followed by the step's number in the log.
MARK = "xladoctor.step#"
#: Prefixes of the names of XLA's own events that launch a program.
_RUNTIME = ("PjRtCpuExecutable::Execute", "TfrtCpuExecutable::Execute")
_REPEATED = 3
_LITTLE = 0.1  # share of the events of a step
_WHOLE = 0.9  # share of an iteration's events, before the first call and after the last
#: Source of the one step that stands for a whole timeline, if steps are unknown.
SPAN = "span"


@dataclass(frozen=True, slots=True)
class Steps:
    """Disjoint steps in order, in nanoseconds.

    Attributes:
        source: StepMarker, StepTrace, ProfilerStep, Steps, executions, batches or repetition: what
            marked them; the capture's own marks; or span: nothing, and all is taken as one.
        barriers: whether they go from barrier to barrier.
        number: the program's own numbers, else counted from 0.
        counted: whether the program's own numbers count its steps from 0.
        logged: whether they are the step log's numbers.
        each: what steps go from and to, if nothing marks them.
        earlier: how many steps the program made before the first, as far as is known, if
            ``number`` does not show it.
        warming_up: which steps do what only first steps do.
        joined: which have a row in the step log, whose number is then theirs.
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
    joined: wire.Array = field(default_factory=lambda: np.zeros(1, bool))

    @property
    def before(self) -> Times:
        """How many steps the program made before each, as far as is known.

        The first of several may include the profiler's start, and counts as the program's first.
        """
        place = np.arange(len(self.end))
        own = self.counted & ((place > 0) | (len(place) == 1))
        earlier = self.earlier * ((place > 0) | (len(place) == 1))
        return np.where(own, np.maximum(self.number, place), place + earlier)


def step_of(steps: Steps | None, instants: Times) -> Times:
    """The number of the step at each instant; -1 for none."""
    if steps is None:
        return np.full(len(instants), -1, np.int64)
    return np.append(steps.number, -1)[covering(steps.begin, steps.end, instants)]


def main_line(timeline: Timeline) -> Line | None:
    """The thread that ran the loop: the one with the most step markers, annotations or launches."""
    if not timeline.threads:
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

    return max(timeline.threads, key=rank)


def loop_lines(timeline: Timeline, main: Line | None) -> list[Line]:
    """The loop's thread, and autograd's, which cuts graphs but sets no marker.

    If several threads make steps, it is unknown which backward pass belongs to which: then only the
    loop's thread counts.
    """
    if main is None:
        return []
    lines = [line for line in timeline.threads if line is not main]
    if any(len(timeline.named(line, *events("barrier"))) for line in lines):
        return [main]
    backward = timeline.beginning(*events("backward"))
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
        main: the loop's thread.
        compiling: when the loop's thread compiled.
        to_the_end: whether the last step can be complete; a capture's window may end within it.
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
    """Steps from barrier to barrier; a barrier that launches nothing does not end a step, unless
    most come after reads that launched all there was.
    """
    which = timeline.named(main, *events("barrier"))
    which = which[np.argsort(timeline.ends(main, which), kind="stable")]
    ends = timeline.ends(main, which)
    launches = np.sort(timeline.begins(main, timeline.named(main, *events("launch"))))
    if len(launches):
        begins = timeline.begins(main, which)
        until = np.searchsorted(launches, ends)
        inside = until > np.searchsorted(launches, begins)
        since = np.diff(until, prepend=0) > 0
        ends = ends[since if 2 * inside.sum() < since.sum() else inside]
    if not len(ends):
        return None
    marker = timeline.events.names[timeline.events.name[main.events][which[0]]]
    return replace(_until(ends, timeline.begin, np.arange(len(ends)), marker), barriers=True)


def _by_annotations(timeline: Timeline, main: Line) -> Steps | None:
    """Steps by events with a stat ``step_num``, such as profilers' step annotations.

    The time between two of them, such as fetching a batch, belongs to the later one.
    """
    rows = timeline.events.rows_of("step_num")
    own = (rows.event >= main.first) & (rows.event < main.events.stop)
    rows = rows.select(own)
    captured = timeline.beginning(MARK)[timeline.events.name[rows.event]]
    if captured.any():  # with the program's own
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
    """The steps without a nearly empty last one: profilers begin a step when another ends, even if
    the program has no more.
    """
    labels = timeline.choice(timeline.space.labels or ())
    work = np.flatnonzero(~labels[timeline.events.name[main.events]])
    begins = np.sort(timeline.begins(main, work))
    done = np.searchsorted(begins, steps.end) - np.searchsorted(begins, steps.begin)
    if len(done) < 2 or done[-1] >= _LITTLE * done[:-1].min():
        return steps
    return replace(steps, begin=steps.begin[:-1], end=steps.end[:-1], number=steps.number[:-1])


def _after_first(steps: Steps) -> Steps | None:
    """The steps without the first: the capture's first mark ends a step that may be incomplete."""
    if len(steps.end) < 2:
        return None
    return Steps(
        MARK.strip("#"), steps.begin[1:], steps.end[1:], steps.number[1:], counted=True, logged=True
    )


def _by_device(timeline: Timeline) -> Steps | None:
    """Steps by a device's line ``Steps``, whose events are named after the step's number."""
    for plane in timeline.space.planes:
        for line in plane.lines:
            if line.name == "Steps" and kind_of(plane.name) == "device" and line.count:
                begins, ends = timeline.begins(line), timeline.ends(line)
                names = [timeline.events.names[i] for i in timeline.events.name[line.events]]
                known = [whole_number(name) for name in names]
                numbers = [i if number is None else number for i, number in enumerate(known)]
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
    """Steps from launch to launch of the program that takes the most time.

    The time is measured on devices, if they name the program; else in its launches. A launch that
    compiled does not show how long the program takes. A launch within another is part of it: when a
    function is traced, it contains the functions that it calls, and itself once more.
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
    # an optimizer's update ends a step, whatever the step calls several times
    chosen = min([longest, *updates], key=lambda name: count[name])
    own = names == chosen
    steps = repeated(
        timeline, main, begins[own], ends[own], chosen in updates, to_the_end=to_the_end
    )
    name = timeline.events.names[chosen]
    if steps and part_of(name):
        steps = _from_compilation(timeline, main, steps)
    return steps and replace(steps, each=name)


def _from_compilation(timeline: Timeline, main: Line, steps: Steps) -> Steps:
    """The steps, the first from the compilation of what it calls, if that comes before the call."""
    names = timeline.events.names
    compiles = timeline.choice(name for name in names if phase_of(name) == FIRST_PHASE)
    _, begins, ends = timeline.outermost(main, compiles)
    last = int(np.searchsorted(ends, steps.begin[0], side="right")) - 1
    if last < 0 or steps.begin[0] - ends[last] > ends[last] - begins[last]:  # or something between
        return steps
    return replace(steps, begin=np.append(begins[last], steps.begin[1:]))


def _versions(names: list[str]) -> wire.Array:
    """For each name, the index of the first version of the same compiled function."""
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
    """Begin, end and name's index of a thread's outermost launches, in order."""
    which, begins, ends = timeline.outermost(line, timeline.choice(executions(timeline)))
    return begins, ends, timeline.events.name[line.events][which]


def _by_modules(timeline: Timeline, *, to_the_end: bool) -> Steps | None:
    """Steps from run to run, on a device, of the module that takes most of its time."""
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
    """Steps of a thread by an event that occurs once in each, if there are enough of them.

    Steps go from one of these events to the next or, if the event is ``last`` in a step, from end
    to end. What is before the first and after the last is a step if it has about as many events as
    a whole one and is not longer than the longest: what follows the loop is not a step.
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
    """Steps that end at these instants, each beginning where the previous one ended."""
    starts = np.concatenate(([min(begin, int(ends[0]))], ends[:-1])).astype(np.int64)
    return Steps(source, starts, ends, numbers)


def executions(timeline: Timeline) -> list[str]:
    """The names of the events that launch a program."""
    beginnings = (*_RUNTIME, *events("execution"))
    return [name for name in timeline.events.names if name.startswith(beginnings)]
