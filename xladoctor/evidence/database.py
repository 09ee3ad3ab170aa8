"""The evidence in DuckDB, in memory: filled column by column, then closed to the outside."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import duckdb
import numpy as np

from xladoctor.evidence.catalog import macro_heads, macros, statements, views, words
from xladoctor.evidence.columns import Source, objects, source
from xladoctor.evidence.query_shapes import (
    Conditions,
    key_of,
    named_by,
    query_shapes,
    with_named,
)
from xladoctor.evidence.schema import TABLES
from xladoctor.evidence.syntax import nodes, syntax
from xladoctor.ingest.interface import Columns

Result = TypeVar("Result")
_TURNS, _TURN_S = 10, 0.05  # attempts to end a query


class Database:
    """The tables of :mod:`~xladoctor.evidence.schema` and the views of ``views/*.sql``.

    Args:
        threads: threads for a query; one per processor by default.
    """

    def __init__(self, threads: int | None = None) -> None:
        # By default DuckDB moves what is too large into .tmp in the working folder, which all
        # processes there share.
        options: dict[str, Any] = {"temp_directory": ""}
        if threads is not None:
            options["threads"] = threads
        self._connection = duckdb.connect(":memory:", config=options)
        # the progress of slow queries would be written to standard output
        self._connection.execute("SET enable_progress_bar = false")
        # Python objects are texts: guessing types from a sample needs pandas in DuckDB 1.2.0
        self._connection.execute("SET pandas_analyze_sample = 0")
        self._lazy: dict[str, Sequence[Callable[[], Columns]]] = {}
        self._has_rows: dict[str, bool] = {}  # of the views that exist
        self._filled = set[str]()
        self._closed = False
        self._waiting: defaultdict[str, list[dict[str, Source]]] = defaultdict(list)
        self._positions: Counter[str] = Counter()  # the next one of each table
        #: How many numbers were too large for each column, by table and column; they are NULL.
        self.beyond: Counter[tuple[str, str]] = Counter()
        # most queries need few of the sixty tables; creating all takes longer than the query
        self._uncreated = dict(_tables())
        self._connection.execute(macro_heads()["warmup"].statement)

    def insert(self, table: str, columns: Columns) -> None:
        """Append rows, given as columns; missing columns are NULL. Until a query names the table,
        the columns are kept as they are, and must not change.

        Raises:
            ValueError: the columns differ in length.
        """
        if not row_count(columns):
            return
        self._filled.add(table)
        if "position" in TABLES[table].columns:
            first = self._positions[table]
            self._positions[table] += row_count(columns)
            columns = {**columns, "position": np.arange(first, self._positions[table])}
        self._waiting[table].append(self._sources("incoming", table, columns))
        if table not in self._uncreated:
            self._insert_waiting(table)

    def insert_rows_of(self, table: str, query: str) -> None:
        """Append the rows of a query, which may read files; its columns have the table's names."""
        self._create(table)
        self._connection.execute(f'INSERT INTO "{table}" BY NAME {query}')
        if self.scalar(f'SELECT EXISTS (FROM "{table}")'):
            self._filled.add(table)
            self._has_rows.pop(table, None)

    def write(self, query: str, file: Path, texts: Mapping[str, str]) -> None:
        """Write the rows of a query to a Parquet file, which must be writable
        (:meth:`close_to_the_outside`).

        Args:
            texts: more columns, the same in each row.
        """
        self.prepare(query)
        *values, target = (text.replace("'", "''") for text in (*texts.values(), str(file)))
        more = "".join(f", '{value}' AS {name}" for name, value in zip(texts, values, strict=True))
        self._connection.execute(
            f"COPY (SELECT *{more} FROM ({query})) TO '{target}'"  # noqa: S608
            " (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE FALSE)"
        )

    def _insert_waiting(self, table: str) -> None:
        for sources in self._waiting.pop(table, ()):
            self._register("incoming", sources)
            names = ", ".join(f'"{name}"' for name in sources)
            select = _select("incoming", sources, sources)
            self._connection.execute(f'INSERT INTO "{table}" ({names}) {select}')
            self._unregister("incoming", sources)

    def lazy(self, table: str, producers: Sequence[Callable[[], Columns]]) -> None:
        """Produce the rows of a table when a query first names it or a view over it.

        Each producer returns columns, which are then scanned in place: the table becomes a view.
        """
        self._lazy[table] = producers

    def unknown_numbers(self) -> list[tuple[str, str]]:
        """A note, with its table, on each column that lacks numbers since the last call; the rows
        of a lazy table exist once a query has named it.
        """
        beyond, self.beyond = self.beyond, Counter()
        return [
            (
                table,
                f"{'a number is' if count == 1 else f'{count} numbers are'} too large for"
                f" {table}.{column}; taken as unknown",
            )
            for (table, column), count in beyond.items()
        ]

    def create_views(self, *below: str) -> None:
        """Register the views and macros, each of which is created when a query first names it or a
        view over it.

        Views in ``derived`` need what the diagnosis adds to the evidence.
        """
        self._uncreated |= statements(*below)

    def create(self, names: Container[str]) -> None:
        """Create tables, views and macros that do not exist yet, with those that they need."""
        for name in [each for each in self._uncreated if each in names]:
            self._create(name)

    def _create(self, name: str) -> None:
        """Create a table, view or macro. A view that has no rows becomes an empty table, and what
        it reads is not needed.
        """
        if name not in self._uncreated:
            return
        shape = query_shapes().views.get(name)
        if shape is None or not self._known_empty(shape.empty_without):
            for each in named_by(name):
                self._create(each)
        if shape and self._known_empty(shape.empty_without):
            self._connection.execute(f'CREATE TABLE "{name}" ({shape.columns})')
            self._has_rows[name] = False
        else:
            created = self._connection.execute(self._uncreated[name]).fetchall()
            if name in views():
                self._has_rows[name] = created != [(0,)]
        del self._uncreated[name]
        if name in self._waiting:
            self._insert_waiting(name)

    def _known_empty(self, conditions: Conditions) -> bool:
        """Whether one of these sets of tables and views is empty, as far as is known."""
        return any(all(map(self._without_rows, names)) for names in conditions)

    def _without_rows(self, name: str) -> bool:
        """Whether a table or view is known to have no rows; creates nothing."""
        if name in self._has_rows:
            return not self._has_rows[name]
        if name in TABLES:
            return name not in self._filled and name not in self._lazy
        shape = query_shapes().views.get(name)
        return shape is not None and self._known_empty(shape.empty_without)

    def close_to_the_outside(self, writable: Path | None = None) -> None:
        """Restrict queries to reading the evidence; a query cannot undo this, and no later call
        changes it.

        Args:
            writable: the one file that may still be written.
        """
        if self._closed:
            return
        self._closed = True
        if writable is not None:
            path = str(writable).replace("'", "''")
            self._connection.execute(f"SET allowed_paths = ['{path}']")
        self._bound_memory()
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def _bound_memory(self) -> None:
        """Limit a query to half of the machine's memory."""
        most: str = self.scalar("SELECT current_setting('memory_limit')")  # 80% of the memory
        number, unit = most.split()
        self._connection.execute(f"SET memory_limit = '{float(number) * 5 / 8} {unit}'")

    def within(self, seconds: float, work: Callable[[], Result]) -> Result:
        """Run queries with a time limit, and end them if the user interrupts: DuckDB itself only
        checks for signals between queries.

        Args:
            seconds: the limit; 0 for none.
            work: runs the queries.

        Raises:
            TimeoutError: it took longer.
        """
        done: Future[Result] = Future()
        worker = Thread(target=_settle, args=(done, work), daemon=True)
        worker.start()
        try:
            return done.result(seconds or None)
        finally:
            for _ in range(_TURNS):
                if done.done():
                    break
                self._connection.interrupt()  # has no effect before a query has begun
                worker.join(_TURN_S)

    def rows(
        self, query: str, parameters: Mapping[str, Any] | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Run a query; one dictionary per row.

        Args:
            limit: the most rows to fetch.
        """
        conditions = query_shapes().queries.get(key_of(query))
        if conditions and self._known_empty(conditions):
            return []
        names, rows = self.table(query, parameters, limit)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def table(
        self, query: str, parameters: Mapping[str, Any] | None = None, limit: int | None = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a query; the names of its columns, and its rows."""
        self.prepare(query)
        cursor = self._connection.execute(query, dict(parameters or {}))
        rows = cursor.fetchall() if limit is None else cursor.fetchmany(limit)
        return [column[0] for column in cursor.description or ()], rows

    def arrays(self, query: str) -> dict[str, np.ndarray[Any, Any]]:
        """Run a query whose columns are numbers without NULL; one array per column."""
        self.prepare(query)
        return self._connection.execute(query).fetchnumpy()

    def scalar(self, query: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """The first value of the first row, or None."""
        _, rows = self.table(query, parameters)
        return rows[0][0] if rows else None

    def has_rows(self, name: str) -> bool:
        """Whether a table or view has any rows; cached, as many rules need it."""
        if self._without_rows(name):
            return False
        if name in self._has_rows:
            return True
        query = f'SELECT EXISTS (FROM "{name}")'
        self.prepare(query)
        if name in TABLES:
            return name in self._filled
        if name not in self._has_rows:
            self._has_rows[name] = self.scalar(query)
        return self._has_rows[name]

    def statements(self, text: str) -> list[tuple[str, str]]:
        """The statements of a text, each with its kind: SELECT, EXPLAIN, COPY, …"""
        return [(s.type.name, s.query) for s in self._connection.extract_statements(text)]

    def tables_in(self, query: str) -> set[str]:
        """The tables, views and macros that a query names, and the ones that these depend on."""
        return with_named(self._named(query))

    def _named(self, query: str) -> set[str]:
        """The tables and macros that a query names; every word of it if it is not a SELECT."""
        try:
            found = list(nodes(syntax(query, self._connection)))
        except (duckdb.Error, ValueError):  # no JSON functions, or none that can be parsed
            return words(query)
        tables, functions = (
            {node[key] for node in found if isinstance(node.get(key), str)}
            for key in ("table_name", "function_name")
        )
        return {name.strip('"').lower() for name in tables} | functions & macros().keys()

    def prepare(self, query: str) -> None:
        """Create the tables and views that the query names, and the ones that these depend on."""
        named = words(query)  # any may be a name; a parser would take longer
        if not self._lazy.keys().isdisjoint(with_named(named)):
            for table in self._lazy.keys() & self.tables_in(query):
                self._define(table, [produce() for produce in self._lazy[table]])
                del self._lazy[table]
        self.create(named)

    def _define(self, table: str, parts: Iterable[Columns]) -> None:
        """Replace an empty table with a view over arrays."""
        selects = []
        for number, columns in enumerate(part for part in parts if row_count(part)):
            name = f"{table} {number}"
            sources = self._sources(name, table, columns)
            self._register(name, sources)
            for column in TABLES[table].columns.keys() - sources.keys():
                sources[column] = Source({}, f"NULL::{TABLES[table].columns[column].type}")
            selects.append(_select(name, sources, TABLES[table].columns))
        if selects:
            self._filled.add(table)
            if self._uncreated.pop(table, None) is None:
                self._connection.execute(f'DROP TABLE "{table}"')
            self._connection.execute(f'CREATE VIEW "{table}" AS {" UNION ALL ".join(selects)}')

    def _sources(self, name: str, table: str, columns: Columns) -> dict[str, Source]:
        """How to scan each of these columns of a table, once they are registered under a name."""
        described = TABLES[table].columns
        sources = {
            column: source(column, values, described[column], f"{name} {column}")
            for column, values in columns.items()
        }
        for column, scanned in sources.items():
            if scanned.beyond:
                self.beyond[table, column] += scanned.beyond
        return sources

    def _register(self, name: str, sources: Mapping[str, Source]) -> None:
        for column, scanned in sources.items():
            if scanned.texts is not None:
                self._register_texts(f"{name} {column}", scanned.texts, scanned.listed)
        arrays = {
            key: array for scanned in sources.values() for key, array in scanned.arrays.items()
        }
        self._connection.register(name, arrays)

    def _register_texts(self, name: str, texts: list[str], listed: bool) -> None:
        codes = np.arange(-1, len(texts), dtype=np.int32)
        arrays = {"_code": codes, "_text": objects([None, *texts])}
        what = "list(_text ORDER BY _code) AS texts" if listed else "_code, _text"
        self._connection.register("texts", arrays)
        select = f"SELECT {what} FROM texts"  # noqa: S608
        self._connection.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {select}')
        self._connection.unregister("texts")

    def _unregister(self, name: str, sources: Mapping[str, Source]) -> None:
        self._connection.unregister(name)
        for column, scanned in sources.items():
            if scanned.texts is not None:
                self._connection.execute(f'DROP TABLE "{name} {column}"')


@cache
def _tables() -> dict[str, str]:
    """By name, the statement that creates each table."""
    columns = {
        name: ", ".join(f'"{column}" {c.type}' for column, c in table.columns.items())
        for name, table in TABLES.items()
    }
    return {name: f'CREATE TABLE "{name}" ({described})' for name, described in columns.items()}


def _settle(done: Future[Result], work: Callable[[], Result]) -> None:
    try:
        done.set_result(work())
    except BaseException as error:
        done.set_exception(error)


def row_count(columns: Columns) -> int:
    """The number of rows, the same in all columns: DuckDB would read past a shorter one."""
    counts = {len(values) for values in columns.values()}
    if len(counts) > 1:
        raise ValueError(f"columns of different lengths: {sorted(counts)}")
    return counts.pop() if counts else 0


def _select(name: str, sources: Mapping[str, Source], wanted: Iterable[str]) -> str:
    expressions = ", ".join(f'{sources[column].sql} AS "{column}"' for column in wanted)
    joins = " ".join(sources[column].join for column in wanted)
    return f'SELECT {expressions} FROM "{name}" {joins}'  # noqa: S608 - names come from the schema
