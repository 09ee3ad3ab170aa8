"""Times and sizes as people write them."""

from __future__ import annotations

import re

from xladoctor.errors import XladoctorError

_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def parse_duration(text: str) -> float:
    """Seconds of ``90s``, ``500ms``, ``30m``, ``2h``, or of a number without a unit.

    Raises:
        XladoctorError: it is none of these, or not above zero.
    """
    match = re.fullmatch(r"(\d{1,15}(?:\.\d*)?|\.\d+)(ms|s|m|h)?", text.strip().lower())
    seconds = float(match[1]) * _SECONDS[match[2] or "s"] if match else 0.0
    if seconds <= 0:
        raise XladoctorError(f"{text!r} is not a time", "write it like 90s, 500ms, 30m or 2h")
    return seconds


def parse_size(text: str) -> int:
    """Bytes of ``256M``, ``2G``, ``500k``, ``1000000``; powers of ten.

    Raises:
        XladoctorError: it is none of these, or not above zero.
    """
    match = re.fullmatch(r"(\d{1,15}(?:\.\d*)?|\.\d+)([kmg])?b?", text.strip().lower())
    size = int(float(match[1]) * _BYTES[match[2] or ""]) if match else 0
    if size <= 0:
        raise XladoctorError(f"{text!r} is not a size", "write it like 256M, 2G or 500k")
    return size
