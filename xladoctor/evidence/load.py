"""From a path to evidence: finds the reader, fills the database, creates the views."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from xladoctor.evidence.database import Database
from xladoctor.evidence.interface import Evidence
from xladoctor.ingest.interface import Ingested, IngestError
from xladoctor.ingest.run_directory import read_run_directory
from xladoctor.ingest.text_file import read_text, read_text_file

_EXPECTED = "expected a run directory of `xladoctor run`, or a metrics report or analysis log"


def load(path: str) -> Evidence:
    """Read ``path`` (``-`` for standard input) into evidence.

    Raises:
        IngestError: nothing is there, or it is of no kind that can be read.
    """
    if path == "-":
        return build(read_text(sys.stdin.buffer, "standard input"), {"kind": "text", "path": "-"})
    place = Path(path)
    try:
        is_directory, exists = place.is_dir(), place.exists()
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror}") from error
    if not exists:
        raise IngestError(f"{path}: no such file or directory", _EXPECTED)
    if is_directory:
        manifest, ingested = read_run_directory(place)
        return build(ingested, {"kind": "run", "path": path, **manifest})
    return build(read_text_file(place), {"kind": "text", "path": path})


def build(ingested: Ingested, origin: dict[str, Any]) -> Evidence:
    """Fill a database with what was read, and create the views over it."""
    database = Database()
    for table, columns in ingested.tables.items():
        database.insert(table, columns)
    database.create_views()
    available = frozenset(ingested.tables)
    return Evidence(database, available, tuple(ingested.notes), origin, origin.get("cwd"))
