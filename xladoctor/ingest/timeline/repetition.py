"""Finds the steps of a loop without marks, by what its thread repeats.

A wrong division would be worse than none: a model's equal layers also repeat. So an iteration is
taken as a step only if everything that the thread does, from the first event to the last, is the
same sequence again and again, and if that contains something that layers do not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xladoctor.frontends.vocabulary import events, own_events, part_of, with_trait
from xladoctor.ingest.timeline.activity import input_names
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.devices import Device
from xladoctor.ingest.timeline.intervals import Intervals, Times, covering, outermost
from xladoctor.ingest.timeline.launches import launches_graph
from xladoctor.ingest.timeline.python_frames import is_frame
from xladoctor.ingest.timeline.steps import SPAN, Steps, repeated
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.space import Line

_TURNS = 3  # iterations; fewer prove nothing
_LITTLE, _WHOLE = 0.1, 0.9  # shares of the usual work on a batch
_COVERED = 0.5  # share of the sequence, if something comes before the first iteration
_APART = 0.5  # share of a function's calls with something in between that layers do not have
_CANDIDATES = 64  # lengths of an iteration that are tried
_RUNTIME = re.compile(r"(cuda|hip|cu|roc)[A-Z]\w*(: .*)?")
_LAUNCH = re.compile(r"(cuda|hip|cu)(?>\w*?Launch)\w*")
_OF_WARMUP = re.compile(r"(cuda|hip|cu)(GraphInstantiate|StreamBeginCapture|Malloc(?!Async))\w*")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class _Sequence:
    """What a thread does, in order: outermost operators, labels and launches.

    Attributes:
        begin, end: instants of each event.
        symbol: number of its name; labels that only differ in numbers are the same.
        telling: whether it is a label of the program, a call of a compiled function, or the launch
            of a recorded graph.
    """

    begin: Times
    end: Times
    symbol: wire.Ints
    telling: wire.Array

    @classmethod
    def of(cls, timeline: Timeline, line: Line) -> _Sequence:
        """The sequence of one thread, without labels that occur once or twice."""
        names = timeline.events.names
        labels = {name for name in timeline.space.labels or () if not own_events().fullmatch(name)}
        codes = _codes(names, labels)
        which = np.flatnonzero(codes[timeline.events.name[line.events]] >= 0)
        name = timeline.events.name[line.events][which]
        label = np.isin(names, list(labels))[name]
        many = np.bincount(codes[name], minlength=len(names)) >= _TURNS
        kept = ~label | many[codes[name]]
        which, name = which[kept], name[kept]
        begin, end = timeline.begins(line, which), timeline.ends(line, which)
        outer = outermost(begin, end)
        which, name = which[outer], name[outer]
        telling = np.array(
            [each in labels or bool(part_of(each)) or launches_graph(each) for each in names], bool
        )[name]
        symbol = _with_kernels(timeline, line.first + which, codes[name].astype(np.int64))
        return cls(begin[outer], end[outer], symbol, telling)


def _codes(names: list[str], labels: Iterable[str]) -> wire.Array:
    """The number of each name; -1 for names that do not belong to a sequence."""
    labels, first = set(labels), dict[str, int]()
    codes = np.full(len(names), -1, np.int64)
    for index, name in enumerate(names):
        if is_frame(name) or own_events().fullmatch(name):
            continue
        if _RUNTIME.fullmatch(name) and not _LAUNCH.fullmatch(name):
            continue
        shown = name.rpartition("/")[0] if part_of(name) else name
        shown = _NUMBER.sub("N", name) if name in labels and shown == name else shown
        codes[index] = first.setdefault(shown, index)
    return codes


def _with_kernels(timeline: Timeline, event: wire.Ints, symbol: wire.Ints) -> wire.Ints:
    """The symbols, with launches distinguished by what they launch first."""
    calls, works = timeline.space.joined(timeline.events)
    launched = np.full(len(timeline.events.name), -1, np.int64)
    launched[calls[::-1]] = timeline.events.name[works[::-1]]
    return symbol * (len(timeline.events.names) + 1) + launched[event] + 1


def repeated_steps(
    timeline: Timeline, lines: list[Line], doing: Mapping[str, Intervals], found: Steps | None
) -> Steps | None:
    """Steps by batches or repetition, if none were found otherwise; else the steps found.

    Steps ``found`` by calls of a compiled function are compared with both, as a compiled layer is
    called many times in one step. So are steps that the program numbers, if they are too few to
    show what recurs: some programs mark a whole epoch, or the run, as one.

    Args:
        lines: the threads of the loop, its own first.
        doing: when they did each activity.
        found: the steps found by marks or calls, if any.
    """
    by_calls = found is not None and part_of(found.each) is not None
    few = found is not None and found.counted and len(found.begin) < _TURNS
    if not lines or not timeline.space.joins_calls or (found and not by_calls and not few):
        return found
    batches = _by_batches(timeline, lines[0])
    if found is not None and few:
        inner = batches or _by_repetition(timeline, lines, doing)
        _, begin, end = timeline.outermost(lines[0], timeline.beginning(*events("update")))
        if inner and 0 < 2 * len(begin) <= len(inner.begin) + 1:  # gradients are accumulated
            inner = repeated(timeline, lines[0], begin, end, last=True)
        more = inner is not None and len(inner.begin) >= 2 * len(found.begin)
        return replace(inner, earlier=int(found.number[0])) if inner and more else found
    if found is None and batches:
        return batches
    turns = _by_repetition(timeline, lines, doing)
    if found is None:
        return turns
    fewer = next(
        (steps for steps in (batches, turns) if steps and 2 * len(steps.begin) <= len(found.begin)),
        None,
    )
    if fewer or batches or turns:
        return fewer or found
    apart = _each_has(_marks(timeline, lines, doing), found.begin, found.end)
    return found if np.mean(apart) >= _APART else None


def whole_span(timeline: Timeline, lines: list[Line], devices: Sequence[Device]) -> Steps | None:
    """One step for everything that the loop's thread and the devices did, if steps are unknown.

    What takes a large share of it does so whatever the steps are.
    """
    if not lines or not timeline.space.joins_calls:
        return None
    work = _Sequence.of(timeline, lines[0])
    if not len(work.begin):
        return None
    end = max(
        [
            int(work.end.max()),
            *(int(device.busy.end[-1]) for device in devices if len(device.busy.end)),
        ]
    )
    begin = int(work.begin.min())
    return Steps(SPAN, np.array([begin]), np.array([end]), np.arange(1))


def warming_up(
    timeline: Timeline, lines: list[Line], doing: Mapping[str, Intervals], steps: Steps
) -> wire.Array:
    """Which steps do what only first steps do: compile, record graphs, or allocate memory from the
    driver. How many steps came before the profile is unknown, as people warm up first.

    Once a step has done none of this, later steps that do have another reason. The same holds if
    all steps do it, and they are enough to show what recurs.
    """
    first = timeline.choice(name for name in timeline.events.names if _OF_WARMUP.fullmatch(name))
    calls = [timeline.begins(line, timeline.chosen(line, first)) for line in lines]
    instants = np.sort(np.concatenate([*calls, np.empty(0, np.int64)]))
    has = _each_has(instants, steps.begin, steps.end)
    if "compile" in doing:
        has |= doing["compile"].covered(steps.begin, steps.end) > 0
    if len(has) < _TURNS:
        return has
    leading: wire.Array = np.logical_and.accumulate(has)
    return leading & ~leading.all()


def _by_batches(timeline: Timeline, main: Line) -> Steps | None:
    """Steps from one batch to the next, of the loader that is used most often.

    The time between the last batch of an epoch and the first of the next is not a step. The time
    after the last batch is one if about as much is done in it as with others.
    """
    inputs = timeline.choice(input_names(timeline.events.names))
    which, begin, _ = timeline.outermost(main, inputs)
    name = timeline.events.name[main.events][which]
    if not len(name):
        return None
    turns = np.sort(begin[name == np.bincount(name).argmax()])
    if len(turns) < _TURNS:
        return None
    work = _Sequence.of(timeline, main)
    waits = timeline.during([main], inputs)
    worked = np.sort(work.begin[covering(waits.begin, waits.end, work.begin) < 0])
    instants = np.append(turns, max(turns[-1], work.end.max(initial=0)))
    amount = np.diff(np.searchsorted(worked, instants))
    usual = np.median(amount[:-1])
    kept = amount > _LITTLE * usual  # false between two epochs
    kept[-1] = amount[-1] >= _WHOLE * usual
    if np.count_nonzero(kept) < _TURNS:
        return None
    return Steps(
        "batches", instants[:-1][kept], instants[1:][kept], np.arange(kept.sum()), each="one batch"
    )


def _by_repetition(
    timeline: Timeline, lines: list[Line], doing: Mapping[str, Intervals]
) -> Steps | None:
    """Steps from each iteration of a repeating sequence to the next.

    If iterations are recognised by the thread's waits, uploads or backward passes, something else
    may come before the first; if by labels or recorded graphs, nothing may.
    """
    sequence = _Sequence.of(timeline, lines[0])
    found = _turns(sequence.symbol)
    if found is None:
        return None
    first, length = found
    place = np.arange(first, len(sequence.symbol) + 1, length)
    marks = _marks(timeline, lines, doing)
    last = int(np.append(marks[-1:] + 1, sequence.end.max()).max())
    instants = np.append(sequence.begin, last)[place]
    begin, end = instants[:-1], instants[1:]
    proven = _each_has(marks, begin, end).all()
    repeated = _each_has(sequence.begin[sequence.telling], begin, end).all() and not first
    if not proven and not repeated:
        return None
    names = timeline.events.names
    one = names[int(sequence.symbol[first]) // (len(names) + 1)]
    if length > 1:
        one = f"one repetition of {length} operators, labels and launches, the first {one},"
    return Steps("repetition", begin, end, np.arange(len(begin)), each=one)


def _turns(symbol: wire.Ints) -> tuple[int, int] | None:
    """The start of the first iteration and its length, if the sequence repeats to its end."""
    if len(symbol) < _TURNS:
        return None
    ending = symbol[len(symbol) // 2 :]
    which, count = np.unique(ending, return_counts=True)
    rarest = np.flatnonzero(symbol == which[np.argmin(np.where(count > 1, count, len(symbol)))])
    for length in (rarest[-1] - rarest[-2 : -_CANDIDATES - 2 : -1]).tolist():
        different = np.flatnonzero(symbol[:-length] != symbol[length:])
        first = int(different[-1]) + 1 if len(different) else 0
        turns = (len(symbol) - first) // length
        if turns >= _TURNS and len(symbol) - first >= _COVERED * len(symbol):
            return first, length
    return None


def _marks(timeline: Timeline, lines: list[Line], doing: Mapping[str, Intervals]) -> Times:
    """When the loop read, waited, uploaded, fetched a batch, or ran part of a backward pass."""
    reads = with_trait("reads_scalar")
    chosen = timeline.beginning(*events("backward")) | timeline.choice(reads)
    passes, _ = timeline.spans((line, timeline.chosen(line, chosen)) for line in lines)
    others = [doing[name].begin for name in ("wait", "upload", "input") if name in doing]
    return np.sort(np.concatenate([passes, *others]))


def _each_has(instants: Times, begin: Times, end: Times) -> wire.Array:
    """Which of these spans contain one of the instants, which are sorted."""
    has: wire.Array = np.searchsorted(instants, end) > np.searchsorted(instants, begin)
    return has
