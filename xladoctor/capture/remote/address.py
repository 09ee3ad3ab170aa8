"""Addresses and durations as they are written on a command line."""

from __future__ import annotations

import re

from xladoctor.capture.interface import CaptureError
from xladoctor.capture.remote.interface import Address

_ADDRESS = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|(?P<host>[\w.-]+)):(?P<port>[0-9]+)"
)
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m)")
_MS = {"ms": 1, "s": 1_000, "m": 60_000}
#: Programs of 1 ms steps make 4 MB of timeline a second; one beyond protobuf's 2 GiB is lost.
RECORDING = 1, 5 * _MS["m"]
#: Jobs may wait that long for their machines.
WAITING = 0, 24 * 60 * _MS["m"]


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
        CaptureError: one is no address, or is there twice.
    """
    addresses = tuple(map(parse_address, texts))
    for number, address in enumerate(addresses):
        if address in addresses[:number]:
            raise CaptureError(f"{address} is named twice", "a server takes one profile at a time")
    return addresses


def parse_duration(text: str, option: str, shortest_ms: int, longest_ms: int) -> int:
    """Milliseconds of ``500ms``, ``3s``, ``1.5s`` or ``2m``, rounded to whole ones.

    Raises:
        CaptureError: it is no duration, or not within the limits; names ``option``.
    """
    match = _DURATION.fullmatch(text)
    milliseconds = round(float(match[1]) * _MS[match[2]]) if match else -1
    if shortest_ms <= milliseconds <= longest_ms:
        return milliseconds
    raise CaptureError(
        f"{option} {text!r}: not a duration between {_written(shortest_ms)} and"
        f" {_written(longest_ms)}",
        "expected a number with its unit, such as 500ms, 3s or 2m",
    )


def _written(milliseconds: int) -> str:
    minutes, rest = divmod(milliseconds, _MS["m"])
    return f"{minutes}m" if minutes and not rest else f"{milliseconds}ms"
