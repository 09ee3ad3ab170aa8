"""Loads evidence from a path: finds the reader, fills the database, creates the views."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Literal

import msgspec

from xladoctor import timings
from xladoctor.evidence.columns import joined
from xladoctor.evidence.database import Database, row_count
from xladoctor.evidence.interface import Elsewhere, Evidence, Origin
from xladoctor.evidence.places import Place, brought
from xladoctor.evidence.pod_runs import is_run, members
from xladoctor.evidence.runs import refuse_several
from xladoctor.foreign import clean, encodable, quoted
from xladoctor.frontends.vocabulary import DEFAULT, tables
from xladoctor.ingest.console_text import read_text
from xladoctor.ingest.interface import Ingested, Progress
from xladoctor.ingest.recorded_elsewhere import read_elsewhere, texts_alone
from xladoctor.ingest.run_directory import read_run_directory
from xladoctor.ingest.tpu_checks import is_tpu_check, read_tpu_check

_FEW_ROWS = 100_000  # below this, threads cost more than they save


def load(
    path: str | Sequence[str], session: str | None = None, progress: Progress | None = None
) -> Evidence:
    """Read a path, or several of one program, into evidence.

    Args:
        path: a run directory, or a run by name; or files and directories that other tools wrote,
            of one program; or URLs of these. ``-`` is standard input.
        session: which of several captured timelines to read; by default the last one.
        progress: receives how far large files have been read.

    Raises:
        IngestError: there is nothing, or nothing that can be read.
        StorageError: a URL cannot be read.
    """
    words = [path] if isinstance(path, str) else list(path)
    if words == ["-"]:
        ingested = texts_alone([read_text(sys.stdin.buffer, "standard input")])
        return build(ingested, "-", Elsewhere("text"))
    found = [_one_host(each) for each in brought(words, session, progress)]
    places = [each.path for each in found]
    if len(places) == 1 and is_run(places[0]):
        with found[0].shown_in_errors():
            manifest, ingested = read_run_directory(places[0], session, progress)
        return _built(ingested, found, found[0].shown, manifest)
    if len(places) == 1 and is_tpu_check(places[0]):
        ingested = Ingested()
        with found[0].shown_in_errors():
            frontend = read_tpu_check(places[0], ingested)
        return _built(ingested, found, found[0].shown, Elsewhere("graphs"), frontend)
    with ExitStack() as stack:
        for each in found:
            stack.enter_context(each.shown_in_errors())
        refuse_several(places)
        ingested = read_elsewhere(places, session, progress)
    if len(found) > 1:
        return _built(ingested, found, quoted(*(each.shown for each in found)), Elsewhere("files"))
    kind: Literal["timeline", "text"] = "timeline" if "timeline" in ingested.tables else "text"
    return _built(ingested, found, found[0].shown, Elsewhere(kind))


def _one_host(place: Place) -> Place:
    """The run itself, if a folder for the runs of a job's hosts has that of one alone."""
    hosts = members(place.path)
    return replace(place, path=hosts[0]) if len(hosts) == 1 else place


def _built(
    ingested: Ingested,
    found: Sequence[Place],
    path: str,
    origin: Origin,
    frontend: str | None = None,
) -> Evidence:
    """The evidence, in which places of copies are shown as the URLs that these are of."""
    for each in found:
        each.show_in(ingested)
    evidence = build(ingested, path, origin, frontend)
    return replace(evidence, copies={each.shown: each.path for each in found if each.is_copy})


def build(ingested: Ingested, path: str, origin: Origin, frontend: str | None = None) -> Evidence:
    """Fill a database with what was read, and create the views over it.

    Args:
        path, origin: as in :class:`Evidence`.
        frontend: that of the program, if no process names one.
    """
    timings.done("reading")
    parts = [*ingested.tables.values(), *(columns for _, columns in ingested.batches)]
    small = not ingested.lazy and sum(map(row_count, parts)) < _FEW_ROWS
    database = Database(threads=1 if small else None)
    frontend = _frontend(ingested, frontend)
    for table, columns in (*ingested.tables.items(), *tables(frontend).items()):
        database.insert(table, columns)
    for table, columns in joined(ingested.batches):
        database.insert(table, columns)
    for table, note in database.unknown_numbers():
        ingested.lose(f"{path}: {note}", table)
    for table, producers in ingested.lazy.items():
        database.lazy(table, producers)
    database.create_views()
    timings.done("database")
    if ingested.more_lost:
        more = f"{path}: as much is lost in {ingested.more_lost:,} more places"
        ingested.notes.append(more)
        ingested.lost.append(more)
    available = frozenset(ingested.tables) | frozenset(ingested.lazy)
    notes, lost = (
        tuple(dict.fromkeys(map(clean, texts))) for texts in (ingested.notes, ingested.lost)
    )
    if not isinstance(origin, Elsewhere):
        origin = msgspec.convert(_encodable(msgspec.to_builtins(origin)), type(origin))
    return Evidence(
        database,
        available,
        notes,
        path,
        origin,
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


def _frontend(ingested: Ingested, given: str | None) -> str:
    """The frontend of the program, as far as the evidence shows it."""
    processes, timelines = (
        ingested.tables.get(table, {}).get("frontend", ()) for table in ("process", "timeline")
    )
    named = (*processes, given, *timelines)
    return next((str(name) for name in named if name), DEFAULT)
