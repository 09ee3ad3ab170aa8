"""Writes ``run.json``: what was requested, what was run, and how it ended."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xladoctor import __version__
from xladoctor.recording.bootstrap._xladoctor.files import give_room_back, keep_room_for_faults
from xladoctor.recording.interface import HOST, CaptureError, RunDirectory, RunRequest
from xladoctor.recording.job import Launcher
from xladoctor.regular_files import checksum, record_checksum
from xladoctor.repository import repository
from xladoctor.running import is_running
from xladoctor.whole_files import write_text

SCHEMA_VERSION = 1
_REWRITTEN = frozenset(
    ("run.json", "run.json.new", "diagnosis.json", "sources.json", "fixes.json", "report.txt")
)


def begin(directory: RunDirectory, request: RunRequest) -> dict[str, Any]:
    """Write what is known before the program starts."""
    root = repository(Path.cwd())
    launcher = Launcher.here(request.command)
    record = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "xladoctor", "version": __version__},
        "command": list(launcher.command),
        "host": launcher.host,
        "pid": launcher.pid,
        "job": launcher.job,
        "script": request.script,
        "cwd": str(Path.cwd()),
        "root": None if root is None else str(root),
        "session": request.options.session,
        "began_ns": time.time_ns(),
        "options": asdict(request.options),
        "ended": None,
    }
    write(directory, record)
    try:
        keep_room_for_faults(str(directory.path))
    except OSError as error:
        raise _unwritable(directory.path, error) from error
    return record


def finish(
    directory: RunDirectory,
    record: dict[str, Any],
    status: int,
    seconds: float,
    ended_after: Mapping[str, float] | None = None,
) -> None:
    """Add how the program ended: its exit status, or the signal that ended it.

    Args:
        record: the record from :func:`begin`.
        ended_after: the limit, ``timeout_s`` or ``stop_after_s``, after which it had to be ended.
    """
    ended = {
        "status": status if status >= 0 else None,
        "signal": -status if status < 0 else None,
        "seconds": round(seconds, 6),
        **(ended_after or {}),
    }
    give_room_back(str(directory.path))
    write(directory, {**record, "ended": ended, **inventory(directory.path)})


def inventory(path: Path) -> dict[str, dict[str, int]]:
    """The sizes (``files``) and checksums (``crc32``) of a run directory's files, so that what a
    copy lacks is noticed.

    Left out are files that other parts of the command write again later, the runs of other hosts,
    and the checksums of processes that still run.
    """
    sizes, checksums = {}, {}
    running = {folder.name for folder in RunDirectory(path).processes() if is_running(folder)}
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path)
        with contextlib.suppress(OSError):  # a process that still runs has removed it
            if file.name in _REWRITTEN or name.parts[0].startswith(HOST) or not file.is_file():
                continue
            sizes[str(name)] = file.stat().st_size
            if name.parts[0] not in running:
                checksums[str(name)] = checksum(file)
    return {"files": sizes, "crc32": checksums}


def write(directory: RunDirectory, record: dict[str, Any]) -> None:
    """Replace ``run.json``. Raises CaptureError if that is not possible."""
    record = {**record, "own_crc32": record_checksum(record)}
    try:
        write_text(directory.manifest, json.dumps(record, indent=1) + "\n")
    except OSError as error:
        raise _unwritable(directory.manifest, error) from error
    finally:
        with contextlib.suppress(OSError):
            directory.unwritten_manifest.unlink()


def _unwritable(path: Path, error: OSError) -> CaptureError:
    return CaptureError(f"cannot write {path}: {error.strerror}")
