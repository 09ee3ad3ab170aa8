"""A run directory: every file of every process, whatever ended them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from xladoctor.frontends.vocabulary import captured, vocabulary
from xladoctor.frontends.vocabulary_file import Vocabulary
from xladoctor.ingest import agreement, compilations
from xladoctor.ingest.formats import Formats, formats_of
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.graph_log import GraphLog
from xladoctor.ingest.host_samples import read_host_samples
from xladoctor.ingest.interface import Ingested, IngestError, Progress
from xladoctor.ingest.inventory import check, tables_of
from xladoctor.ingest.modules import read_modules
from xladoctor.ingest.process_record import (
    add_process,
    first_fault,
    note_windows_closed_early,
    profile_of_program,
    read_process_record,
    without_jumps,
)
from xladoctor.ingest.recognition import CAPTURED, SUFFIX
from xladoctor.ingest.regular import defect, lines_in, own_files, read_text
from xladoctor.ingest.remote_capture import read_remote_capture
from xladoctor.ingest.run_queue import read_run_queue
from xladoctor.ingest.run_records import (
    DamagedRecord,
    Manifest,
    ProcessRecord,
    RemoteManifest,
    SourceLine,
    read_manifest,
    read_record,
)
from xladoctor.ingest.sessions import session_files
from xladoctor.ingest.set_up import sites_of_set_up
from xladoctor.ingest.step_log import (
    CallSites,
    Logged,
    extend_tail,
    read_call_sites,
    read_step_log,
)
from xladoctor.ingest.timeline.sampling import split_python
from xladoctor.recording.bootstrap._xladoctor.redaction import (
    redact,
    redact_code,
    redact_text,
)

if TYPE_CHECKING:
    from xladoctor.ingest.timeline.compiling import Compiled

#: What the step log always has; other tables of it only if the capture wrote them.
_OF_STEPS = (
    "step",
    "step_period",
    "data_wait",
    "transfer",
    "optimizer",
    "idle_optimizer",
    "empty_pass",
    "fallback_count",
)
_HINT = "a run directory holds run.json and a folder process-<pid> for each process"
_HINT_WHERE_LOST = (
    f"{_HINT}; if the disk was full, or something removed these files, run it again with --output"
    " on another disk"
)


def read_run_directory(
    path: Path, session: str | None = None, progress: Progress | None = None
) -> tuple[Manifest | RemoteManifest, Ingested]:
    """The manifest and everything that the processes left.

    Args:
        path: the run directory.
        session: which of several captured timelines to read; by default the run's main one.
        progress: told how far the reading of large files has got.

    Raises:
        IngestError: there is no manifest, or no process in it used XLA.
    """
    manifest = _read_manifest(path / "run.json")
    if isinstance(manifest, RemoteManifest):
        return manifest, read_remote_capture(path, manifest, session, progress)
    manifest = msgspec.structs.replace(manifest, kind="run", command=redact(manifest.command))
    ingested = Ingested()
    folders = sorted(p for p in own_files(path, path.glob("process-*"), ingested) if p.is_dir())
    check(path, manifest.files or _listed_by_processes(folders), ingested)
    timelines = session_files(path, session, ingested, manifest.session, captured=True)
    timelines = own_files(path, timelines, ingested)
    number = 0
    for folder in folders:
        if read_process(
            folder,
            timelines,
            number,
            ingested,
            progress,
            _end(manifest),
            asked_for=session is not None,
        ):
            number += 1
    note_windows_closed_early(manifest.options.get("trace_bytes"), path, ingested)
    _add_sources(path / "sources.json", ingested)
    started = _read_python_log(path / "python.log", ingested)
    for fault in _faults_at_start(path / "python.log", started or "", ingested):
        ingested.lose(fault)
    if not number:
        raise IngestError(*_nothing_captured(path, folders, started, ingested.notes))
    ended = manifest.ended
    processes = ingested.tables["process"]
    processes["stopped"] = [bool(ended and ended.timeout_s)] * len(processes["process"])
    if ended is None and manifest.part_of is None:
        ingested.lose(f"{path / 'run.json'}: the run was cut short; its end is missing")
    elif ended and ended.timeout_s:
        files = ", ".join(sorted(file.name for file in path.glob("stacks-*.txt")))
        stood = f"; where its threads stood: {files}" if files else ""
        ingested.notes.append(
            f"{path}: the program was ended after {ended.timeout_s:g} s, as --timeout asks{stood}"
        )
    elif ended and ended.status == 0:
        _note_failed_processes(ingested)
    return manifest, ingested


def _listed_by_processes(folders: list[Path]) -> dict[str, int]:
    records = (read_process_record(folder / "process.json", Ingested()) for folder in folders)
    return {file: size for record in records if record for file, size in record.files.items()}


def _with_unfinished(
    log: GraphLog,
    times: dict[str, Any],
    lived: tuple[int, int],
    number: int,
    ingested: Ingested,
) -> dict[str, Any]:
    """The compilations and that which was under way when the program was stopped, if there was one;
    the step log did not get to know its time.
    """
    steps = ingested.tables["step"]
    logged = max([lived[0], *steps.get("end_ns", ())])
    more = compilations.with_unfinished(log, times, (logged, lived[1]))
    if unfinished := more.get("duration_ns", ())[len(times.get("end_ns", ())) :]:
        extend_tail(number, logged, lived[1], sum(unfinished), ingested)
    return more


def _end(manifest: Manifest) -> int | None:
    """When the program ended, if that is known: nanoseconds of the wall clock."""
    if manifest.began_ns is None or manifest.ended is None:
        return None
    return manifest.began_ns + int(manifest.ended.seconds * 1e9)


def _note_failed_processes(ingested: Ingested) -> None:
    """Note processes that failed although the program's own status is 0."""
    processes = ingested.tables["process"]
    for pid, uncaught in zip(processes["pid"], processes["uncaught"], strict=True):
        if uncaught:
            ingested.lose(
                f"process-{pid}: the process ended with an uncaught exception: {uncaught}"
            )


def _add_sources(path: Path, ingested: Ingested) -> None:
    """Lines whose text was read while their files still existed."""
    try:
        rows = read_record(read_text(path), tuple[SourceLine, ...])
    except FileNotFoundError:
        return
    except (OSError, UnicodeError, DamagedRecord) as error:
        ingested.lose(
            f"{path}: cannot be read ({defect(error)}); texts of lines may be missing",
            "source_line",
        )
        return
    for row in rows:
        ingested.add("source_line", file=row.file, line=row.line, text=redact_code(row.text))


def _read_python_log(path: Path, ingested: Ingested) -> str | None:
    try:
        return read_text(path, errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        ingested.lose(f"{path}: cannot be read ({error.strerror})")
        return None


def _faults_at_start(log: Path, text: str, ingested: Ingested) -> list[str]:
    """Faults of the capture in processes that have no folder, or have it no more."""
    faults = re.findall(r"^(\d+) \d+ fault (.*)$", redact_text(text), re.MULTILINE)
    told = [f"{log}: process {pid} could not be captured: {fault}" for pid, fault in faults]
    if fault := first_fault(log.parent, ingested):
        told.append(f"{log.parent / 'faults.log'}: a process could not be captured: {fault}")
    return told


def _nothing_captured(
    path: Path, folders: list[Path], started: str | None, notes: list[str]
) -> tuple[str | list[str], str]:
    if notes:
        return notes, _HINT_WHERE_LOST
    known = captured()
    used = [each for each in known if f" imported {each.package}\n" in (started or "")]
    used = [each for each in used if "idle" not in each.words] or used  # others import it, too
    if folders and not used:  # the log is gone
        used = [vocabulary()]
    if used:
        return (
            f"{path}: the program imported {_names(used, 'and')},"
            f" {used[0].words.get('idle', 'but no computation ran on an XLA device')}",
            "\n".join(each.words["unused"] for each in used),
        )
    if started is not None:
        return (
            f"{path}: the program never imported {_names(known, 'or')}, so there is nothing to"
            " diagnose",
            f"xladoctor looks at {' and '.join(each.title for each in known)} programs; if this is"
            f" one, check that the interpreter it starts has {_names(known, 'or')}",
        )
    return (
        f"{path}: no Python process reported, so there is nothing to diagnose",
        "an interpreter started with -E, -I or -S, or without its PYTHONPATH, cannot be captured"
        ' from outside, only from inside: with xladoctor.capture("out"): …',
    )


def _names(frontends: Iterable[Vocabulary], joint: str) -> str:
    return f" {joint} ".join(each.package for each in frontends)


def _read_manifest(path: Path) -> Manifest | RemoteManifest:
    try:
        return read_manifest(read_text(path))
    except FileNotFoundError:
        raise IngestError(f"{path.parent}: no run.json in this directory", _HINT) from None
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror}", _HINT) from error
    except (UnicodeError, DamagedRecord) as error:
        raise IngestError(f"{path}: not a manifest of xladoctor: {error}", _HINT) from error


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
        if fault := first_fault(folder, ingested):
            ingested.lose(
                f"{folder.name}: the capture switched itself off before it recorded"
                f" anything: {fault}"
            )
        return False
    sites = _read_sites(folder / "call_sites.json", steps, ingested)
    folders = _folders(record, sites)
    add_process(record, number, folder, ingested)
    _add_sites(sites, number, ingested)
    logged = _read_steps(steps, sites, number, ingested)
    if "step" in ingested.tables and vocabulary(record.frontend).records_reads:
        ingested.table("host_sync")
    formats = formats_of(record.frontend)
    log = _read_graph_log(formats, folder, record.no_analysis_log, ingested)
    modules = read_modules(folder, record, folders, ingested)
    timeline = _timeline_of(record, folder, timelines, asked_for, ingested)
    compiled: list[Compiled] = []
    if timeline is not None:
        compiled = _read_timeline(
            timeline, record, number, not modules.files, folders, ingested, progress
        )
    times = logged.compile_times
    if log and not record.ended and ended_ns:
        times = _with_unfinished(log, times, (record.began_ns, ended_ns), number, ingested)
    compilations.join(log, times, compiled, number, folders, ingested, modules.made)
    modules.add(number, ingested)
    read_host_samples(folder / "host_samples.json", sites, number, ingested)
    read_run_queue(folder / "processor.jsonl", number, ingested)
    split_python(number, ingested)
    if formats.report is not None:
        formats.report(folder / "metrics.txt", number, ingested)
    agreement.check(steps, logged, record, number, ingested)
    _add_counted(logged.counters, number, ingested)
    return True


def _timeline_of(
    record: ProcessRecord,
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
    record: ProcessRecord,
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


def _folders(record: ProcessRecord, sites: CallSites) -> Folders:
    folders = record.folders
    return Folders(
        folders.standard,
        folders.installed,
        record.main,
        vocabulary(record.frontend).packages,
        sites.passing,
    )


def _add_sites(sites: CallSites, number: int, ingested: Ingested) -> None:
    for site, text in zip(sites.sites, sites.sources, strict=True):
        ingested.add("source_line", file=site.file, line=site.line, text=redact_code(str(text)))
    ingested.table("enclosing_loop")
    for site, loops in zip(sites.sites, sites.loops, strict=True):
        for depth, (file, first, last, function) in enumerate(loops):
            ingested.add(
                "enclosing_loop",
                process=number,
                file=site.file,
                line=site.line,
                via=site.via,
                depth=depth,
                loop_file=file,
                first_line=first,
                last_line=last,
                loop_function=function,
            )
    ingested.table("ignore_comment")
    for asked in sites.ignores:
        ingested.add(
            "ignore_comment",
            file=asked.file,
            line=asked.line,
            first_line=asked.first,
            last_line=asked.last,
            text=redact_code(asked.text),
        )
    if sites.launched:
        ingested.table("key_change")
    for index, count, work, steps in sites.launched:
        ended = 0 if index in sites.light else steps
        parts = None if sites.parts is None else sites.parts.get(index, 0)
        single = None if sites.operations is None else index in sites.operations
        ingested.add(
            "launch",
            process=number,
            count=count,
            work=work,
            steps=ended,
            parts=parts,
            operations=single,
            **sites[index].columns(),
        )
    for index, known, late in sites.origins:
        ingested.add(
            "read_origin", process=number, count=known, late=late, **sites[index].columns()
        )
    ingested.table("fallback")
    for row in sites.fallbacks:
        ingested.add(
            "fallback",
            process=number,
            op=row.op,
            count=row.count,
            duration_ns=max(0, row.duration_ns - row.compile_ns),
            compile_ns=row.compile_ns,
            **sites[row.site].columns(),
        )


def _read_steps(path: Path, sites: CallSites, number: int, ingested: Ingested) -> Logged:
    with lines_in(path, ingested) as lines:
        if lines is None:
            if not any(note.startswith(f"{path}:") for note in ingested.lost):
                ingested.lose(f"{path}: is gone; what was in it is lost", *tables_of(path.name))
            return Logged()
        logged = read_step_log(lines, sites, number, ingested, str(path))
    for name in _OF_STEPS:
        ingested.table(name)
    return logged


def _add_counted(counted: dict[str, int], number: int, ingested: Ingested) -> None:
    """Of two counts the larger holds: the report or the step log may lack the end."""
    table = ingested.tables.get("counter", {})
    owners = zip(table.get("process", ()), table.get("name", ()), strict=True)
    rows = {name: row for row, (process, name) in enumerate(owners) if process == number}
    for name, value in counted.items():
        if (row := rows.get(name)) is None:
            ingested.add("counter", process=number, name=name, value=value)
        elif (reported := table["value"][row]) is None or reported < value:
            table["value"][row] = value


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
