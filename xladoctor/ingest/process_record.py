"""Reads a captured process's own record (``process.json``), and its capture's first fault."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from xladoctor.facts.run import Process
from xladoctor.facts.timeline import CaptureWindow
from xladoctor.foreign import quoted
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.fact_rows import row
from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.interface import Notes, ProcessRows
from xladoctor.ingest.inventory import tables_of
from xladoctor.ingest.memory_errors import add_shortage, shortage
from xladoctor.ingest.regular import defect, read_text
from xladoctor.ingest.run_records import DamagedRecord, read_record
from xladoctor.recording.bootstrap._xladoctor.redaction import redact_text
from xladoctor.running import is_running

#: By hook of the capture, the tables that it fills.
_OF_HOOK = {
    "launches": ("step", "cut", "launch"),
    "compilations": ("compilation",),
    "keys": ("key_change",),
    "reads": ("host_sync",),
    "memory reads": ("host_sync",),
    "graph breaks": ("graph_break",),
    "collectives": ("split_collective",),
    "timelines": tables_of(".xplane.pb"),
    "uploads": ("upload", "transfer"),
    "input": ("data_wait",),
    "saves": ("state_save",),
}
_FEW = 10  # steps of a window that are enough to need no other
_FAR = 0.5  # share of the limit


def read_process_record(path: Path, noted: Notes) -> Process | None:
    """Read the record; None, with a note of the loss, if it cannot be read."""
    try:
        return read_record(read_text(path), decoded(Process))
    except FileNotFoundError:
        why = "not written, as on a full disk, or removed"
    except (OSError, UnicodeError, DamagedRecord) as error:
        why = defect(error)
    noted.lose(f"{path}: cannot be read ({why}); the process is left out", *tables_of(path.name))
    return None


def _add_shortage(record: Process, rows: ProcessRows) -> None:
    if record.memory_error is None:
        return
    text, file, line, function = record.memory_error
    said = shortage(text)
    if said is not None:
        said.site = CallSite(file, line, function) if file else NOWHERE
        add_shortage(said, 0, rows.add)


def _add_looks(record: Process, rows: ProcessRows) -> None:
    """Have the tables of what was looked for count as recorded."""
    if record.flattening:
        rows.table("flattening")
    if record.resharding:
        rows.table("argument_reshard")
    if record.unheard is not None:
        rows.table("full_copy")
    if record.unheard:
        rows.ingested.cut.setdefault("full_copy", record.unheard)


def add_process(record: Process, folder: Path, stopped: bool, rows: ProcessRows) -> None:
    """Fill the tables of the process itself.

    Args:
        record: from :func:`read_process_record`.
        folder: the process's folder, which would hold a fault of the capture.
        stopped: whether xladoctor ended the program.
    """
    devices = record.devices
    kind = devices[0].split(":")[0] if devices else record.settings.get("PJRT_DEVICE")
    running = not record.ended and is_running(folder)
    columns = {**row(record, Process), "device_kind": kind, "running": running, "stopped": stopped}
    rows.add("process", **columns)
    for package, version in record.versions.items():
        rows.add("version", package=package, version=version)
    _add_shortage(record, rows)
    _add_looks(record, rows)
    rows.table("environment")
    for name, value in record.settings.items():
        file, line, function = record.settings_lines.get(name, (None, None, None))
        rows.add(
            "environment",
            name=name,
            value=redact_text(value),
            set_by="program" if file else "environment",
            file=file,
            line=line,
            function=function,
        )
    _add_windows(record, folder, rows)
    if running:
        rows.lose(
            f"{folder.name}: the process is still running: what it has not written yet is missing,"
            " and so are the source lines that are written at its end"
        )
    elif not record.ended:
        rows.lose(
            f"{folder.name}: the process was cut short; its last moments and the"
            " source lines that are written at its end are missing"
        )
    _add_fault(folder, rows)
    for hook, why in record.missing.items():
        rows.lose(
            f"{folder.name}: {hook} are not recorded: this release of"
            f" {record.frontend} has no place for the hook ({redact_text(why)})",
            *_OF_HOOK.get(hook, ()),
        )


def _add_fault(folder: Path, rows: ProcessRows) -> None:
    rows.table("capture_fault")
    if fault := first_fault(folder, rows):
        rows.add("capture_fault", text=fault, log=str(folder / "faults.log"))
        rows.ingested.lost.append(f"{folder.name}: the capture switched itself off: {fault}")


def first_fault(folder: Path, noted: Notes) -> str | None:
    """The last line of the first fault in ``faults.log``; later ones may be consequences."""
    faults = folder / "faults.log"
    try:
        text = redact_text(read_text(faults, errors="replace").strip())
    except FileNotFoundError:
        return None
    except OSError as error:
        noted.lose(f"{faults}: cannot be read ({error.strerror})", *tables_of(faults.name))
        return None
    return re.split(r"\n(?=Traceback )", text)[0].splitlines()[-1] if text else None


def profile_of_program(
    record: Process, folder: Path, ours: Path | None, noted: Notes
) -> Path | None:
    """The program's own profile, if it shows more than the capture's window or if there is no other
    timeline; a note says whether it is used.
    """
    taken = next((window for window in record.windows if window.of_program), None)
    if taken is None:
        return None
    if taken.session is None or taken.file is None:
        end = "was not ended" if taken.ended_by != "the program" else "left no file here"
        noted.notes.append(
            f"{folder.name}: the program's own profile {end}; nothing else can"
            " be recorded while it lasts"
        )
        return None
    path = folder.parent / "plugins" / "profile" / taken.session / taken.file
    steps = f"{taken.steps} step{'s' if taken.steps != 1 else ''}"
    captured = next(
        (
            window.steps
            for window in record.windows
            if ours and window is not taken and window.session == ours.parent.name
        ),
        -1,
    )
    if captured >= min(taken.steps, _FEW):
        option = f"--session {quoted(taken.session)}"
        noted.notes.append(
            f"{folder.name}: the program profiled itself, too ({steps}):"
            f" {option} reads that timeline"
        )
        return None
    noted.notes.append(
        f"{folder.name}: the timeline is the profile that the program took of itself ({steps})"
    )
    return path


def without_jumps(record: Process, folder: Path, timeline: Path, noted: Notes) -> Path | None:
    """The timeline; None, with a note, if the system's clock was set while it was recorded."""
    jumped = next(
        (window.jumped_ns for window in record.windows if window.session == timeline.parent.name), 0
    )
    if not jumped:
        return timeline
    noted.lose(
        f"{folder.name}: the timeline is left out: the system's clock was set"
        f" {'ahead' if jumped > 0 else 'back'} by {abs(jumped) / 1e9:.6g} s while it was"
        " recorded",
        *tables_of(timeline.name),
    )
    return None


def note_windows_closed_early(
    limit: object, path: Path, records: Iterable[Process], noted: Notes
) -> None:
    """Note timelines that were ended for their size although their files are far from the limit.

    While recording, the size is estimated from the memory of the process.

    Args:
        limit: ``trace_bytes`` of the run's options.
        records: of the run's processes.
    """
    for window in (window for record in records for window in record.windows):
        size = window.bytes
        if window.ended_by != "size limit" or not window.steps or size is None:
            continue
        if isinstance(limit, int) and size < _FAR * limit:
            noted.notes.append(
                f"{path}: the timeline ended after {window.steps} steps, at {size / 1e6:.0f} of the"
                f" {limit / 1e6:.0f} MB of --trace-bytes: its size is judged by how much memory the"
                " process takes meanwhile. A larger --trace-bytes gives more steps"
            )


def _add_windows(record: Process, folder: Path, rows: ProcessRows) -> None:
    for window in record.windows:
        rows.add("capture_window", **row(window, CaptureWindow))
    if record.modules_too_large:
        rows.notes.append(
            f"{folder.name}: the modules of later compilations are left out:"
            " they would exceed --trace-bytes"
        )
