"""The evidence in DuckDB, in memory: filled column by column, then closed to the outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from typing import Any

import duckdb
import numpy as np

from xladoctor.evidence.schema import TABLES

_NUMPY = {"INTEGER": np.int64, "BIGINT": np.int64, "DOUBLE": np.float64,
          "BOOLEAN": np.bool_}  # fmt: skip


class Database:
    """The tables of :mod:`~xladoctor.evidence.schema` and the views of ``views/*.sql``."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:")
        for name, table in TABLES.items():
            columns = ", ".join(f'"{column}" {c.type}' for column, c in table.columns.items())
            self._connection.execute(f'CREATE TABLE "{name}" ({columns})')

    def insert(self, table: str, columns: Mapping[str, list[Any]]) -> None:
        """Append rows, given as columns; columns that are not given are NULL."""
        count = len(next(iter(columns.values()), ()))
        if not count:
            return
        described = TABLES[table].columns
        arrays = {name: _array(values, described[name].type) for name, values in columns.items()}
        names = ", ".join(f'"{name}"' for name in columns)
        with self._registered("incoming", arrays):
            insert = f'INSERT INTO "{table}" ({names}) SELECT {names} FROM incoming'  # noqa: S608
            self._connection.execute(insert)

    def create_views(self) -> None:
        """Create the views, in the order of their file names."""
        folder = resources.files("xladoctor.evidence") / "views"
        for view in sorted(folder.iterdir(), key=lambda entry: entry.name):
            self._connection.execute(view.read_text(encoding="utf-8"))

    def close_to_the_outside(self) -> None:
        """From now on a query can read the evidence and nothing else, and cannot undo this."""
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def rows(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Run a query; one dictionary a row."""
        cursor = self._connection.execute(query, dict(parameters or {}))
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def scalar(self, query: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """The first value of the first row, or None."""
        row = self._connection.execute(query, dict(parameters or {})).fetchone()
        return row[0] if row else None

    @contextmanager
    def _registered(self, name: str, arrays: dict[str, Any]) -> Iterator[None]:
        self._connection.register(name, arrays)
        try:
            yield
        finally:
            self._connection.unregister(name)


def _array(values: list[Any], kind: str) -> np.ndarray[Any, Any]:
    """An array that DuckDB scans without a copy where no value is missing."""
    if kind in _NUMPY and None not in values:
        return np.asarray(values, dtype=_NUMPY[kind])
    array = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):  # slice assignment would unpack lists
        array[position] = value
    return array
