"""Parses and formats times, sizes, shares, lists and long texts as people write and read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from xladoctor.errors import XladoctorError

_NUMBER = r"([0-9]{1,30}(?:\.[0-9]*)?|\.[0-9]{1,30})"
#: A size, as a regular expression that is valid in JSON Schema, too.
SIZE = _NUMBER + r"\s*([KkMmGgTt][Ii]?)?[Bb]?"
_DURATION = re.compile(_NUMBER + "(ms|s|m|h)?")
_SECONDS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600)}
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


class QuantityError(XladoctorError):
    """A text that is not a time, or not a size."""


def whole_number(text: str, digits: int = 18) -> int | None:
    """The number that up to so many ASCII digits are; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def first_few(names: Sequence[str], most: int = 3) -> str:
    """The first of a list, and how many there are besides: ``a, b, c and 2 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def clipped(text: str, most: int) -> str:
    """The text, with an ellipsis as its last letter if it has more than so many."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def counted(number: int, noun: str) -> str:
    """As ``1 step``, ``2,000 steps``."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def nanoseconds(seconds: float) -> int:
    """Seconds in ns; infinity is a number larger than any table holds."""
    return round(min(seconds * 1e9, 2.0**63))


def parse_duration(text: str, *, zero: bool = False) -> float:
    """Seconds of ``90s``, ``500ms``, ``1.5m``, ``2h``, or of a number without a unit.

    Args:
        zero: whether 0 is allowed.

    Raises:
        QuantityError: it is none of these, or not above zero.
    """
    match = _DURATION.fullmatch(text.strip().lower())
    if match and ((seconds := Decimal(match[1]) * _SECONDS[match[2] or "s"]) or zero):
        return float(seconds)
    raise QuantityError(f"{text!r} is not a time", "expected one such as 90s, 500ms, 30m, 2h")


def parse_size(text: str, *, zero: bool = False) -> int:
    """Bytes of ``256M``, ``800 MB`` (powers of 1000), ``2GiB`` (of 1024) or ``1000000``.

    Args:
        zero: whether 0 is allowed.

    Raises:
        QuantityError: it is none of these, or not above zero.
    """
    match = re.fullmatch(SIZE, text.strip())
    if match:
        unit = (match[2] or "").lower()
        base = 1024 if unit.endswith("i") else 1000
        size = int(Decimal(match[1]) * base ** _POWERS[unit[:1]])
        if size or zero:
            return size
    raise QuantityError(f"{text!r} is not a size", "expected one such as 256M, 800MB, 2GiB")


def duration(seconds: float) -> str:
    """A duration for people: ``840 µs``, ``12.1 ms``, ``3.4 s``, ``2 min 05 s``, ``2 h 42 min``."""
    for unit, name in ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s")):
        value = float(f"{seconds / unit:.3g}")
        if value < (120 if name == "s" else 1000):
            return f"{value:.0f} µs" if name == "µs" else f"{value:g} {name}"
    if (whole := round(seconds)) < 7200:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def binary_size(size: int) -> str:
    """A size of memory for people: ``12.9 MiB``, ``15.8 GiB``, ``512 bytes``."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            digits = 4 if size / unit >= 10 else 3
            return f"{float(f'{size / unit:.{digits}g}'):g} {name}"
    return f"{size} bytes"


def percent(share: float) -> str:
    """A share for people; a small one is never shown as 0%."""
    shown = f"{share * 100:.0f}"
    return "<1%" if share > 0 and shown == "0" else f"{shown}%"
