"""Reads a timeline file into tables: its steps, devices, compilations and modules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from xladoctor.facts.parts import UNRECORDED
from xladoctor.frontends.vocabulary import (
    of_known_runtime,
    phase_of,
    strange_runtime,
    written_in,
)
from xladoctor.ingest import hlo
from xladoctor.ingest.chrome.read import read_chrome
from xladoctor.ingest.compiled_calls import calls_of
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Columns, ProcessRows, Progress
from xladoctor.ingest.inventory import tables_of
from xladoctor.ingest.timeline import compiling
from xladoctor.ingest.timeline.activity import activities
from xladoctor.ingest.timeline.breakdown import add_devices, add_steps
from xladoctor.ingest.timeline.clock import Timeline, kind_of
from xladoctor.ingest.timeline.compile_phases import compile_phases
from xladoctor.ingest.timeline.compiled_parts import add_compiled_parts
from xladoctor.ingest.timeline.dependencies import add_dependencies
from xladoctor.ingest.timeline.device_clock import set_device_clocks
from xladoctor.ingest.timeline.devices import MOST_DEVICES, Device, find_devices, uncounted
from xladoctor.ingest.timeline.kernel_sites import add_kernel_sites
from xladoctor.ingest.timeline.launches import add_launches
from xladoctor.ingest.timeline.operators import add_eager, add_operators, note_computing
from xladoctor.ingest.timeline.reading import Reading
from xladoctor.ingest.timeline.recorded import unrecorded
from xladoctor.ingest.timeline.records import add_reads, add_records
from xladoctor.ingest.timeline.regions import add_regions, find_regions
from xladoctor.ingest.timeline.repetition import repeated_steps, warming_up, whole_span
from xladoctor.ingest.timeline.shown import Shown
from xladoctor.ingest.timeline.steps import SPAN, Steps, find_steps, loop_lines, main_line, step_of
from xladoctor.ingest.xplane import tables
from xladoctor.ingest.xplane.compiled import no_cache_reason
from xladoctor.ingest.xplane.read import MOST_LINES, read_space
from xladoctor.ingest.xplane.space import Line, Space

_UNNAMED = "calls that are not in the trace"


@dataclass(frozen=True, slots=True)
class TimelineFile:
    """The path of a timeline, and the host that wrote it."""

    path: Path
    host: str | None = None
    modules: bool = True  # whether to read the modules in it
    alone: bool = False  # whether nothing else shows what the process did
    tells_reads: bool = False  # whether nothing else shows where it read from the device
    for_viewers: bool = False  # whether it is a Chrome trace


def read_timeline(
    file: TimelineFile,
    folders: Folders,
    rows: ProcessRows,
    progress: Progress | None = None,
    log: Gathered | None = None,
) -> Shown:
    """Fill the timeline's tables of the process that wrote it, and return what else it shows.

    If the file cannot be opened, a note is added and the tables are unchanged.

    Args:
        log: the step log of the process.
    """
    log = log or Gathered()
    read = read_chrome if file.for_viewers else read_space
    space = read(file.path, rows)
    if space is None:
        return Shown(log)
    if progress:
        progress.start(space.size, file.path.name)
    try:
        shown = _read(file, space, folders, rows, progress, log)
    finally:
        if progress:
            progress.done()
    reason = no_cache_reason()
    if reason and reason not in rows.notes:
        rows.notes.append(reason)
    return shown


def _read(
    file: TimelineFile,
    space: Space,
    folders: Folders,
    rows: ProcessRows,
    progress: Progress | None,
    log: Gathered,
) -> Shown:
    timeline = Timeline.of(space, progress.advance if progress else None)
    rows.notes.extend(set_device_clocks(timeline))
    main = main_line(timeline)
    lines = loop_lines(timeline, main)
    doing = activities(timeline, lines)
    devices = find_devices(timeline)
    _note_bounds(space, devices, rows)
    rows.notes.extend(uncounted(timeline))
    del devices[MOST_DEVICES:]
    marked = find_steps(timeline, main, doing.get("compile"), devices, to_the_end=file.alone)
    steps = repeated_steps(timeline, lines, doing, marked)
    if steps is None and file.alone and (steps := whole_span(timeline, lines, devices)):
        rows.notes.append(f"{space.path}: nothing marks steps; the whole timeline counts as one")
    if steps and steps.each and space.joins_calls:
        rows.notes.append(
            f"{space.path}: {_marks(marked)} are taken to go from {steps.each} to the next"
        )
    strange = _not_understood(timeline, devices)
    if strange:
        rows.notes.append(
            f"{space.path}: the device's runtime is not understood ({strange}),"
            " so waits and launches are not judged"
        )
    described = _describe(file, timeline, main, steps, strange, rows)
    doing[UNRECORDED] = unrecorded(timeline, lines, doing, steps, strange=strange is not None)
    reading = Reading(timeline, main, lines, doing, devices, log, rows, steps, [])
    reading = _with_steps(file, reading)
    add_devices(reading)
    executions = add_dependencies(reading)
    add_launches(reading)
    add_operators(reading)
    add_eager(reading)
    add_kernel_sites(reading)
    parts = add_compiled_parts(reading)
    add_regions(reading, find_regions(timeline, lines), executions)
    _defer_events(reading)
    shown = replace(_shown(file, reading, parts, folders), described=described)
    if note := space.damage_note():
        rows.notes.append(note)
    return shown


def _shown(file: TimelineFile, reading: Reading, parts: Columns, folders: Folders) -> Shown:
    """The compilations, whose modules are added; without other evidence, also what a step log would
    have.

    Args:
        parts: the calls of compiled functions.
    """
    timeline, rows, steps = reading.timeline, reading.rows, reading.steps
    space = timeline.space
    phases = {name: phase for name in timeline.events.names if (phase := phase_of(name))}
    compiled = [] if phases else compiling.with_modules(space, compiling.find(timeline))
    modules = compiling.modules(space, compiled, rows.notes) if file.modules else ()
    traced = [
        hlo.read_module(proto, program, graph_hash, folders, rows)
        for program, proto, graph_hash in modules
    ]
    times = None
    if file.alone:
        note_computing(reading)
        marked = None if steps and steps.source == SPAN else steps  # a span cannot recur
        times = add_records(replace(reading, steps=marked), compiled)
    calls = calls_of(parts, reading.log)
    made = compile_phases(timeline, phases, calls) if file.alone and phases else None
    return Shown(
        reading.log,
        device_kinds=[device.kind for device in reading.devices],
        of_steps=reading.of_steps,
        traced=frozenset().union(*traced),
        compiled=compiled,
        times=times,
        calls=calls,
        phases=made,
    )


def _note_bounds(space: Space, devices: list[Device], rows: ProcessRows) -> None:
    bounds = {"lines": (space.lacks_lines, MOST_LINES)}
    bounds["devices"] = (len(devices) > MOST_DEVICES, MOST_DEVICES)
    for what, (reached, most) in bounds.items():
        if reached:
            rows.lose(
                f"{space.path}: more than {most:,} {what}, which no profiler writes;"
                " the rest is left out",
                *tables_of(".xplane.pb"),
            )


def _with_steps(file: TimelineFile, reading: Reading) -> Reading:
    """Number the steps, and add what is read in steps of the log."""
    steps, timeline, doing = reading.steps, reading.timeline, reading.doing
    if steps is None:
        return reading
    steps = replace(steps, warming_up=warming_up(timeline, reading.lines, doing, steps))
    numbered, columns = add_steps(doing, steps, reading.log)
    reading.of_steps.append(("timeline_step", columns))
    reading = replace(reading, steps=numbered)
    if file.tells_reads and reading.devices:
        add_reads(reading)
    return reading


def _not_understood(timeline: Timeline, devices: Sequence[Device]) -> str | None:
    """The runtime that drives the devices, if its calls are not supported. None if they are, if
    only the CPU works, or if the file does not join calls with work. Their names show which of them
    wait: with unknown names, a host that waits all the time looks like one that never does.
    """
    space, events = timeline.space, timeline.events
    if not space.joins_calls or any(map(of_known_runtime().fullmatch, events.names)):
        return None
    if name := strange_runtime(space.categories):
        return name
    if all(device.kind == "CPU" for device in devices):
        return None
    calls, _ = space.joined(events)
    return f"calls such as {events.names[int(events.name[calls[0]])]}" if len(calls) else _UNNAMED


def _marks(marked: Steps | None) -> str:
    """What marks steps, if the steps were found in another way."""
    if marked is None or not marked.counted:
        return "nothing marks steps; they"
    count = len(marked.begin)
    return (
        f"{marked.source} marks {count} step{'s' * (count > 1)}, in which more is repeated; steps"
    )


def _describe(
    file: TimelineFile,
    timeline: Timeline,
    main: Line | None,
    steps: Steps | None,
    strange: str | None,
    rows: ProcessRows,
) -> dict[str, Any]:
    """Fill ``timeline``, whose row is returned, ``plane`` and ``line``."""
    space = timeline.space
    host = file.host or (space.hostnames[0] if len(space.hostnames) == 1 else None)
    described = {
        "host": host,
        "pid": space.pid,
        "rank": space.rank,
        "file": str(file.path),
        "begin_ns": timeline.begin,
        "end_ns": timeline.end,
        "planes": len(space.planes),
        "lines": len(space.lines),
        "events": space.event_count,
        "bytes": space.size,
        "complete": not int(space.damage[0]),
        "steps_from": steps.source if steps else None,
        "frontend": written_in(timeline.events.names, space.categories),
        "not_understood": strange,
    }
    rows.add("timeline", **described)
    rows.table("plane", "line")
    for plane in space.planes:
        rows.add("plane", plane=plane.number, name=plane.name, kind=kind_of(plane.name))
        for line in plane.lines:
            rows.add(
                "line",
                line=line.number,
                plane=plane.number,
                id=line.id,
                name=line.name,
                main=line is main,
                begin_ns=timeline.origin(line),
                events=line.count,
            )
    return described


def _defer_events(reading: Reading) -> None:
    """Register the large tables, which are made when a query names them."""
    space, origin, process = reading.timeline.space, reading.timeline.origin, reading.rows.process
    at = partial(step_of, reading.steps)
    lazy = reading.rows.ingested.lazy
    lazy.setdefault("event", []).append(lambda: tables.event_table(space, origin, process, at))
    lazy.setdefault("event_stat", []).append(lambda: tables.stat_table(space, process))
