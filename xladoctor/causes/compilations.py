"""Reads the compilations in the evidence, in order, and by call site."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from xladoctor.causes.interface import Compilation, Loaders, Periods, Site
from xladoctor.evidence.database import Database
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.row import Row

_COMPILATIONS = """
    SELECT process, file, line, via, cause,
           index, thread, step, ordinal, graph_hash, inputs, outputs, end_ns, duration_ns, function
    FROM compilation WHERE cause IS DISTINCT FROM 'operator'  -- in eager mode, no graph of a line
    ORDER BY process, index
"""


def read_compilations(database: Database) -> list[Compilation]:
    """All compilations of graphs by process, in order."""
    of_site = len(Site._fields)
    return [
        Compilation(Site(*row[:of_site]), *row[of_site:])
        for row in database.table(_COMPILATIONS)[1]
    ]


def read_periods(database: Database) -> Periods:
    """The periods of all threads whose loop has barriers."""
    rows = database.table("SELECT process, thread, barriers FROM step_period")[1]
    return {(process, thread): barriers for process, thread, barriers in rows}


def read_loaders(database: Database) -> Loaders:
    """By process and batch size, the last, smaller batch of each loader that keeps it."""
    rows = database.table(
        "SELECT process, batch_size, list(last_batch) FROM loader WHERE NOT drop_last GROUP BY ALL"
    )[1]
    return {(process, size): last for process, size, last in rows}


def by_site(compilations: Iterable[Compilation]) -> dict[Site, list[Compilation]]:
    """What each call site compiled, in order."""
    sites: dict[Site, list[Compilation]] = defaultdict(list)
    for compilation in compilations:
        sites[compilation.site].append(compilation)
    return sites


def explained(evidence: Evidence) -> list[Row]:
    """A row for each compilation, ready for JSON; ``cause`` is None for the first of a site."""
    query = "FROM explained_compilation ORDER BY process, index"
    return [_shown(row, evidence) for row in evidence.database.rows(query)]


def call_sites(evidence: Evidence) -> list[Row]:
    """A row for each call site, in the order of their first compilation; sums in seconds."""
    query = "SELECT * EXCLUDE first FROM compiled_site ORDER BY process, first"
    return [_shown(row, evidence) for row in evidence.database.rows(query)]


def _shown(row: Row, evidence: Evidence) -> Row:
    """The row with paths as reports show them."""
    shown = {key: evidence.shown(row[key]) for key in ("file", "user_file")}
    cause = row.get("cause")
    return {**row, **shown, **({"cause": _shown(cause, evidence)} if cause else {})}
