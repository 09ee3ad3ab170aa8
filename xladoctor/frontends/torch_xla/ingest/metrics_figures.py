"""Parses the figures of a metrics report: durations (undoing their rounding), sizes, numbers."""

from __future__ import annotations

import math
import re
from functools import lru_cache

_NUMBER = re.compile(r"-?\d{1,310}(?:\.\d*)?(?:e[+-]?\d{1,3})?", re.ASCII)
_BYTES = re.compile(r"(-?\d{1,310}(?:\.\d+)?)(B|KB|MB|GB|TB|PB)", re.ASCII)
_DURATION = re.compile(  # the zeros that fill a field come before its sign: 0-0.001us
    "".join(rf"(?:((?:0*-)?\d{{1,18}}){unit})?" for unit in ("d", "h", "m", "s", "ms"))
    + r"((?:0*-)?\d{1,310}(?:\.\d+)?)us",
    re.ASCII,
)
_UNDEFINED = re.compile(r"0*-?(?:nan|inf)(?:(?:d-nan[\w-]*?)?(us)|([KMGTP]?B))?", re.ASCII)
#: Groups of ``_DURATION`` with the unit in ns, from the smallest.
_FIELDS_NS = ((5, 1e6), (4, 1e9), (3, 60e9), (2, 3600e9), (1, 86400e9))
_BYTES_OF = {"B": 1.0, "KB": 2.0**10, "MB": 2.0**20, "GB": 2.0**30, "TB": 2.0**40, "PB": 2.0**50}


def parse_duration_ns(text: str) -> float:
    """A printed duration (``01m02s003ms004.005us``) in ns, NaN for a printed NaN.

    ``MetricFnTime`` rounds each field where it should truncate: 5.7 ms is printed 006ms700.000us.
    So from the smallest field up, a field is one too high if the rest is at least half its unit.
    An exact half is rounded to even: 1.5 ms and 2.5 ms are both printed 002ms500.000us, and the
    smaller is taken. A field that cannot have been rounded up is left alone.

    Raises ValueError for any other text.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        if (undefined := _UNDEFINED.fullmatch(text)) and undefined[1]:
            return math.nan
        raise ValueError(f"not a duration: {text[:80]!r}; expected a form like 01s002ms003.004us")
    last = match[6]
    total = round(float(last[last.find("-") :] if "-" in last else last) * 1e3, 3)
    for field_index, unit in _FIELDS_NS:
        if number := match[field_index]:
            count = int(number.replace("-", ""))  # the only negative is -0
            # The first field is at least 1, or it would not have been printed.
            least = match.start(field_index) == 0
            total += (count - (2 * total >= unit and count > least)) * unit
    return total


def printed_duration_ns(text: str) -> float:
    """A printed duration taken literally, in ns; 0 for any other text."""
    match = _DURATION.fullmatch(text)
    if match is None or "-" in text:
        return 0.0
    fields = sum(int(match[group] or 0) * unit for group, unit in _FIELDS_NS)
    return fields + float(match[6]) * 1e3


def parse_bytes(text: str) -> float:
    """A printed size (``468.00MB``, units of 1,024) in bytes, NaN for a printed NaN.

    Raises ValueError for any other text.
    """
    if match := _BYTES.fullmatch(text):
        return float(match[1]) * _BYTES_OF[match[2]]
    if (undefined := _UNDEFINED.fullmatch(text)) and undefined[2]:
        return math.nan
    raise ValueError(f"not a size: {text[:80]!r}; expected a form like 1.50KB")


@lru_cache(maxsize=4096)  # percentiles repeat within a metric and between reports
def quantity(text: str) -> tuple[float | None, str] | None:
    """Value and unit of a printed figure, the value None for NaN; None if it is not a figure."""
    value, unit = math.nan, "none"
    try:
        if text.endswith("s"):
            value, unit = parse_duration_ns(text), "ns"
        elif text.endswith("B"):
            value, unit = parse_bytes(text), "bytes"
        elif _NUMBER.fullmatch(text):
            value = float(text)
        elif not _UNDEFINED.fullmatch(text):
            return None
    except ValueError:
        return None
    return (value if math.isfinite(value) else None), unit
