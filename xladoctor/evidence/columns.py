"""Columns in any of the forms of :data:`~xladoctor.ingest.interface.Columns`, for DuckDB to scan.

DuckDB reads a NumPy array in place. What an array cannot hold goes next to it: a second array marks
unknown values (masked arrays lose their masks before DuckDB 2), and interned texts are looked up
when a query needs them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import numpy as np

from xladoctor.evidence.schema import Column
from xladoctor.foreign import encodable
from xladoctor.ingest.gathered import Repeated
from xladoctor.ingest.interface import Columns, Interned

Array = np.ndarray[Any, Any]
#: The largest number of each type, of either sign. Larger floats could not be cast to integers.
_MOST = {"INTEGER": 2**31 - 1, "BIGINT": 2**63 - 1, "DOUBLE": 2.0**62, "BOOLEAN": 1}
_NUMPY = {"INTEGER": np.int64, "BIGINT": np.int64, "DOUBLE": np.float64, "BOOLEAN": np.bool_}
#: Rows times texts up to which texts are looked up in one list. That costs nothing unless a query
#: needs the column, and keeps the rows in order. But DuckDB copies the list for each 2,048 rows: 5
#: million rows are grouped by 20,000 texts in 0.3 s, but by a million in 5 s, or 1.5 s with a join.
_MOST_LISTED = 2.5e11
_FEW = 10_000


@dataclass(frozen=True, slots=True)
class Source:
    """How to scan a column.

    Attributes:
        arrays: the arrays to register, by name.
        sql: the expression that makes the column from them.
        texts: the texts of its dictionary, if it has one.
        join: an addition to the FROM clause.
        beyond: how many numbers were too large for the column; they are NULL.
    """

    arrays: dict[str, Array]
    sql: str
    texts: list[str] | None = None
    join: str = ""
    beyond: int = 0

    @property
    def listed(self) -> bool:
        """Whether the dictionary is one list, rather than a table of codes and texts."""
        return not self.join


def source(name: str, values: Any, column: Column, dictionary: str) -> Source:
    """How to scan a column.

    Args:
        values: its values, in one of the forms of :data:`~xladoctor.ingest.interface.Columns`.
        dictionary: name of the table for its texts, if it is interned.
    """
    kind = column.type
    beyond = 0
    if isinstance(values, Repeated):
        values, beyond = _repeated(values, kind)
    if isinstance(values, array):
        values = np.frombuffer(values, np.int64)
    if isinstance(values, Interned):
        return _interned(name, values, dictionary)
    if isinstance(values, list):
        values, beyond = _array(values, kind)
    if kind in _NUMPY:
        values, more = _bounded(values, _MOST[kind] if column.most is None else column.most)
        beyond += more
    if isinstance(values, np.ma.MaskedArray):
        unknown = f"{name} unknown"
        arrays = {name: _even(values.data), unknown: _even(np.ma.getmaskarray(values))}
        sql = f'CASE WHEN NOT "{unknown}" THEN "{name}"::{kind} END'
        return Source(arrays, sql, beyond=beyond)
    return Source({name: _even(values)}, f'"{name}"::{kind}', beyond=beyond)


def joined(batches: Iterable[tuple[str, Columns]]) -> Iterator[tuple[str, Columns]]:
    """The batches of rows of each table in their order, with small ones put together: inserting
    takes as long for one row as for hundreds, and there may be a batch for each thread.
    """

    def kind(batch: tuple[str, Columns]) -> tuple[str, tuple[str, ...], bool]:
        table, columns = batch
        return table, tuple(columns), all(len(values) < _FEW for values in columns.values())

    for (table, names, small), group in groupby(sorted(batches, key=itemgetter(0)), kind):
        parts = [columns for _, columns in group]
        if small and len(parts) > 1:
            parts = [
                {name: list(chain(*(_listed(each[name]) for each in parts))) for name in names}
            ]
        for columns in parts:
            yield table, columns


def _listed(values: Any) -> list[Any]:
    """A column as a list, None where it is unknown."""
    if isinstance(values, Interned):
        return [None if code < 0 else values.texts[code] for code in values.codes.tolist()]
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return listed


def objects(texts: list[Any]) -> Array:
    """An array of Python objects, each of which DuckDB reads as text."""
    array = np.empty(len(texts), dtype=object)
    array[:] = _encodable(texts)
    return array


def _repeated(values: Repeated, kind: str) -> tuple[Any, int]:
    """The values in another form: texts interned, unless they are so few that a list is faster.

    Also returns how many numbers of an array are too large for it.
    """
    if len(values) < _FEW:
        return list(values), 0
    codes = np.frombuffer(values.codes, np.int32)
    if kind not in _NUMPY:
        return Interned(codes, values.values), 0
    taken: Array = _array([*values.values, None], kind)[0][codes]
    return taken, int((np.ma.getmaskarray(taken) & (codes >= 0)).sum())


def _interned(name: str, values: Interned, dictionary: str) -> Source:
    arrays = {name: _even(values.codes)}
    if len(values.codes) * len(values.texts) <= _MOST_LISTED:
        sql = f'list_extract((SELECT texts FROM "{dictionary}"), "{name}" + 2)'  # noqa: S608
        return Source(arrays, sql, values.texts)
    join = f'LEFT JOIN "{dictionary}" ON "{dictionary}"._code = "{name}"'
    return Source(arrays, f'"{dictionary}"._text', values.texts, join)


def _even(array: Array) -> Array:
    """The array, or a copy if DuckDB cannot step through it in place."""
    stride = array.strides[0]
    even = stride >= 0 and stride % array.itemsize == 0
    return array if even else np.ascontiguousarray(array)


def _array(values: list[Any], kind: str) -> tuple[Array, int]:
    """A list as an array: numbers as numbers, masked where unknown; everything else as text.

    Also returns how many numbers are too large for the array; they are masked.
    """
    if kind.endswith("[]"):
        known = [value if value is None or _fits(value) else None for value in values]
        texts = [None if v is None else f"[{','.join(map(str, v))}]" for v in known]
        return objects(texts), known.count(None) - values.count(None)
    if kind not in _NUMPY:
        return objects(values), 0
    if None not in values:
        with suppress(OverflowError, ValueError):  # ValueError: NaN among whole numbers
            return np.asarray(values, dtype=_NUMPY[kind]), 0
    unknown = np.array([value is None or not abs(value) <= _MOST[kind] for value in values])
    known = [0 if out else value for value, out in zip(values, unknown, strict=True)]
    beyond = sum(value is not None and abs(value) > _MOST[kind] for value in values)
    return np.ma.MaskedArray(np.asarray(known, dtype=_NUMPY[kind]), unknown), beyond


def _fits(items: list[Any]) -> bool:
    """Whether a list's numbers have 64 bits."""
    return all(not isinstance(item, int) or -(2**63) <= item < 2**63 for item in items)


def _bounded(values: Array, most: float) -> tuple[Array, int]:
    """The numbers, masked where they are larger than ``most``, and how many these are."""
    if not len(values) or values.dtype == np.bool_:
        return values, 0
    given = values.data if isinstance(values, np.ma.MaskedArray) else values
    least, largest = given.min(), given.max()
    if least >= -most and largest <= most:
        return values, 0
    within = (given >= -most) & (given <= most)  # neither is true of NaN
    beyond = ~within & ~np.ma.getmaskarray(values) & ~np.isnan(given)
    masked: Array = np.ma.MaskedArray(given, ~within | np.ma.getmaskarray(values))
    return masked, int(beyond.sum())


def _encodable(texts: list[Any]) -> list[Any]:
    """The texts, with surrogates from paths that are not UTF-8 escaped."""
    try:
        "".join(filter(None, texts)).encode()
    except (UnicodeEncodeError, TypeError):  # TypeError: not all of them are texts
        return [None if text is None else encodable(str(text)) for text in texts]
    return texts
