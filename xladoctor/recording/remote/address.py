"""Addresses and durations as written on a command line."""

from __future__ import annotations

import re

from xladoctor.quantities import QuantityError, parse_duration
from xladoctor.recording.interface import CaptureError
from xladoctor.recording.remote.interface import Address

_ADDRESS = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|(?P<host>[\w.-]+)):(?P<port>[0-9]+)"
)
_MINUTE = 60_000  # milliseconds
#: Programs of 1 ms steps make 4 MB of timeline a second; one beyond protobuf's 2 GiB is lost.
RECORDING = 1, 5 * _MINUTE
#: Jobs may wait this long for their machines.
WAITING = 0, 24 * 60 * _MINUTE


def parse_address(text: str) -> Address:
    """``host:port`` or ``[IPv6]:port``.

    Raises:
        CaptureError: it is neither.
    """
    match = _ADDRESS.fullmatch(text)
    if match and 0 < len(match["port"]) < 6 and 0 < int(match["port"]) < 1 << 16:
        return Address(match["six"] or match["host"], int(match["port"]))
    raise CaptureError(
        f"{text!r} is not the address of a profiler server",
        "expected HOST:PORT, such as localhost:9012, 10.0.0.2:9012 or [::1]:9012;"
        " several are separated by spaces",
    )


def parse_addresses(texts: list[str]) -> tuple[Address, ...]:
    """The addresses of several servers.

    Raises:
        CaptureError: one is not an address, or appears twice.
    """
    addresses = tuple(map(parse_address, texts))
    for number, address in enumerate(addresses):
        if address in addresses[:number]:
            raise CaptureError(f"{address} is named twice", "a server takes one profile at a time")
    return addresses


def parse_milliseconds(text: str, option: str, shortest_ms: int, longest_ms: int) -> int:
    """A duration in milliseconds, rounded to whole ones; see :mod:`xladoctor.quantities`.

    Raises:
        CaptureError: it is not a duration, or not within the limits; names ``option``.
    """
    try:
        milliseconds = round(parse_duration(text, zero=True) * 1000)
    except QuantityError:
        milliseconds = -1
    if shortest_ms <= milliseconds <= longest_ms:
        return milliseconds
    raise CaptureError(
        f"{option} {text!r}: not a duration between {_written(shortest_ms)} and"
        f" {_written(longest_ms)}",
        "expected a number with its unit, such as 500ms, 3s or 2m",
    )


def _written(milliseconds: int) -> str:
    minutes, rest = divmod(milliseconds, _MINUTE)
    return f"{minutes}m" if minutes and not rest else f"{milliseconds}ms"
