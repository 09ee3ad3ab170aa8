"""Finds when the graphs ran that the loop's threads launched.

Sources, the most reliable first: calls joined with the work that they led to; the run numbers of
operations; a device's own line of modules; else when the device was busy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xladoctor.frontends.vocabulary import events
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.compiling import calls_that_compiled, program_of
from xladoctor.ingest.timeline.devices import Device
from xladoctor.ingest.timeline.intervals import NEVER, Intervals, Times
from xladoctor.ingest.timeline.steps import executions, launched
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.space import Line

_PAUSE_NS = 1_000_000  # after the last launch: what follows belongs to no known launch


def launched_runs(timeline: Timeline, lines: list[Line], device: Device) -> tuple[Times, Intervals]:
    """When these threads had launched each graph, in order, and when the device ran it."""
    handed, runs = _joined(timeline, lines)
    if len(handed):
        return handed, runs
    calls, started = _launches(timeline, lines)
    if not len(calls):
        return calls, runs
    return calls, _numbered(timeline, calls) or _executions(device, started)


def _joined(timeline: Timeline, lines: list[Line]) -> tuple[Times, Intervals]:
    """When these threads had launched work, in order, and when it ran, if calls are joined."""
    calls, works = timeline.space.joined(timeline.events)
    own = np.zeros(len(timeline.events.name), np.bool_)
    for line in lines:
        own[line.events] = True
    calls, works = calls[own[calls]], works[own[calls]]
    begins, ends = _instants(timeline, np.concatenate((calls, works)))
    handed, call = np.unique(ends[: len(calls)], return_inverse=True)
    begin, end = np.full(len(handed), NEVER), np.zeros(len(handed), np.int64)
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
    """When the host had launched each graph, and when the runtime started on it.

    From the frontend's own event, else from the runtime's.
    """
    calls = executions(timeline)
    requested, handed, _ = outermost_events(timeline, lines, events("launch"))
    if not len(handed):
        called, _, _ = outermost_events(timeline, lines, calls)
        handed = np.unique(_when_compiled(timeline, lines, called))
        return handed, handed
    called = np.sort(outermost_events(timeline, timeline.threads, calls)[0])
    first = np.append(called, NEVER)[np.searchsorted(called, requested)]
    started = np.where(first < np.append(requested[1:], NEVER), first, requested)
    other = np.diff(handed, prepend=-1) > 0
    return handed[other], started[other]


def _when_compiled(timeline: Timeline, lines: list[Line], called: Times) -> Times:
    """The instants of calls; for a call that compiled first, the end of compiling."""
    compiled = [calls_that_compiled(timeline, line) for line in lines]
    since, until = (np.concatenate(part) for part in zip(*compiled, strict=True))
    at = np.searchsorted(called, since)
    same = np.append(called, -1)[at] == since
    requested = called.copy()
    requested[at[same]] = until[same]
    return requested


def _numbered(timeline: Timeline, calls: Times) -> Intervals | None:
    """When each call's graph ran, if operations have run numbers.

    The runs of a program are in the order of its calls, however far ahead the host is, and none
    begins before its call. So the first call's run is the earliest one for which that holds for all
    calls. Runs and calls without a program's name are matched with each other. If the host was
    ahead when the timeline ended, the remaining runs are assumed to take the usual time.
    """
    programs, runs = _runs(timeline)
    requested, called = _called(timeline)
    numbered = np.isin(calls, requested)
    if not len(programs) or not np.any(numbered):
        return None
    known = np.intersect1d(programs, called)
    programs, called = (np.where(np.isin(names, known), names, -1) for names in (programs, called))
    alone = _in_turn(runs)
    begin, end, left = requested.copy(), requested.copy(), np.zeros(len(requested), np.int64)
    for program in np.unique(called).tolist():
        mine, own = np.flatnonzero(programs == program), np.flatnonzero(called == program)
        place = np.arange(len(own))
        place += max(0, int((np.searchsorted(runs.begin[mine], requested[own]) - place).max()))
        ran = place < len(mine)
        begin[own[ran]], end[own[ran]] = alone.begin[mine[place[ran]]], alone.end[mine[place[ran]]]
        if len(mine):
            left[own[~ran]] = np.median((alone.end - alone.begin)[mine])
    behind = left > 0
    free = np.maximum.accumulate(np.where(behind, requested, end))[behind]
    begin[behind], end[behind] = _queued(free, left[behind])
    at = np.minimum(np.searchsorted(requested, calls), len(requested) - 1)
    return Intervals(np.where(numbered, begin[at], calls), np.where(numbered, end[at], calls))


def _queued(free: Times, duration: Times) -> tuple[Times, Times]:
    """Begin and end of tasks that run one after another, each once the device is free."""
    done = np.cumsum(duration)
    end = np.maximum.accumulate(free - (done - duration)) + done
    return end - duration, end


def _called(timeline: Timeline) -> tuple[Times, Times]:
    """When any thread called a compiled function, in order, and the index of the program's name."""
    requested, called = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for line in timeline.threads:
        begin, _, name = launched(timeline, line)
        requested.append(_when_compiled(timeline, [line], begin))
        called.append(_programs(timeline, name))
    order = np.argsort(np.concatenate(requested), kind="stable")
    return np.concatenate(requested)[order], np.concatenate(called)[order]


def _programs(timeline: Timeline, names: wire.Array) -> Times:
    """For each name of a call or module, the index of the program's own name."""
    known, where = np.unique(names, return_inverse=True)
    texts = [program_of(timeline.events.names[name]) for name in known.tolist()]
    return np.array([timeline.events.add_name(text) for text in texts], np.int64)[where]


def _runs(timeline: Timeline) -> tuple[Times, Intervals]:
    """The program and time of each run, from operations with its number, in order of time.

    The wait for its completion has the number too, but not the program.
    """
    numbers = timeline.events.rows_of("run_id")
    modules = timeline.events.rows_of("hlo_module")
    module = matched(numbers.event, modules.event, timeline.events.interned(modules))
    begin, end = _instants(timeline, numbers.event)
    of = module >= 0
    keys, run = np.unique(np.stack((module[of], numbers.value[of])), axis=1, return_inverse=True)
    runs = Intervals(np.full(keys.shape[1], NEVER), np.zeros(keys.shape[1], np.int64))
    np.minimum.at(runs.begin, run, begin[of])
    np.maximum.at(runs.end, run, end[of])
    order = np.argsort(keys[1], kind="stable")
    at = np.searchsorted(keys[1][order], numbers.value[~of])
    same = np.append(keys[1][order], -1)[at] == numbers.value[~of]
    np.maximum.at(runs.end, order[at[same]], end[~of][same])
    order = np.argsort(runs.begin, kind="stable")
    programs = _programs(timeline, keys[0][order])
    return programs, Intervals(runs.begin[order], runs.end[order])


def _in_turn(runs: Intervals) -> Intervals:
    """The runs without overlaps, as on a device that runs one after another.

    The CPU client's threads may run several at once: time then belongs to the run that began first.
    """
    reached = np.maximum.accumulate(np.append(0, runs.end))[:-1]
    return Intervals(np.minimum(np.maximum(runs.begin, reached), runs.end), runs.end)


def _executions(device: Device, started: Times) -> Intervals:
    """When each launched graph ran; one without any events gets no time, at its launch."""
    modules = device.modules
    early = int(np.searchsorted(modules.begin, started[0]))
    if len(modules.begin) - early >= len(started):  # a device's own line has the runs in order
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
    """The first long pause of a device, after some work, after an instant."""
    first = int(np.searchsorted(busy.end, instant, side="right"))
    pauses = np.flatnonzero(busy.begin[first + 1 :] - busy.end[first:-1] >= _PAUSE_NS)
    return int(busy.end[first + pauses[0]]) if len(pauses) else NEVER


def outermost_events(
    timeline: Timeline, lines: list[Line], names: Sequence[str]
) -> tuple[Times, Times, wire.Ints]:
    """Outermost events of these names, in order: begin, end, and number in the file."""
    parts = [(line, timeline.named(line, *names)) for line in lines]
    begin, end = timeline.spans(parts)
    event = np.concatenate([line.first + numbers for line, numbers in parts])
    order = np.lexsort((-end, begin))
    order = order[outer(begin[order], end[order])]
    return begin[order], end[order], event[order]


def outer(begin: Times, end: Times) -> wire.Array:
    """Which of these spans, sorted by begin, are not inside an earlier one."""
    reached = np.maximum.accumulate(np.append(np.iinfo(np.int64).min, end[:-1]))[: len(end)]
    return np.asarray(begin >= reached)


def matched(wanted: wire.Ints, keys: wire.Array, values: wire.Array) -> wire.Array:
    """The value of each wanted key, -1 for none; ``keys`` must be sorted."""
    at = np.searchsorted(keys, wanted)
    present = np.append(keys, -1)[at] == wanted
    return np.where(present, np.append(values, -1)[at], -1)
