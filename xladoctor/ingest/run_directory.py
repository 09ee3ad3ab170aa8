"""A run directory: every file of every process, whatever ended them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from xladoctor.facts.graphs import SourceLine
from xladoctor.facts.run import Process, TriedPatch
from xladoctor.ingest.fact_rows import row
from xladoctor.ingest.interface import Ingested, IngestError, Losses, Notes, Progress
from xladoctor.ingest.inventory import check
from xladoctor.ingest.nothing_captured import (
    LAYOUT,
    faults_at_start,
    nothing_captured,
    other_names,
    read_python_log,
)
from xladoctor.ingest.process_folder import read_process
from xladoctor.ingest.process_record import note_windows_closed_early, read_process_record
from xladoctor.ingest.regular import own_files, read_text
from xladoctor.ingest.remote_capture import read_remote_capture
from xladoctor.ingest.run_records import (
    FILES,
    DamagedRecord,
    Manifest,
    RemoteManifest,
    kept_record,
    read_manifest,
)
from xladoctor.ingest.sessions import session_files
from xladoctor.ingest.tpu_checks import add_tpu_check
from xladoctor.recording.bootstrap._xladoctor.redaction import redact, redact_code


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
    check(path, manifest.files or _listed_by_processes(folders), manifest.crc32, ingested)
    timelines = session_files(path, session, ingested, manifest.session, captured=True)
    timelines = own_files(path, timelines, ingested)
    ended = manifest.ended
    records: list[Process] = []
    for folder in folders:
        record = read_process(
            folder,
            timelines,
            ingested.of(len(records)),
            progress,
            _end(manifest),
            stopped=bool(ended and ended.stopped_by),
            asked_for=session is not None,
        )
        records += [record] if record else []
    note_windows_closed_early(manifest.options.get("trace_bytes"), path, records, ingested)
    _add_sources(path / "sources.json", ingested)
    _add_tried(path / "fixes.json", ingested)
    _add_tpu_check(path / "tpu-check.json", ingested)
    started = read_python_log(path / "python.log", ingested)
    for fault in faults_at_start(path / "python.log", started or "", ingested):
        ingested.lose(fault)
    if not records:
        raise IngestError(
            *nothing_captured(path, folders, started, ingested.notes, _failed(manifest))
        )
    _add_other_names(started or "", records, ingested)
    running = True in ingested.tables["process"]["running"]
    _note_end(manifest, path, records, running, ingested)
    return manifest, ingested


def _note_end(
    manifest: Manifest, path: Path, records: list[Process], running: bool, noted: Notes
) -> None:
    """Note how the program ended, if that was before its time."""
    ended = manifest.ended
    if ended is None and manifest.part_of is None and not running:
        noted.lose(f"{path / 'run.json'}: the run was cut short; its end is missing")
    elif ended and ended.timeout_s:
        files = ", ".join(sorted(file.name for file in path.glob("stacks-*.txt")))
        stood = f"; where its threads stood: {files}" if files else ""
        noted.notes.append(f"{path}: stopped by --timeout after {ended.timeout_s:g} s{stood}")
    elif ended and ended.stop_after_s:
        noted.notes.append(
            f"{path}: after {ended.stop_after_s:g} s the program was asked to stop, as --stop-after"
            " says; it did not reach the end of a step in time, and was ended"
        )
    elif ended and ended.status == 0:
        for record in records:
            if record.uncaught:  # although the program's own status is 0
                noted.lose(
                    f"process-{record.pid}: the process ended with an uncaught exception:"
                    f" {record.uncaught}"
                )


def _listed_by_processes(folders: list[Path]) -> dict[str, int]:
    records = (read_process_record(folder / "process.json", Losses()) for folder in folders)
    return {file: size for record in records if record for file, size in record.files.items()}


def _failed(manifest: Manifest) -> str:
    ended = manifest.ended
    if ended and ended.signal:
        return f"was ended by signal {ended.signal}"
    return f"ended with exit status {ended.status}" if ended and ended.status else ""


def _end(manifest: Manifest) -> int | None:
    """When the program ended, if that is known: nanoseconds of the wall clock."""
    if manifest.began_ns is None or manifest.ended is None:
        return None
    return manifest.began_ns + int(manifest.ended.seconds * 1e9)


def _add_sources(path: Path, ingested: Ingested) -> None:
    """Lines whose text was read while their files still existed."""
    loss = "texts of lines may be missing"
    for line in kept_record(path, FILES[path.name], ingested, loss, "source_line") or ():
        columns = row(line, SourceLine)
        ingested.add("source_line", **columns | {"text": redact_code(line.text)})


def _add_other_names(started: str, records: list[Process], ingested: Ingested) -> None:
    """Names of a package that the framework has replaced, of the processes with evidence."""
    numbers = {record.pid: number for number, record in enumerate(records)}
    ingested.table("other_name")
    for use in other_names(started):
        if use.pid in numbers:
            columns = use._asdict()
            ingested.of(numbers[columns.pop("pid")]).add("other_name", **columns)


def _add_tried(path: Path, ingested: Ingested) -> None:
    """Patches that were tried after the run."""
    loss = "what came of patches is missing"
    for patch in kept_record(path, FILES[path.name], ingested, loss, "tried_patch") or ():
        ingested.add("tried_patch", **row(patch, TriedPatch))


def _add_tpu_check(path: Path, ingested: Ingested) -> None:
    """What the compiler of a TPU decided after the run."""
    loss = "what a TPU's compiler decided is missing"
    if check := kept_record(path, FILES[path.name], ingested, loss, "tpu_graph"):
        add_tpu_check(check, ingested)


def _read_manifest(path: Path) -> Manifest | RemoteManifest:
    try:
        return read_manifest(read_text(path))
    except FileNotFoundError:
        raise IngestError(f"{path.parent}: no run.json in this directory", LAYOUT) from None
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror}", LAYOUT) from error
    except (UnicodeError, DamagedRecord) as error:
        raise IngestError(f"{path}: not a manifest of xladoctor: {error}", LAYOUT) from error
