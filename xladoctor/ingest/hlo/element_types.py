"""Element types: their names, and how literals store their values and HLO text prints them.

Sources: ``PrimitiveType`` and ``LiteralProto`` of ``xla/xla_data.proto``; for the digits of floats
``RoundTripFpToString`` of ``xla/util.cc``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

#: ``PrimitiveType`` -> its name in HLO text.
NAMES = {
    1: "pred",
    2: "s8",
    3: "s16",
    4: "s32",
    5: "s64",
    6: "u8",
    7: "u16",
    8: "u32",
    9: "u64",
    10: "f16",
    11: "f32",
    12: "f64",
    13: "tuple",
    14: "opaque",
    15: "c64",
    16: "bf16",
    17: "token",
    18: "c128",
    19: "f8e5m2",
    20: "f8e4m3fn",
    21: "s4",
    22: "u4",
    23: "f8e4m3b11fnuz",
    24: "f8e5m2fnuz",
    25: "f8e4m3fnuz",
    26: "s2",
    27: "u2",
    28: "f8e4m3",
    29: "f8e3m4",
    30: "s1",
    31: "u1",
    32: "f4e2m1fn",
    33: "f8e8m0fnu",
    34: "buffer",
}


class _SmallFloat(NamedTuple):
    """A float of at most 16 bits: its sign, ``exponent`` bits, ``mantissa`` bits.

    Without the sign, the first ``finite`` codes are finite values. The others are NaN, or infinity
    if the mantissa is 0. With ``unsigned_zero``, NaN takes the place of -0.
    """

    exponent: int
    mantissa: int
    bias: int
    finite: int
    unsigned_zero: bool = False


_SMALL_FLOATS = {
    "f16": _SmallFloat(5, 10, 15, 0x7C00),
    "bf16": _SmallFloat(8, 7, 127, 0x7F80),
    "f8e5m2": _SmallFloat(5, 2, 15, 0x7C),
    "f8e5m2fnuz": _SmallFloat(5, 2, 16, 0x80, unsigned_zero=True),
    "f8e4m3": _SmallFloat(4, 3, 7, 0x78),
    "f8e4m3fn": _SmallFloat(4, 3, 7, 0x7F),
    "f8e4m3fnuz": _SmallFloat(4, 3, 8, 0x80, unsigned_zero=True),
    "f8e4m3b11fnuz": _SmallFloat(4, 3, 11, 0x80, unsigned_zero=True),
    "f8e3m4": _SmallFloat(3, 4, 3, 0x70),
    "f4e2m1fn": _SmallFloat(2, 1, 1, 0x8),
}


def _integers(code: str) -> Callable[[bytes], list[str]]:
    return lambda data: [str(value) for (value,) in struct.iter_unpack(f"<{code}", data)]


def _nibbles(offset: int) -> Callable[[bytes], list[str]]:
    """Integers of 4 bits, each in the lower half of a byte; ``offset`` 8 for signed ones."""
    return lambda data: [str(((byte & 15) ^ offset) - offset) for byte in data]


def _small_floats(name: str) -> Callable[[bytes], list[str]]:
    kind = _SMALL_FLOATS[name]
    code = "<H" if kind.exponent + kind.mantissa > 8 else "<B"
    digits = math.ceil(1 + (kind.mantissa + 1) * math.log10(2))
    return lambda data: [
        _float(_value(kind, bits), digits) for (bits,) in struct.iter_unpack(code, data)
    ]


def _value(kind: _SmallFloat, bits: int) -> float:
    width = kind.exponent + kind.mantissa
    sign, magnitude = -1 if bits >> width else 1, bits & (1 << width) - 1
    power, mantissa = magnitude >> kind.mantissa, magnitude & (1 << kind.mantissa) - 1
    if kind.unsigned_zero and sign < 0 and not magnitude:
        return -math.nan
    if magnitude < kind.finite:
        whole = mantissa + (1 << kind.mantissa if power else 0)
        return math.copysign(math.ldexp(whole, max(power, 1) - kind.bias - kind.mantissa), sign)
    infinite = magnitude == kind.finite and not mantissa
    return math.copysign(math.inf if infinite else math.nan, sign)


def _float(value: float, digits: int) -> str:
    if math.isnan(value):
        return "-nan" if math.copysign(1, value) < 0 else "nan"
    return f"{value:.{digits}g}"


def _f32(value: float) -> str:
    short = _float(value, 6)
    same = struct.unpack("f", struct.pack("f", float(short)))[0] == value
    return short if same or math.isnan(value) else _float(value, 9)


def _f64(value: float) -> str:
    short = _float(value, 15)
    return short if float(short) == value or math.isnan(value) else _float(value, 17)


def _each(text: Callable[[Any], str]) -> Callable[[Any], list[str]]:
    return lambda values: [text(value) for value in values]


def _pairs(text: Callable[[Any], str]) -> Callable[[Any], list[str]]:
    return lambda values: [
        f"({text(real)}, {text(imaginary)})"
        for real, imaginary in zip(values[::2], values[1::2], strict=True)
    ]


#: Name of the type -> function that turns the type's field of LiteralProto (its name with an ``s``)
#: into texts of the values. Raises ValueError or ``struct.error`` if a value is cut off.
READERS: dict[str, Callable[[Any], list[str]]] = {
    "pred": _each(lambda value: "true" if value else "false"),
    "s4": _nibbles(8),
    "u4": _nibbles(0),
    "s8": _integers("b"),
    "u8": _integers("B"),
    "s16": _integers("h"),
    "u16": _integers("H"),
    "s32": _each(str),
    "s64": _each(str),
    "u32": _each(str),
    "u64": _each(str),
    "f32": _each(_f32),
    "f64": _each(_f64),
    "c64": _pairs(_f32),
    "c128": _pairs(_f64),
    **{name: _small_floats(name) for name in _SMALL_FLOATS},
}
