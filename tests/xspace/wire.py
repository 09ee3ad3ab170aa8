"""Many events of a line on the wire at once, for timelines of realistic size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Column = np.ndarray[Any, np.dtype[Any]]


def encoded(
    metadata: Column,
    offset_ps: Column,
    duration_ps: Column,
    stats: Sequence[tuple[int, int, Column]],
) -> bytes:
    """Field 4 of an XLine for each event, whose columns must not be negative.

    Args:
        stats: of each event: the id of the stat's metadata, the field of XStat, the values.
    """
    parts = [_field(number, column) for number, column in ((1, metadata), (2, offset_ps))]
    parts.append(_field(3, duration_ps))
    for stat, number, values in stats:
        value = [_field(1, np.full(len(values), stat)), _field(number, values)]
        parts.append(_message(4, value))
    return _written(_message(4, parts))


class _Bytes:
    """A column of byte strings of different lengths: those of a matrix that are kept."""

    def __init__(self, matrix: Column, keep: Column) -> None:
        self.matrix = matrix
        self.keep = keep


def _written(texts: _Bytes) -> bytes:
    return bytes(texts.matrix[texts.keep].tobytes())


def _varint(values: Column) -> _Bytes:
    rest = values.astype(np.uint64)
    width = max(1, -(-int(rest.max(initial=0)).bit_length() // 7))
    matrix, keep = np.empty((len(rest), width), np.uint8), np.ones((len(rest), width), bool)
    for digit in range(width):
        matrix[:, digit] = rest & np.uint64(127)
        if digit:
            keep[:, digit] = rest > 0
        rest = rest >> np.uint64(7)
        matrix[:, digit] |= (rest > 0).astype(np.uint8) << 7
    return _Bytes(matrix, keep)


def _field(number: int, values: Column) -> _Bytes:
    return _joined([_constant(number << 3, len(values)), _varint(values)])


def _message(number: int, parts: list[_Bytes]) -> _Bytes:
    body = _joined(parts)
    lengths = body.keep.sum(axis=1)
    return _joined([_constant(number << 3 | 2, len(lengths)), _varint(lengths), body])


def _constant(byte: int, count: int) -> _Bytes:
    return _Bytes(np.full((count, 1), byte, np.uint8), np.ones((count, 1), bool))


def _joined(parts: list[_Bytes]) -> _Bytes:
    return _Bytes(
        np.hstack([part.matrix for part in parts]), np.hstack([part.keep for part in parts])
    )
