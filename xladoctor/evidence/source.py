"""The text of a line as it ran: from the capture, else from the file if it is still the same."""

from __future__ import annotations

import linecache
from pathlib import Path

from xladoctor.evidence.interface import Evidence


def source_line(evidence: Evidence, file: str, line: int) -> str | None:
    """The line's text without its line end, or None where it cannot be known."""
    text = evidence.database.scalar(
        "SELECT text FROM source_line WHERE file = $file AND line = $line AND text <> ''",
        {"file": file, "line": line},
    )
    if text is not None:
        return str(text)
    began = evidence.origin.get("began_ns")
    try:
        unchanged = began is not None and Path(file).stat().st_mtime_ns <= began
    except OSError:
        return None
    return linecache.getline(file, line).rstrip("\n") or None if unchanged else None
