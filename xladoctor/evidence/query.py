"""Runs a user's own query: one SELECT over the evidence; returns its rows or writes a file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import duckdb

from xladoctor.errors import XladoctorError
from xladoctor.evidence.catalog import macros, views
from xladoctor.evidence.database import Database
from xladoctor.evidence.schema import TABLES
from xladoctor.foreign import encodable

_OPTIONS = {"csv": "FORMAT csv, HEADER", "json": "FORMAT json, ARRAY", "parquet": "FORMAT parquet"}
#: DuckDB's own listings of existing tables; other tables are only made when a query names them.
_LISTING = re.compile(r"(?i)\b(duckdb_|information_schema|pg_catalog|sqlite_master|show\b)")
_HINT = "`xladoctor query --schema` lists the tables and their columns"


class QueryError(XladoctorError):
    """The text is not a query, or DuckDB rejects it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a query.

    Attributes:
        columns: names of its columns.
        rows: its first rows, or all.
        count: the number of all rows.
    """

    columns: list[str]
    rows: list[tuple[Any, ...]]
    count: int


class Query:
    """A checked query: one statement that reads its database.

    Args:
        seconds: its time limit; 0 for none.

    Raises:
        QueryError: it is anything else.
    """

    def __init__(self, text: str, database: Database, seconds: float = 0) -> None:
        if encodable(text) != text:
            raise QueryError("the query has bytes that are not UTF-8", _HINT)
        if _LISTING.search(text):
            database.create([*TABLES, *views(), *macros()])
        self._seconds = seconds
        with _refusals():
            statements = database.statements(text)
        kinds = [kind for kind, _ in statements]
        if kinds not in (["SELECT"], ["MULTI"], ["EXPLAIN"]):  # a PIVOT may be a MULTI
            given = ", ".join(kinds) or "nothing"
            raise QueryError(f"the query must be one SELECT; found: {given}", _HINT)
        self._database = database
        self._text = statements[0][1].strip().removesuffix(";")
        self._explains = kinds == ["EXPLAIN"]

    def answer(self, limit: int = 0) -> Answer:
        """Run the query; ``limit`` is the most rows to return, 0 for all.

        Raises:
            QueryError: DuckDB refuses it.
        """
        if self._explains:
            columns, rows = self._run(self._text)
            return Answer(columns, rows, len(rows))
        columns, rows = self._run(self._within(f"LIMIT {limit + 1}" if limit else ""))
        if not limit or len(rows) <= limit:
            return Answer(columns, rows, len(rows))
        _, ((count,),) = self._run(f"SELECT count(*) {self._within()}")
        return Answer(columns, rows[:limit], count)

    def write(self, path: Path, kind: str) -> None:
        """Write the rows as ``csv`` (with a header), ``json`` (an array of objects) or ``parquet``.

        Infinite numbers and NaN, which JSON lacks, become null there.

        Raises:
            QueryError: DuckDB refuses the query or the file.
        """
        if self._explains:
            raise QueryError("EXPLAIN gives text, not rows", "leave out --format")
        source = self._finite() if kind == "json" else self._within()
        target = str(path).replace("'", "''")
        self._run(f"COPY ({source}) TO '{target}' ({_OPTIONS[kind]}, USE_TMP_FILE FALSE)")

    def absent(self, available: Collection[str]) -> list[str]:
        """The tables that the query reads but the evidence lacks."""
        named = set() if self._explains else self._database.tables_in(self._text)
        return [table for table in TABLES if table in named and table not in available]

    def _within(self, rest: str = "") -> str:
        """A FROM clause with the query as a subquery, whose lines begin at the second line."""
        return f"FROM (\n{self._text}\n) {rest}"

    def _finite(self) -> str:
        _, columns = self._run(f"DESCRIBE {self._within()}")
        names = [
            '"{}"'.format(name.replace('"', '""'))
            for name, kind, *_ in columns
            if kind in ("DOUBLE", "FLOAT")
        ]
        finite = ", ".join(
            f"CASE WHEN isfinite({name}) THEN {name} END AS {name}" for name in names
        )
        return f"SELECT * {f'REPLACE ({finite})' if names else ''} {self._within()}"

    def _run(self, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        with _refusals(int(statement != self._text)):
            return self._database.within(self._seconds, lambda: self._database.table(statement))


@contextmanager
def _refusals(lines_before: int = 0) -> Iterator[None]:
    """Turn DuckDB's errors into ours: the first line, and the place in the query."""
    try:
        yield
    except TimeoutError as error:
        raise QueryError(
            "the query took too long and was ended",
            "let it read or join fewer rows, or give it more time with --timeout",
        ) from error
    except duckdb.OutOfMemoryException as error:
        first = str(error).splitlines()[0]
        raise QueryError(
            f"the query needs too much memory: {first}", "let it read or join fewer rows"
        ) from error
    except duckdb.Error as error:
        first, *others = [line for line in str(error).splitlines() if line.strip()]
        missing = re.search(r"Table with name (\S+) does not exist", first)
        hint = _place(others, lines_before)
        if missing:
            alike = get_close_matches(missing[1].lower(), [*TABLES, *views()])
            hint += [f"there is: {', '.join(alike)}"] if alike else []
        else:
            hint = [line for line in others[:1] if line.startswith("Candidate")] + hint
        raise QueryError(f"the query failed: {first}", "\n".join([*hint, _HINT])) from error


def _place(lines: list[str], lines_before: int) -> list[str]:
    """The line of the query that DuckDB points at, and the line with the caret."""
    for number, line in enumerate(lines[:-1]):
        match = re.match(r"LINE (\d+): ", line)
        if match:
            shown = f"line {int(match[1]) - lines_before}: "
            caret = lines[number + 1][match.end() :]
            return [shown + line[match.end() :], " " * len(shown) + caret]
    return []
