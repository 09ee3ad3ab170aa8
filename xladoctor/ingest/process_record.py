"""What a captured process says about itself (``process.json``), and its capture's first fault.

Written by ``recording/bootstrap/_xladoctor/records.py``. Earlier captures named the framework in
the keys: ``torch``, ``torch_xla`` and ``python`` in place of ``versions``, ``used_xla``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from xladoctor.ingest.interface import Ingested

_KEYS = {"pid", "frontend", "versions", "used_device", "folders", "settings", "settings_lines",
         "devices", "ended", "no_analysis_log"}  # fmt: skip
_EARLIER_PACKAGES = ("torch", "torch_xla", "python")
_FEW = 10  # steps of a window, from which on it needs no other


def read_process_record(path: Path, ingested: Ingested) -> dict[str, Any] | None:
    """The record in today's form; None, with what is lost noted, where it cannot be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        defect: object = "not a record of xladoctor"
    except FileNotFoundError:
        record, defect = None, "not written, as on a full disk, or removed"
    except (OSError, ValueError) as error:
        record, defect = None, error
    if isinstance(record, dict) and set(record := _renamed(record)) >= _KEYS:
        return record
    ingested.lose(f"{path}: cannot be read ({defect}); the process is left out")
    return None


def _renamed(record: dict[str, Any]) -> dict[str, Any]:
    """The record with today's keys."""
    if "used_xla" not in record:
        return record
    versions = {name: record[name] for name in _EARLIER_PACKAGES if name in record}
    return {**record, "frontend": "torch_xla", "versions": versions,
            "used_device": record["used_xla"]}  # fmt: skip


def add_process(record: dict[str, Any], number: int, folder: Path, ingested: Ingested) -> None:
    """Fill the tables of the process itself.

    Args:
        record: of :func:`read_process_record`.
        number: of the process in the tables.
        folder: its own, where a fault of the capture would be.
        ingested: where to.
    """
    devices = record["devices"]
    kind = devices[0].split(":")[0] if devices else record["settings"].get("PJRT_DEVICE")
    ingested.add(
        "process", process=number, pid=record["pid"], rank=record["rank"], host=record["host"],
        processors=record.get("processors"), frontend=record["frontend"],
        device_kind=kind, devices=len(devices), ended=record["ended"], main=record["main"],
        cwd=record["cwd"], began_ns=record["began_ns"], exit_ns=record.get("exit_ns"),
        ended_ns=record["ended_ns"],
        uncaught=record.get("uncaught"),
    )  # fmt: skip
    for package, version in record["versions"].items():
        ingested.add("version", process=number, package=package, version=version)
    ingested.table("environment")
    for name, value in record["settings"].items():
        file, line, function = record["settings_lines"].get(name, (None, None, None))
        ingested.add("environment", process=number, name=name, value=value,
                     set_by="program" if file else "environment", file=file, line=line,
                     function=function)  # fmt: skip
    _add_windows(record, number, folder, ingested)
    if not record["ended"]:
        ingested.lose(f"{folder.name}: the process was cut short; its last moments and the"
                      " source lines that are written at its end are missing")  # fmt: skip
    _add_fault(number, folder, ingested)


def _add_fault(number: int, folder: Path, ingested: Ingested) -> None:
    ingested.table("capture_fault")
    if fault := first_fault(folder):
        log = str(folder / "faults.log")
        ingested.add("capture_fault", process=number, text=fault, log=log)
        ingested.lost.append(f"{folder.name}: the capture switched itself off: {fault}")


def first_fault(folder: Path) -> str | None:
    """The last line of the first fault in ``faults.log``; others may follow from it."""
    faults = folder / "faults.log"
    if not faults.exists():
        return None
    text = faults.read_text(encoding="utf-8", errors="replace").strip()
    return re.split(r"\n(?=Traceback )", text)[0].splitlines()[-1] if text else None


def profile_of_program(
    record: dict[str, Any], folder: Path, ours: Path | None, ingested: Ingested
) -> Path | None:
    """The profile that the program took of itself, if it shows more than the capture's own window,
    or if there is no other; a note says what became of it.
    """
    windows = record.get("windows", ())
    taken = next((window for window in windows if window.get("of_program")), None)
    if taken is None:
        return None
    if "session" not in taken:
        end = "was not ended" if taken["ended_by"] != "the program" else "left no file here"
        ingested.notes.append(f"{folder.name}: the program's own profile {end}; nothing else can"
                              " be recorded while it lasts")  # fmt: skip
        return None
    path: Path = folder.parent / "plugins" / "profile" / taken["session"] / taken["file"]
    steps = f"{taken['steps']} step{'s' if taken['steps'] != 1 else ''}"
    captured = next((w["steps"] for w in windows if ours and w.get("session") == ours.parent.name
                     and w is not taken), -1)  # fmt: skip
    if captured >= min(taken["steps"], _FEW):
        ingested.notes.append(f"{folder.name}: the program profiled itself, too ({steps}):"
                              f" --session {taken['session']} reads that timeline")  # fmt: skip
        return None
    ingested.notes.append(f"{folder.name}: the timeline is the profile that the program took of"
                          f" itself ({steps})")  # fmt: skip
    return path


def without_jumps(
    record: dict[str, Any], folder: Path, timeline: Path, ingested: Ingested
) -> Path | None:
    """The timeline; None, with a note, if the clock that its profiler reads was set meanwhile."""
    jumped = next((window.get("jumped_ns", 0) for window in record.get("windows", ())
                   if window.get("session") == timeline.parent.name), 0)  # fmt: skip
    if not jumped:
        return timeline
    ingested.lose(f"{folder.name}: the timeline is left out: the system's clock was set"
                  f" {'ahead' if jumped > 0 else 'back'} by {abs(jumped) / 1e9:.6g} s while it was"
                  " recorded")  # fmt: skip
    return None


def _add_windows(
    record: dict[str, Any], number: int, folder: Path, ingested: Ingested
) -> None:  # fmt: skip
    names = ("session", "begin_ns", "end_ns", "steps", "ended_by", "bytes", "stop_ns", "write_ns")
    for window in record.get("windows", ()):
        ingested.add("capture_window", process=number, of_program="of_program" in window,
                     **{name: window.get(name) for name in names})  # fmt: skip
    if record.get("modules_too_large"):
        ingested.notes.append(f"{folder.name}: the modules of later compilations are left out:"
                              " they would exceed --trace-bytes")  # fmt: skip
