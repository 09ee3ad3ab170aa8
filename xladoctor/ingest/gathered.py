"""Collects the rows of long logs in little memory: a few thousand rows as they come, all others in
columns of numbers, or of indices of repeated values.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, overload

import numpy as np

from xladoctor.ingest.interface import Columns, ProcessRows

_ROWS = 4096


class Repeated(Sequence[Any]):
    """A column of values that repeat.

    Attributes:
        codes: for each row the index of its value; -1 if it is unknown.
        values: the distinct values, all of one type.
    """

    __slots__ = ("_known", "codes", "values")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, rows: Iterable[Any] = ()) -> None:
        self.codes = array("i")
        self.values: list[Any] = []
        self._known: dict[Any, int] = {None: -1}
        self.extend(rows)

    def extend(self, rows: Iterable[Any]) -> None:
        """Append rows; None stands for an unknown value."""
        known = self._known
        self.codes.extend([known.setdefault(value, len(known) - 1) for value in rows])
        self.values += islice(known, len(self.values) + 1, None)

    def repeat(self, value: Any, count: int) -> None:
        """Append a value so many times."""
        self.extend((value,))
        self.codes.extend(array("i", self.codes[-1:]) * (count - 1))

    def replaced(self, by: Sequence[Any]) -> Repeated:
        """The column with another value for each of :attr:`values`; the last one is for None."""
        new = Repeated(by)
        new.codes = array("i", np.take(new.codes, self.codes).tobytes())  # -1 takes the last
        return new

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(list(self), dtype)

    @overload
    def __getitem__(self, row: int) -> Any: ...
    @overload
    def __getitem__(self, row: slice) -> list[Any]: ...
    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return [self._value(code) for code in self.codes[row]]
        return self._value(self.codes[row])

    def __setitem__(self, row: int, value: Any) -> None:
        self.extend((value,))
        self.codes[row] = self.codes.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __iter__(self) -> Iterator[Any]:
        return map(self._value, self.codes)

    def __len__(self) -> int:
        return len(self.codes)

    def _value(self, code: int) -> Any:
        return None if code < 0 else self.values[code]


class Gathered:
    """The tables of a process, filled row by row.

    A column is an ``array`` of whole numbers, :class:`Repeated`, or a list of lists.
    """

    def __init__(self) -> None:
        self._tables: dict[str, Columns] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._rows: dict[str, list[tuple[Any, ...]]] = {}

    def table(self, name: str) -> Columns:
        """The columns of a table, which from now on counts as recorded, even if empty."""
        columns = self._tables.setdefault(name, {})
        if rows := self._rows.pop(name, None):
            for column, values in zip(self._names[name], zip(*rows, strict=True), strict=True):
                columns[column] = _extended(columns.get(column), values)
        return columns

    def of(self, table: str, *names: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a table, as tuples of these columns."""
        columns = self.recorded(table)
        return zip(*(columns.get(name, ()) for name in names), strict=True)

    def has(self, table: str) -> bool:
        """Whether a table has rows."""
        return any(map(len, self.recorded(table).values()))

    def recorded(self, name: str) -> Columns:
        """The columns of a table; empty if it does not count as recorded."""
        return self.table(name) if name in self._rows else self._tables.get(name, {})

    def add(self, table: str, /, **values: Any) -> None:
        """Append one row; its keys are the table's columns, in the same order in each call."""
        self.add_row(table, values)

    def add_row(self, table: str, row: Mapping[str, Any]) -> None:
        """The same for a row that is a mapping already."""
        rows = self._rows.get(table)
        if rows is None:
            rows = self._rows[table] = []
            self._names[table] = tuple(row)
        rows.append(tuple(row.values()))
        if len(rows) == _ROWS:
            self.table(table)

    def extend(self, table: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Append many rows at once, given as columns."""
        into = self.table(table)
        for column, values in columns.items():
            into[column] = _extended(into.get(column), values)

    def replace(self, column: str, by: Callable[[Any], dict[str, Any]]) -> None:
        """Replace a column in all tables by several, which ``by`` gives for each value or None."""
        for name in {**self._tables, **self._rows}:
            columns = self.table(name)
            if (values := columns.pop(column, None)) is not None:
                values = values if isinstance(values, Repeated) else Repeated(values)
                rows = [by(value) for value in (*values.values, None)]
                columns |= {new: values.replaced([row[new] for row in rows]) for new in rows[0]}

    def move(self, rows: ProcessRows) -> None:
        """Append the rows of all tables to those of the process."""
        for name in {**self._tables, **self._rows}:
            columns, own = rows.ingested.table(name), self.table(name)
            count = len(next(iter(own.values()), ()))
            if count:
                own = {"process": array("q", [rows.process]) * count, **own}
            for column, values in own.items():
                old = columns.get(column)
                columns[column] = values if old is None else _extended(old, values)


def _extended(column: Any, values: Sequence[Any]) -> Any:
    """A column, or a new one if it is None, with more values."""
    kinds: set[type] = {int} if isinstance(values, array) else set(map(type, values))
    if kinds == {int}:
        try:
            values = array("q", values)
        except OverflowError:  # more than 64 bits
            kinds = {object}
    if column is None:
        column = array("q") if kinds == {int} else [] if list in kinds else Repeated()
    elif isinstance(column, array) and kinds != {int}:
        column = Repeated(column)
    if isinstance(column, Repeated) and len(set(values)) == 1:
        column.repeat(values[0], len(values))
    else:
        column.extend(values)
    return column
