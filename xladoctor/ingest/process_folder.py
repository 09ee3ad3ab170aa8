"""The folder of a captured process: everything that it left, even if it is still running."""

from __future__ import annotations

from dataclasses import replace
from itertools import tee
from pathlib import Path

from xladoctor.facts.records import CallSitesFile
from xladoctor.facts.run import Process
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.ingest import agreement, compilations
from xladoctor.ingest.call_sites import CallSites, add_call_sites
from xladoctor.ingest.compilations import Timed
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.formats import Formats, formats_of
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.graph_log import GraphLog
from xladoctor.ingest.host_samples import read_host_samples, told_apart
from xladoctor.ingest.interface import Notes, ProcessRows, Progress
from xladoctor.ingest.inventory import tables_of
from xladoctor.ingest.modules import read_modules
from xladoctor.ingest.process_record import (
    add_process,
    first_fault,
    profile_of_program,
    read_process_record,
    without_jumps,
)
from xladoctor.ingest.recognition import CAPTURED, SUFFIX
from xladoctor.ingest.regular import lines_in, own_files
from xladoctor.ingest.run_queue import read_run_queue
from xladoctor.ingest.run_records import kept_record
from xladoctor.ingest.set_up import sites_of_set_up
from xladoctor.ingest.step_log import Logged, StepLog, facts_of
from xladoctor.ingest.timeline.shown import Shown


def read_process(
    folder: Path,
    timelines: list[Path],
    rows: ProcessRows,
    progress: Progress | None,
    ended_ns: int | None = None,
    stopped: bool = False,
    asked_for: bool = False,
) -> Process | None:
    """Everything that a process, even a running one, left; None if it used no device.

    Args:
        folder: its own, below the run directory.
        timelines: the files of the captured timelines of all processes.
        rows: where to.
        progress: told how far the reading of large files has got.
        ended_ns: when the program ended, if that is known.
        stopped: whether xladoctor ended the program.
        asked_for: whether these timelines were, so that no other is better.
    """
    record = read_process_record(folder / "process.json", rows)
    lines = folder / "steps.jsonl"
    active = lines.exists() and lines.stat().st_size > 0  # a process cut short never said so
    if record is None or not (record.used_device or active):
        _note_fault(folder, rows)
        return None
    sites = _read_sites(folder / "call_sites.json", rows)
    folders = _folders(record, sites)
    add_process(record, folder, stopped, rows)
    step_log, sites = _read_steps(lines, sites, rows)
    add_call_sites(sites, rows)
    formats = formats_of(record.frontend)
    log = _read_graph_log(formats, folder, record.no_analysis_log, rows)
    times = _compile_times(step_log, log, record, ended_ns) if step_log else []
    steps = _steps_of(step_log, record)
    modules = read_modules(folder, record, folders, rows)
    timeline = _timeline_of(record, folder, timelines, asked_for, rows)
    shown = _read_timeline(timeline, record, not modules.files, folders, steps, rows, progress)
    made = compilations.joined(log, times, shown.compiled, folders, steps, modules.made)
    traced = shown.traced | modules.add(made.recorded("compilation"), rows)
    sending = {*steps.of("upload", "file", "line")}
    tracing = read_host_samples(folder / "host_samples.json", sites, traced, sending, rows)
    for table, columns in shown.of_steps:
        rows.append(table, told_apart(table, columns, tracing))
    steps.move(rows)
    made.move(rows)
    read_run_queue(folder / "processor.jsonl", rows)
    _add_report(formats, folder, record, step_log.logged if step_log else Logged(), shown, rows)
    return record


def _note_fault(folder: Path, noted: Notes) -> None:
    if fault := first_fault(folder, noted):
        noted.lose(
            f"{folder.name}: the capture switched itself off before it recorded anything: {fault}"
        )


def _timeline_of(
    record: Process,
    folder: Path,
    timelines: list[Path],
    asked_for: bool,
    noted: Notes,
) -> Path | None:
    """The timeline of a process: the one captured, or the program's own if that is better."""
    own = tuple(f"_{folder.name.removeprefix('process-')}{suffix}" for suffix in CAPTURED)
    timeline = next((path for path in timelines if path.name.endswith(own)), None)
    if not asked_for:
        program = profile_of_program(record, folder, timeline, noted)
        programs = own_files(folder.parent, [program] if program else [], noted)
        timeline = next(iter(programs), timeline)
    return timeline and without_jumps(record, folder, timeline, noted)


def _read_timeline(
    path: Path | None,
    record: Process,
    lacks_modules: bool,
    folders: Folders,
    log: Gathered,
    rows: ProcessRows,
    progress: Progress | None,
) -> Shown:
    """Fill the tables of a timeline; return what else it shows.

    Args:
        lacks_modules: whether the modules in the timeline are the only ones of the process.
    """
    if path is None:
        return Shown(log)
    from xladoctor.ingest.timeline.read import TimelineFile, read_timeline  # loads numba

    file = TimelineFile(
        path,
        record.host,
        modules=lacks_modules,
        for_viewers=not path.name.endswith(SUFFIX),
        tells_reads=not vocabulary(record.frontend).records_reads,
    )
    return read_timeline(file, folders, rows, progress, log)


def _read_graph_log(
    formats: Formats, folder: Path, none_because: str | None, noted: Notes
) -> GraphLog | None:
    if none_because:
        noted.notes.append(f"{folder.name}: no analysis log: {none_because}")
        return None
    return formats.graph_log(folder, noted) if formats.graph_log is not None else None


def _folders(record: Process, sites: CallSites) -> Folders:
    folders = record.folders
    return Folders(
        folders.standard,
        folders.installed,
        record.main,
        vocabulary(record.frontend).packages,
        sites.passing,
    )


def _steps_of(step_log: StepLog | None, record: Process) -> Gathered:
    """The tables of the step log; none if it is lost."""
    steps = step_log.tables() if step_log else Gathered()
    if step_log and vocabulary(record.frontend).records_reads:
        steps.table("host_sync")
    return steps


def _compile_times(
    step_log: StepLog, log: GraphLog | None, record: Process, ended_ns: int | None
) -> list[Timed]:
    """The compilations, and that which was under way when the program was stopped, if there was
    one; the step log did not get to know its time.

    Args:
        ended_ns: when the program ended; None if that is unknown.
    """
    times = step_log.compiled
    if log is None or record.ended or not ended_ns:
        return times
    logged_ns = max(record.began_ns, step_log.logged.end_ns)
    if more := compilations.unfinished(log, times, (logged_ns, ended_ns)):
        spent = sum(timed.duration_ns or 0 for timed in more)
        step_log.compiled_until(logged_ns, ended_ns, spent)
    return [*times, *more]


def _read_steps(
    path: Path, sites: CallSites, rows: ProcessRows
) -> tuple[StepLog | None, CallSites]:
    """The step log, and the call sites with those of set-up, as far as the log shows it."""
    with lines_in(path, rows) as lines:
        ahead, facts = tee(facts_of(lines or (), str(path), rows))
        sites = replace(sites, light=sites.light | sites_of_set_up(ahead, sites))
        del ahead  # so that the log does not keep what it has taken
        if lines is not None:
            return StepLog(sites, facts), sites
    if not any(note.startswith(f"{path}:") for note in rows.ingested.lost):
        rows.lose(f"{path}: is gone; its content is lost", *tables_of(path.name))
    return None, sites


def _add_report(
    formats: Formats,
    folder: Path,
    record: Process,
    logged: Logged,
    shown: Shown,
    rows: ProcessRows,
) -> None:
    """Fill ``counter``, and what else the metrics report has. It or the step log may lack the end:
    the larger count holds.
    """
    reported = formats.report and formats.report(folder / "metrics.txt", rows)
    agreement.check(folder / "steps.jsonl", logged, reported or {}, record, shown, rows)
    whole = dict(reported or {})
    for name, value in logged.counters.items():
        known = whole.get(name)
        whole[name] = value if known is None else max(known, value)
    if reported is not None:
        rows.table("counter")
    for name, count in whole.items():
        rows.add("counter", name=name, value=count)


def _read_sites(path: Path, noted: Notes) -> CallSites:
    loss = "lines of reads are missing"
    record = kept_record(path, decoded(CallSitesFile), noted, loss, *tables_of(path.name))
    return CallSites() if record is None else CallSites.of(record)
