"""``run.json``: what was asked, what was run, and how it ended."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

from xladoctor import __version__
from xladoctor.capture.interface import CaptureError, RunDirectory, RunRequest

SCHEMA_VERSION = 1
_SECRET = re.compile(r"(?i)^(--?[\w-]*(?:token|key|secret|password|credential)[\w-]*)(=.*)?$")


def begin(directory: RunDirectory, request: RunRequest, session: str) -> dict[str, Any]:
    """Write the manifest as far as it is known before the program starts."""
    record = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "xladoctor", "version": __version__},
        "command": redact(request.command),
        "script": request.script,
        "cwd": str(Path.cwd()),
        "session": session,
        "began_ns": time.time_ns(),
        "trace": {"steps": request.trace_steps, "seconds": request.trace_seconds},
        "ended": None,
    }
    _write(directory, record)
    return record


def finish(directory: RunDirectory, record: dict[str, Any], status: int, seconds: float) -> None:
    """Add how the program ended: its exit status, or the signal that ended it."""
    ended = {
        "status": status if status >= 0 else None,
        "signal": -status if status < 0 else None,
        "seconds": round(seconds, 6),
    }
    _write(directory, {**record, "ended": ended})


def redact(command: tuple[str, ...]) -> list[str]:
    """Leave out the values of arguments that look like secrets."""
    shown: list[str] = []
    hide = False
    for argument in command:
        match = _SECRET.match(argument)
        if hide and not argument.startswith("-"):
            shown.append("…")
            hide = False
        elif match:
            shown.append(f"{match[1]}=…" if match[2] else argument)
            hide = not match[2]
        else:
            shown.append(argument)
            hide = False
    return shown


def _write(directory: RunDirectory, record: dict[str, Any]) -> None:
    new = directory.manifest.with_suffix(".json.new")
    try:
        new.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        new.replace(directory.manifest)
    except OSError as error:
        raise CaptureError(f"cannot write {directory.manifest}: {error.strerror}") from error
