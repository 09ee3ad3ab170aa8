"""The folder of a captured process: everything that it left, even if it is still running."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from xladoctor.facts.run import Process
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.ingest import agreement, compilations
from xladoctor.ingest.call_sites import CallSites, add_call_sites, read_call_sites
from xladoctor.ingest.formats import Formats, formats_of
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.graph_log import GraphLog
from xladoctor.ingest.host_samples import read_host_samples
from xladoctor.ingest.interface import Columns, Ingested, Progress
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
from xladoctor.ingest.regular import defect, lines_in, own_files, read_text
from xladoctor.ingest.run_queue import read_run_queue
from xladoctor.ingest.run_records import DamagedRecord
from xladoctor.ingest.set_up import sites_of_set_up
from xladoctor.ingest.step_log import Logged, StepLog, read_step_log
from xladoctor.ingest.timeline.sampling import split_python

if TYPE_CHECKING:
    from xladoctor.ingest.timeline.compiling import Compiled


def read_process(
    folder: Path,
    timelines: list[Path],
    number: int,
    ingested: Ingested,
    progress: Progress | None,
    ended_ns: int | None = None,
    asked_for: bool = False,
) -> bool:
    """Everything that a process, even a running one, left; False if it used no device.

    Args:
        folder: its own, below the run directory.
        timelines: the files of the captured timelines of all processes.
        number: its number in the tables.
        ingested: where to.
        progress: told how far the reading of large files has got.
        ended_ns: when the program ended, if that is known.
        asked_for: whether these timelines were, so that no other is better.
    """
    record = read_process_record(folder / "process.json", ingested)
    steps = folder / "steps.jsonl"
    active = steps.exists() and steps.stat().st_size > 0  # a process cut short never said so
    if record is None or not (record.used_device or active):
        _note_fault(folder, ingested)
        return False
    sites = _read_sites(folder / "call_sites.json", steps, ingested)
    folders = _folders(record, sites)
    add_process(record, number, folder, ingested)
    add_call_sites(sites, number, ingested)
    step_log = _read_steps(steps, sites, number, ingested)
    formats = formats_of(record.frontend)
    log = _read_graph_log(formats, folder, record.no_analysis_log, ingested)
    times: Columns = {}
    if step_log is not None:
        ended = None if record.ended else ended_ns
        times = _compile_times(step_log, log, record.began_ns, ended)
        step_log.tables().move(ingested)
        if vocabulary(record.frontend).records_reads:
            ingested.table("host_sync")
    modules = read_modules(folder, record, folders, ingested)
    timeline = _timeline_of(record, folder, timelines, asked_for, ingested)
    compiled = (
        _read_timeline(timeline, record, number, not modules.files, folders, ingested, progress)
        if timeline is not None
        else []
    )
    compilations.join(log, times, compiled, number, folders, ingested, modules.made)
    modules.add(number, ingested)
    read_host_samples(folder / "host_samples.json", sites, number, ingested)
    read_run_queue(folder / "processor.jsonl", number, ingested)
    split_python(number, ingested)
    reported = formats.report and formats.report(folder / "metrics.txt", number, ingested)
    logged = step_log.logged if step_log else Logged()
    agreement.check(steps, logged, reported or {}, record, number, ingested)
    _add_counters(reported, logged.counters, number, ingested)
    return True


def _note_fault(folder: Path, ingested: Ingested) -> None:
    if fault := first_fault(folder, ingested):
        ingested.lose(
            f"{folder.name}: the capture switched itself off before it recorded anything: {fault}"
        )


def _timeline_of(
    record: Process,
    folder: Path,
    timelines: list[Path],
    asked_for: bool,
    ingested: Ingested,
) -> Path | None:
    """The timeline of a process: the one captured, or the program's own if that is better."""
    own = tuple(f"_{folder.name.removeprefix('process-')}{suffix}" for suffix in CAPTURED)
    timeline = next((path for path in timelines if path.name.endswith(own)), None)
    if not asked_for:
        program = profile_of_program(record, folder, timeline, ingested)
        programs = own_files(folder.parent, [program] if program else [], ingested)
        timeline = next(iter(programs), timeline)
    return timeline and without_jumps(record, folder, timeline, ingested)


def _read_timeline(
    path: Path,
    record: Process,
    number: int,
    lacks_modules: bool,
    folders: Folders,
    ingested: Ingested,
    progress: Progress | None,
) -> list[Compiled]:
    """Fill the tables of a timeline; return the compilations in it.

    Args:
        lacks_modules: whether the modules in the timeline are the only ones of the process.
    """
    from xladoctor.ingest.timeline.read import TimelineFile, read_timeline  # loads numba

    file = TimelineFile(
        path,
        number,
        record.host,
        modules=lacks_modules,
        for_viewers=not path.name.endswith(SUFFIX),
        tells_reads=not vocabulary(record.frontend).records_reads,
    )
    return read_timeline(file, folders, ingested, progress).found


def _read_graph_log(
    formats: Formats, folder: Path, none_because: str | None, ingested: Ingested
) -> GraphLog | None:
    if none_because:
        ingested.notes.append(f"{folder.name}: no analysis log: {none_because}")
        return None
    return formats.graph_log(folder, ingested) if formats.graph_log is not None else None


def _folders(record: Process, sites: CallSites) -> Folders:
    folders = record.folders
    return Folders(
        folders.standard,
        folders.installed,
        record.main,
        vocabulary(record.frontend).packages,
        sites.passing,
    )


def _compile_times(
    step_log: StepLog, log: GraphLog | None, began_ns: int, stopped_ns: int | None
) -> Columns:
    """The compilations, and that which was under way when the program was stopped, if there was
    one; the step log did not get to know its time.

    Args:
        began_ns: when the process began.
        stopped_ns: when it was stopped; None if it ended by itself, or if that is unknown.
    """
    times = step_log.compile_times()
    if log is None or not stopped_ns:
        return times
    logged_ns = max(began_ns, step_log.logged.end_ns)
    more = compilations.with_unfinished(log, times, (logged_ns, stopped_ns))
    if unfinished := more.get("duration_ns", ())[len(times.get("end_ns", ())) :]:
        step_log.compiled_until(logged_ns, stopped_ns, sum(unfinished))
    return more


def _read_steps(path: Path, sites: CallSites, number: int, ingested: Ingested) -> StepLog | None:
    with lines_in(path, ingested) as lines:
        if lines is not None:
            return read_step_log(lines, sites, number, ingested, str(path))
    if not any(note.startswith(f"{path}:") for note in ingested.lost):
        ingested.lose(f"{path}: is gone; what was in it is lost", *tables_of(path.name))
    return None


def _add_counters(
    reported: Mapping[str, int | None] | None,
    logged: Mapping[str, int],
    number: int,
    ingested: Ingested,
) -> None:
    """Fill ``counter``. The report or the step log may lack the end: the larger count holds."""
    whole = dict(reported or {})
    for name, value in logged.items():
        known = whole.get(name)
        whole[name] = value if known is None else max(known, value)
    if reported is not None:
        ingested.table("counter")
    for name, count in whole.items():
        ingested.add("counter", process=number, name=name, value=count)


def _read_sites(path: Path, steps: Path, ingested: Ingested) -> CallSites:
    """The call sites, and which of them are of set-up, as far as the step log shows it."""
    try:
        sites = read_call_sites(read_text(path))
    except FileNotFoundError:
        return CallSites()
    except (OSError, UnicodeError, DamagedRecord) as error:
        ingested.lose(
            f"{path}: cannot be read ({defect(error)}); lines of reads are missing",
            *tables_of(path.name),
        )
        return CallSites()
    with lines_in(steps, Ingested()) as lines:
        return replace(sites, light=sites.light | sites_of_set_up(lines or (), sites))
