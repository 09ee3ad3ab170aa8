"""Columns in any of the forms of :data:`~xladoctor.ingest.interface.Columns`, for DuckDB to scan.

DuckDB reads a NumPy array in place. What an array cannot hold goes next to it: a second array marks
unknown values (masked arrays lose their masks before DuckDB 2), and interned texts are looked up
when a query needs them.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np

from xladoctor.foreign import encodable
from xladoctor.ingest.gathered import Repeated
from xladoctor.ingest.interface import Interned

Array = np.ndarray[Any, Any]
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
    """

    arrays: dict[str, Array]
    sql: str
    texts: list[str] | None = None
    join: str = ""

    @property
    def listed(self) -> bool:
        """Whether the dictionary is one list, rather than a table of codes and texts."""
        return not self.join


def source(name: str, values: Any, kind: str, dictionary: str) -> Source:
    """How to scan a column of the SQL type ``kind``.

    Args:
        values: its values, in one of the forms of :data:`~xladoctor.ingest.interface.Columns`.
        dictionary: name of the table for its texts, if it is interned.
    """
    if isinstance(values, Repeated):
        values = _repeated(values, kind)
    if isinstance(values, array):
        values = np.frombuffer(values, np.int64)
    if isinstance(values, Interned):
        return _interned(name, values, dictionary)
    if isinstance(values, list):
        values = _array(values, kind)
    if isinstance(values, np.ma.MaskedArray):
        unknown = f"{name} unknown"
        arrays = {name: _even(values.data), unknown: _even(np.ma.getmaskarray(values))}
        return Source(arrays, f'CASE WHEN NOT "{unknown}" THEN "{name}"::{kind} END')
    return Source({name: _even(values)}, f'"{name}"::{kind}')


def objects(texts: list[Any]) -> Array:
    """An array of Python objects, each of which DuckDB reads as text."""
    array = np.empty(len(texts), dtype=object)
    array[:] = _encodable(texts)
    return array


def _repeated(values: Repeated, kind: str) -> Any:
    """The values in another form: texts interned, unless they are so few that a list is faster."""
    if len(values) < _FEW:
        return list(values)
    codes = np.frombuffer(values.codes, np.int32)
    if kind not in _NUMPY:
        return Interned(codes, values.values)
    taken: Array = np.asarray([*values.values, 0], dtype=_NUMPY[kind])[codes]
    return np.ma.MaskedArray(taken, codes < 0) if codes.min() < 0 else taken


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


def _array(values: list[Any], kind: str) -> Array:
    """A list as an array: numbers as numbers, masked where unknown; everything else as text."""
    if kind.endswith("[]"):
        return objects([None if v is None else f"[{','.join(map(str, v))}]" for v in values])
    if kind not in _NUMPY:
        return objects(values)
    if None not in values:
        return np.asarray(values, dtype=_NUMPY[kind])
    array = np.asarray(values, dtype=object)
    unknown = array == None  # noqa: E711 - elementwise
    array[unknown] = 0
    masked: Array = np.ma.MaskedArray(array.astype(_NUMPY[kind]), unknown)
    return masked


def _encodable(texts: list[Any]) -> list[Any]:
    """The texts, with surrogates from paths that are not UTF-8 escaped."""
    try:
        "".join(filter(None, texts)).encode()
    except (UnicodeEncodeError, TypeError):  # TypeError: not all of them are texts
        return [None if text is None else encodable(str(text)) for text in texts]
    return texts
