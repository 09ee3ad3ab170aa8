"""Computes where the time of each step went, on the loop's thread and on each device.

Parts do not overlap and add up to the step. Nanoseconds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from xladoctor.facts.parts import ACTIVITIES, UNRECORDED
from xladoctor.ingest.frames import NOWHERE
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Columns, Interned, ProcessRows
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.device_memory import memory_in_use
from xladoctor.ingest.timeline.devices import Device
from xladoctor.ingest.timeline.intervals import Intervals, Times
from xladoctor.ingest.timeline.python_frames import PythonFrames
from xladoctor.ingest.timeline.reading import Reading
from xladoctor.ingest.timeline.steps import SPAN, Steps
from xladoctor.ingest.xplane.space import Line
from xladoctor.warmup import WARMUP

_CLOCKS_NS = 100_000  # step log and profiler read their clocks at different points
_LONG_NS = 500_000  # a gap this long has more in it than the next launch
_MOST_PLACED = 5000
_KNOWN = (*ACTIVITIES, UNRECORDED)
_REASONS = [*_KNOWN, "python"]


def add_steps(doing: dict[str, Intervals], steps: Steps, logged: Gathered) -> tuple[Steps, Columns]:
    """The steps with their numbers, and ``timeline_step``.

    Args:
        doing: when the loop's thread did each activity, and when that is not recorded.
        logged: the step log of the process.
    """
    log = _of_log(steps, logged)
    number = np.where(log["joined"], log["index"], steps.number)
    lasted = steps.end - steps.begin
    parts = spent(doing, steps.begin, steps.end)
    known = sum(parts.values(), np.zeros(len(lasted), np.int64))
    quiet = (parts["compile"] == 0) & ~log["probed"] & ~steps.warming_up
    late = np.where(
        log["joined"],
        log["ordinal"] >= WARMUP * log["period"],
        ~log["known"] & (~log["logged"] | (steps.before >= WARMUP)),
    )
    columns = {
        "step": number,
        "joined": log["joined"],
        "steady": quiet & late,
        "begin_ns": steps.begin,
        "end_ns": steps.end,
        "duration_ns": lasted,
        **{f"{name}_ns": time for name, time in parts.items()},
        "other_ns": lasted - known,
    }
    return replace(steps, number=number, joined=log["joined"]), columns


def add_devices(reading: Reading) -> None:
    """Fill ``device``, ``device_op``, ``device_step``, ``collective`` and ``idle_gap``."""
    steps, rows = reading.steps, reading.rows
    rows.table("device", "device_op", "device_step", "collective", "idle_gap")
    memory = memory_in_use(reading.timeline)
    for device in reading.devices:
        peak, whole = memory.get(device.name, (None, None))
        begin, end = _span(reading.timeline, steps, device)
        busy = device.busy.within(begin, end)
        rows.add(
            "device",
            device=device.number,
            name=device.name,
            kind=device.kind,
            begin_ns=begin,
            end_ns=end,
            busy_ns=busy.total,
            idle_ns=end - begin - busy.total,
            peak_bytes=peak,
            memory_bytes=whole,
        )
        count = len(device.ops["count"])
        rows.append("device_op", {"device": [device.number] * count, **device.ops})
        gaps = busy.gaps(begin, end)
        parts = _parts(gaps, reading.doing)
        python = np.flatnonzero(parts.argmax(axis=0) == _REASONS.index("python"))
        places = _places(reading.timeline, reading.main, gaps, python)
        _add_gaps(gaps, parts, reading.step_of(gaps.begin), places, device, rows)
        if steps is not None:
            idle = {name: gaps.common(times) for name, times in reading.doing.items()}
            reading.of_steps.append(("device_step", _steps_of(device, busy, idle, steps)))
            _add_collectives(device, reading.step_of(device.collectives.begin), rows)


def _add_collectives(device: Device, step: Times, rows: ProcessRows) -> None:
    """Add up collectives by step and operation; those outside of steps are left out.

    Args:
        step: the step that each began in, negative outside.
    """
    done = device.collectives
    inside = np.flatnonzero(step >= 0)
    if not len(inside):
        return
    step, op, begin, end = (each[inside] for each in (step, done.op, done.begin, done.end))
    keys, first, group = np.unique(
        step * len(done.names) + op, return_index=True, return_inverse=True
    )
    began = np.full(len(keys), np.iinfo(np.int64).max)
    ended, lasted = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
    np.minimum.at(began, group, begin)
    np.maximum.at(ended, group, end)
    np.add.at(lasted, group, end - begin)
    rows.append(
        "collective",
        {
            "device": np.full(len(keys), device.number),
            "step": step[first],
            "hlo_op": Interned(op[first].astype(np.int32), done.names),
            "count": np.bincount(group),
            "duration_ns": lasted,
            "begin_ns": began,
            "end_ns": ended,
        },
    )


def _of_log(steps: Steps, recorded: Gathered) -> dict[str, Any]:
    """The step log's columns for each step: its row is the one that ended right after it.

    The thread with the most such rows counts.
    """
    names = "thread", "tail", "probed", "end_ns", "begin_ns", "index", "ordinal", "barriers"
    logged = list(recorded.of("step", *names))
    log = {name: np.array([row[place] for row in logged]) for place, name in enumerate(names)}
    own = ~log["tail"].astype(bool)
    nothing = np.zeros(len(steps.end), np.int64)
    best = {
        "joined": nothing.astype(bool),
        "probed": nothing.astype(bool),
        "index": nothing,
        "ordinal": nothing,
    }
    in_log = steps.barriers or steps.logged
    threads = np.unique(log["thread"][own]).tolist() if in_log else []
    for thread in threads:
        mine = own & (log["thread"] == thread)
        thread_log = _joined(steps, {name: values[mine] for name, values in log.items()})
        if thread_log["joined"].sum() > best["joined"].sum():
            best = thread_log
    # if there is a log of steps, marks that are not in it turned out not to be the loop's
    known = np.bool_(steps.logged and own.any())
    return best | {
        "period": max([1, *recorded.recorded("step_period").get("barriers", ())]),
        "known": known,
        "logged": np.bool_(own.any()),
    }


def _joined(steps: Steps, log: dict[str, Any]) -> dict[str, Any]:
    """Each step's row of one thread's log: by the number in the capture's mark, else by time."""
    at = np.searchsorted(log["end_ns"], steps.end - _CLOCKS_NS)
    if steps.logged:
        at = np.searchsorted(log["index"], steps.number)
    found = _matched(steps, log, at)
    if steps.logged and 2 * found["joined"].sum() < len(steps.end):
        # Steps that turned out not to be the loop's are counted in the marks alone.
        near = np.searchsorted((log["end_ns"][1:] + log["end_ns"][:-1]) // 2, steps.end)
        none = int(np.median(steps.number - log["index"][near]))
        found = _matched(steps, log, np.searchsorted(log["index"], steps.number - none), none)
    return found


def _matched(steps: Steps, log: dict[str, Any], at: Times, none: int = 0) -> dict[str, Any]:
    """The log's columns for the steps, where rows can match; ``none``: see :func:`_joined`."""
    at = np.minimum(at, len(log["end_ns"]) - 1)
    joined = (log["begin_ns"][at] < steps.end) & (log["barriers"][at] == 1)
    latest = log["end_ns"] + _CLOCKS_NS
    if steps.logged:
        joined &= log["index"][at] == steps.number - none
        # another process may run between reading the clocks of the log and of the mark
        latest[:-1] = np.maximum(latest[:-1], (log["end_ns"][:-1] + log["end_ns"][1:]) // 2)
    joined &= steps.end <= latest[at]
    joined[1:] &= at[1:] != at[:-1]
    return {
        "joined": joined,
        "probed": joined & log["probed"][at].astype(bool),
        "index": log["index"][at],
        "ordinal": log["ordinal"][at],
    }


def spent(doing: dict[str, Intervals], begin: Times, end: Times) -> dict[str, Times]:
    """How long each span was spent at each activity, and how long that is not recorded."""
    nothing = np.zeros(len(begin), np.int64)
    return {name: doing[name].covered(begin, end) if name in doing else nothing for name in _KNOWN}


def _span(timeline: Timeline, steps: Steps | None, device: Device) -> tuple[int, int]:
    """From the first step to the last; without steps, while the device was busy."""
    if steps is not None and steps.source != SPAN:
        return int(steps.begin[0]), int(steps.end[-1])
    if len(device.busy.begin):
        return int(device.busy.begin[0]), int(device.busy.end[-1])
    return timeline.begin, timeline.end


def _parts(gaps: Intervals, doing: dict[str, Intervals]) -> Times:
    """How long the host did each activity in each gap: a row for each reason."""
    parts = np.array(list(spent(doing, gaps.begin, gaps.end).values()))
    return np.vstack((parts, gaps.end - gaps.begin - parts.sum(axis=0)))


def _add_gaps(
    gaps: Intervals,
    parts: Times,
    step: Times,
    places: Columns,
    device: Device,
    rows: ProcessRows,
) -> None:
    lasted = gaps.end - gaps.begin
    reason = parts.argmax(axis=0)
    count = len(lasted)
    rows.append(
        "idle_gap",
        {
            "device": np.full(count, device.number),
            "step": np.ma.masked_array(step, step < 0),
            "begin_ns": gaps.begin,
            "duration_ns": lasted,
            "reason": Interned(reason.astype(np.int32), _REASONS),
            "reason_ns": parts[reason, np.arange(count)] if count else lasted,
            **places,
        },
    )


def _places(timeline: Timeline, main: Line | None, gaps: Intervals, python: Times) -> Columns:
    """The functions that the host was in during long gaps, as columns of a site.

    Args:
        main: the loop's thread.
        python: numbers of the gaps in which the host mostly ran Python.
    """
    long = python[(gaps.end - gaps.begin)[python] >= _LONG_NS][:_MOST_PLACED]
    frames = PythonFrames.of(timeline, main) if len(long) else None
    sites = [NOWHERE] * len(long)
    if frames and frames.frames:
        sites = frames.during(gaps.begin[long], gaps.end[long])
    columns: Columns = {}
    for name in NOWHERE.columns():
        values = np.full(len(gaps.begin), None, object)
        values[long] = [site.columns()[name] for site in sites]
        columns[name] = values.tolist()
    return columns


def _steps_of(device: Device, busy: Intervals, idle: dict[str, Intervals], steps: Steps) -> Columns:
    """``device_step`` of a device."""
    worked = busy.covered(steps.begin, steps.end)
    rest = steps.end - steps.begin - worked
    parts = spent(idle, steps.begin, steps.end)
    known = sum(parts.values(), np.zeros(len(rest), np.int64))
    return {
        "device": np.full(len(rest), device.number),
        "step": steps.number,
        "busy_ns": worked,
        "idle_ns": rest,
        **{f"idle_{name}_ns": time for name, time in parts.items()},
        "idle_other_ns": rest - known,
        "collective_ns": [None] * len(rest)
        if device.own is None
        else (worked - device.own.covered(steps.begin, steps.end)),
    }
