"""Finds the text of a line as it ran, and comments that ignore findings: from the capture, else
from the file if it is unchanged.

A file is read only for a run of this host, in the current repository or the one with the run
directory; and only below that repository or among installed packages. Evidence from elsewhere can
name any file, and reports are passed on.
"""

from __future__ import annotations

import hashlib
import linecache
import socket
import sysconfig
from pathlib import Path

from xladoctor.evidence.interface import Evidence
from xladoctor.ingest.regular import lies_in
from xladoctor.recording.bootstrap._xladoctor.ignores import Ignore, ignores
from xladoctor.recording.bootstrap._xladoctor.redaction import redact_code
from xladoctor.recording.interface import RUNS
from xladoctor.repository import repository


def source_line(evidence: Evidence, file: str, line: int) -> str | None:
    """The line's text without its line end and secrets; None if unknown."""
    text = evidence.database.scalar(
        "SELECT text FROM source_line WHERE file = $file AND line = $line AND text <> ''",
        {"file": file, "line": line},
    )
    if text is not None:
        return str(text)
    if not is_as_it_ran(evidence, file):
        return None
    return redact_code(linecache.getline(file, line).rstrip("\n")) or None


def lines_around(evidence: Evidence, file: str, line: int, around: int) -> list[tuple[int, str]]:
    """The lines from ``around`` above to ``around`` below, each with its number, without secrets.

    Empty if the file has changed since the run.
    """
    if not is_as_it_ran(evidence, file):
        return []
    lines = linecache.getlines(file)
    first, end = max(1, line - around), min(len(lines), line + around)
    return [
        (number, redact_code(lines[number - 1].rstrip("\n"))) for number in range(first, end + 1)
    ]


def ignores_in(evidence: Evidence, file: str) -> list[Ignore]:
    """The comments in a file that ignore findings, as far as they are known."""
    rows = evidence.database.rows(
        "SELECT DISTINCT line, first_line, last_line, text FROM ignore_comment WHERE file = $file"
        " ORDER BY ALL",
        {"file": file},
    )
    if rows or not is_as_it_ran(evidence, file):
        return [Ignore(*row.values()) for row in rows]
    found = ignores(linecache.getlines(file))
    return [directive._replace(text=redact_code(directive.text)) for directive in found]


def is_as_it_ran(evidence: Evidence, file: str) -> bool:
    """Whether a file exists here, belongs to the program, and is older than its run."""
    return is_unchanged(evidence, file) and is_own(evidence, Path(file))


def is_unchanged(evidence: Evidence, file: str) -> bool:
    """Whether a file exists here with the text that it had in the run; if that was not recorded,
    whether it is older than the run, as far as that is known.
    """
    evidence.consulted.add(file)
    began = evidence.began_ns
    recorded = evidence.database.rows(
        "SELECT DISTINCT sha256 FROM source_file WHERE file = $file", {"file": file}
    )
    try:
        if recorded:
            text = Path(file).read_bytes()
            return [row["sha256"] for row in recorded] == [hashlib.sha256(text).hexdigest()]
        return began is not None and Path(file).stat().st_mtime_ns <= began
    except (OSError, ValueError):
        return False


def is_own(evidence: Evidence, file: Path) -> bool:
    """Whether a file is source code of the program, and the program is the user's own."""
    place = _ran_in(evidence)
    hosts = {row["host"] for row in evidence.database.rows("SELECT DISTINCT host FROM process")}
    if file.suffix != ".py" or place is None or hosts != {socket.gethostname()}:
        return False
    packages = (Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))
    try:
        return any(file.is_file() and lies_in(file, folder) for folder in (place, *packages))
    except (OSError, ValueError, RuntimeError):  # such as a cycle of links
        return False


def _ran_in(evidence: Evidence) -> Path | None:
    """The repository or folder that the program ran in, if the user or the run is in it, too."""
    run = Path(evidence.path).absolute()
    made_in = next((folder.parent for folder in run.parents if folder.name == RUNS), run)
    for folder in (Path.cwd(), made_in):
        place = repository(folder) or folder
        if evidence.root in (str(place), str(folder)):
            return place
    return None
