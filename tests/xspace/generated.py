"""Strategies for whole XSpaces, written field by field so that everything legal may occur.

Legal and seen by no writer: fields in any order, metadata behind the lines that use them, a field
twice (the last one counts), two members of a oneof, varints longer than they need be, fields that
the format does not know, and known numbers with another wire type, which are unknown fields too.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

#: message -> number -> wire type of its known fields; 0 varint, 1 eight bytes, 2 delimited, 5 four.
_KNOWN = {
    "XSpace": {1: 2, 2: 2, 3: 2, 4: 2},
    "XPlane": {1: 0, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2},
    "Entry": {1: 0, 2: 2},
    "XLine": {1: 0, 2: 2, 3: 0, 4: 2, 9: 0, 10: 0, 11: 2},
    "XEvent": {1: 0, 2: 0, 3: 0, 4: 2, 5: 0},
    "XStat": {1: 0, 2: 1, 3: 0, 4: 0, 5: 2, 6: 2, 7: 0, 8: 2},
    "XEventMetadata": {1: 0, 2: 2, 3: 2, 4: 2, 5: 2, 6: 0},
    "XStatMetadata": {1: 0, 2: 2, 3: 2},
}

_INT64 = st.sampled_from([0, -1, -(1 << 63), (1 << 63) - 1]) | st.integers(
    -(1 << 63), (1 << 63) - 1
)
_UINT64 = st.sampled_from([0, 1 << 63, (1 << 64) - 1]) | st.integers(0, (1 << 64) - 1)
_ODD_IDS = st.sampled_from([-1, -(1 << 63), (1 << 63) - 1, 1 << 31, 1 << 32, 10**12, 4096])
_IDS = st.integers(0, 4) | _ODD_IDS | _INT64
_TEXTS = st.sampled_from(["", "hlo_op", "_p", "PjitFunction(f)", "Größe", "𝄞"]) | st.text(
    max_size=5
)
_DOUBLES = st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 5e-324]) | st.floats()
#: Times that nest, tie and touch; their sums stay within 64 bits.
_TIMES = st.integers(0, 12) | st.sampled_from([1 << 60, 1 << 61]) | st.integers(0, 1 << 61)


def varint(value: int, padding: int = 0) -> bytes:
    """``value`` modulo 2**64 in base 128; ``padding`` appends that many redundant bytes."""
    value &= (1 << 64) - 1
    digits = [value & 127]
    while value := value >> 7:
        digits.append(value & 127)
    digits += [0] * min(padding, 10 - len(digits))
    return bytes([digit | 128 for digit in digits[:-1]] + digits[-1:])


def field(number: int, value: int | float | bytes | str, padding: int = 0) -> bytes:
    """A field on the wire: varint, eight bytes for a float, or delimited."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value, padding)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


@st.composite
def unknown_fields(draw: DrawFn, message: str, groups: bool = False) -> bytes:
    """A field that a reader of ``message`` must skip."""
    known = _KNOWN[message]
    number = draw(st.sampled_from([*known, 15, 16, 100, (1 << 29) - 1]))
    wires = [wire for wire in (0, 1, 2, 5) if known.get(number) != wire]
    if (message, number) == ("XEventMetadata", 6):
        wires.remove(2)  # packed, which is known
    wire = draw(st.sampled_from([*wires, 3] if groups else wires))
    if wire == 3:
        inside = draw(st.sampled_from([b"", field(1, 7), field(2, b"\x1c\x0b")]))
        return varint(number << 3 | 3) + inside + varint(number << 3 | 4)
    if wire == 0:
        return field(number, draw(_UINT64), draw(st.integers(0, 9)))
    if wire == 2:
        return field(number, draw(st.binary(max_size=4)))
    return (
        varint(number << 3 | wire)
        + draw(st.binary(min_size=8, max_size=8))[: 8 if wire == 1 else 4]
    )


@st.composite
def spaces(draw: DrawFn, groups: bool = False, times: SearchStrategy[int] = _TIMES) -> bytes:
    """A serialized XSpace.

    ``groups`` adds the old wire types 3 and 4 to the unknown fields, which no writer of this format
    uses. ``times`` are the offsets and durations; without overflow of their sums unless given.
    """
    return _Writer(draw, groups, times).space()


@st.composite
def damaged(draw: DrawFn, source: SearchStrategy[bytes] | None = None) -> bytes:
    """Bytes that were an XSpace until they were cut off or some of them changed."""
    data = bytearray(draw(source if source is not None else spaces()))
    if not data:
        return b"\x0a"
    for _ in range(draw(st.integers(0, 3))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))])


class _Writer:
    """Draws messages; ids come from one pool, so that they often find their metadata."""

    def __init__(self, draw: DrawFn, groups: bool, times: SearchStrategy[int]) -> None:
        self._draw = draw
        self._groups = groups
        self._times = times
        self._ids = st.sampled_from(draw(st.lists(_IDS, min_size=1, max_size=4)))

    def space(self) -> bytes:
        return self._message(
            "XSpace",
            [
                *self._some(self._plane, 1, 2),
                *self._some(self._text, 2, 1),
                *self._some(self._text, 3, 1),
                *self._some(self._text, 4, 1),
            ],
        )

    def _plane(self) -> bytes:
        return self._message(
            "XPlane",
            [
                *self._some(self._id, 1, 1),
                *self._some(self._text, 2, 2),
                *self._some(self._line, 3, 2),
                *self._some(self._event_entry, 4, 3),
                *self._some(self._stat_entry, 5, 3),
                *self._some(self._stat, 6, 1),
            ],
        )

    def _line(self) -> bytes:
        return self._message(
            "XLine",
            [
                *self._some(self._id, 1, 1),
                *self._some(self._text, 2, 1),
                *self._some(self._time, 3, 1),
                *self._some(self._event, 4, 6),
                *self._some(self._time, 9, 1),
                *self._some(self._id, 10, 1),
                *self._some(self._text, 11, 1),
            ],
        )

    def _event(self) -> bytes:
        return self._message(
            "XEvent",
            [
                *self._some(self._id, 1, 2),
                *self._some(self._time, 2, 2),
                *self._some(self._time, 3, 2),
                *self._some(self._stat, 4, 3),
                *([field(5, self._draw(_INT64))] if self._draw(st.integers(0, 4)) == 0 else []),
            ],
        )

    def _stat(self) -> bytes:
        return self._message(
            "XStat",
            [
                *self._some(self._id, 1, 1),
                *(self._value() for _ in range(self._draw(st.sampled_from([1, 1, 1, 0, 2])))),
            ],
        )

    def _value(self) -> bytes:
        values: dict[int, SearchStrategy[Any]] = {
            2: _DOUBLES,
            3: _UINT64,
            4: _INT64,
            5: _TEXTS,
            6: st.binary(max_size=4),
            7: self._ids | _UINT64,
        }
        number = self._draw(st.sampled_from(list(values)))
        return field(number, self._draw(values[number]), self._draw(st.sampled_from([0, 0, 1, 9])))

    def _event_entry(self) -> bytes:
        value = self._message(
            "XEventMetadata",
            [
                *self._some(self._id, 1, 1),
                *self._some(self._text, 2, 1),
                *self._some(self._text, 4, 1),
                *self._some(self._stat, 5, 1),
                *self._some(self._id, 6, 1),
                *self._some(lambda: b"\x01\x02", 6, 1),
            ],
        )
        return self._message("Entry", [*self._some(self._id, 1, 1), field(2, value)])

    def _stat_entry(self) -> bytes:
        value = self._message(
            "XStatMetadata",
            [
                *self._some(self._id, 1, 1),
                *self._some(self._text, 2, 1),
                *self._some(self._text, 3, 1),
            ],
        )
        return self._message("Entry", [*self._some(self._id, 1, 1), field(2, value)])

    def _id(self) -> int:
        return self._draw(self._ids)

    def _time(self) -> int:
        return self._draw(self._times)

    def _text(self) -> str:
        return self._draw(_TEXTS)

    def _some(self, make: Any, number: int, most: int) -> list[bytes]:
        return [field(number, make()) for _ in range(self._draw(st.integers(0, most)))]

    def _message(self, name: str, fields: Sequence[bytes]) -> bytes:
        unknown = self._draw(st.lists(unknown_fields(name, self._groups), max_size=1))
        return b"".join(self._draw(st.permutations([*fields, *unknown])))
