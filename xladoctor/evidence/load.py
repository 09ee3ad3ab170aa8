"""Loads evidence from a path: finds the reader, fills the database, creates the views."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xladoctor.evidence.database import Database, row_count
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.runs import is_run, locate, refuse_several
from xladoctor.foreign import clean, encodable, quoted
from xladoctor.frontends.vocabulary import DEFAULT, tables
from xladoctor.ingest.console_text import read_text
from xladoctor.ingest.interface import Ingested, Progress
from xladoctor.ingest.recorded_elsewhere import add_texts, read_elsewhere
from xladoctor.ingest.run_directory import read_run_directory
from xladoctor.ingest.run_records import RemoteManifest, plain

_FEW_ROWS = 100_000  # below this, threads cost more than they save


def load(
    path: str | Sequence[str], session: str | None = None, progress: Progress | None = None
) -> Evidence:
    """Read a path, or several of one program, into evidence.

    Args:
        path: a run directory, or a run by name; or files and directories that other tools wrote,
            of one program. ``-`` is standard input.
        session: which of several captured timelines to read; by default the last one.
        progress: receives how far large files have been read.

    Raises:
        IngestError: there is nothing, or nothing that can be read.
    """
    words = [path] if isinstance(path, str) else list(path)
    if words == ["-"]:
        ingested = Ingested()
        add_texts([read_text(sys.stdin.buffer, "standard input")], [], ingested)
        return build(ingested, {"kind": "text", "path": "-"})
    paths = [locate(word) for word in words]
    places = [Path(each) for each in paths]
    if len(places) == 1 and is_run(places[0]):
        manifest, ingested = read_run_directory(places[0], session, progress)
        kind = "remote" if isinstance(manifest, RemoteManifest) else "run"
        return build(ingested, {**plain(manifest), "kind": kind, "path": paths[0]})
    refuse_several(places)
    ingested = read_elsewhere(places, session, progress)
    kind = "timeline" if "timeline" in ingested.tables else "text"
    if len(paths) > 1:
        return build(ingested, {"kind": "files", "path": quoted(*paths)})
    return build(ingested, {"kind": kind, "path": paths[0]})


def build(ingested: Ingested, origin: dict[str, Any]) -> Evidence:
    """Fill a database with what was read, and create the views over it.

    Args:
        ingested: what was read.
        origin: as in :class:`Evidence`; its ``frontend`` counts if no process has one.
    """
    parts = [*ingested.tables.values(), *(columns for _, columns in ingested.batches)]
    small = not ingested.lazy and sum(map(row_count, parts)) < _FEW_ROWS
    database = Database(threads=1 if small else None)
    frontend = _frontend(ingested, origin)
    for table, columns in (*ingested.tables.items(), *tables(frontend).items()):
        database.insert(table, columns)
    for table, columns in ingested.batches:
        database.insert(table, columns)
    for table, producers in ingested.lazy.items():
        database.lazy(table, producers)
    database.create_views()
    available = frozenset(ingested.tables) | frozenset(ingested.lazy)
    notes, lost = (tuple(map(clean, told)) for told in (ingested.notes, ingested.lost))
    origin = {**_encodable(origin), "path": origin.get("path")}  # commands need the exact path
    return Evidence(
        database,
        available,
        notes,
        origin,
        origin.get("cwd"),
        lost,
        frontend,
        {table: clean(note) for table, note in ingested.cut.items()},
    )


def _encodable(value: Any) -> Any:
    """A manifest's value, with surrogates escaped as in the tables."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value


def _frontend(ingested: Ingested, origin: dict[str, Any]) -> str:
    """The frontend of the program, as far as the evidence shows it."""
    processes, timelines = (
        ingested.tables.get(table, {}).get("frontend", ()) for table in ("process", "timeline")
    )
    named = (*processes, origin.get("frontend"), *timelines)
    return next((str(name) for name in named if name), DEFAULT)
