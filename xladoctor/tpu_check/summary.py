"""Sums up what an executable writes: padding by line, copies, and collectives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from xladoctor.tpu_check.written import Written

#: Operations that only move data; transfers between memories (``copy-done``) are none of them.
_MOVES = frozenset({"copy", "transpose", "reshape"})
_COLLECTIVE = re.compile(
    r"(all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-permute"
    r"|collective-broadcast)(-done)?"
)


@dataclass(frozen=True)
class Line:
    """What the operations of one line write.

    Attributes:
        largest: the array of it with the most bytes of the kind that is summed up.
        bytes: of this kind, in one run of the executable.
        arrays: how many arrays.
    """

    largest: Written
    bytes: int
    arrays: int


@dataclass(frozen=True)
class Collective:
    """The operations of one kind between devices.

    Attributes:
        opcode: such as ``all-reduce``.
        count: how many, in one run of the executable.
        bytes: of their results on each device.
        asynchronous: how many of them other operations can run beside.
    """

    opcode: str
    count: int
    bytes: int
    asynchronous: int


@dataclass(frozen=True)
class Summary:
    """What one run of an executable writes on a device.

    Attributes:
        bytes: of the elements of all arrays.
        padding: bytes that fill their tiles.
        padded: lines by padding, the most first.
        moved: lines of copies, transposes and reshapes, by bytes.
        collectives: by bytes.
        unknown: arrays whose layout is not understood, which count without padding.
    """

    bytes: int
    padding: int
    padded: tuple[Line, ...]
    moved: tuple[Line, ...]
    collectives: tuple[Collective, ...]
    unknown: int

    @property
    def padding_share(self) -> float:
        """The share of what is written that fills tiles."""
        return self.padding / max(1, self.bytes + self.padding)

    @property
    def moved_share(self) -> float:
        """The share of what is written that only moves data."""
        return sum(line.bytes for line in self.moved) / max(1, self.bytes + self.padding)


def summarize(arrays: Iterable[Written]) -> Summary:
    """Sum up the arrays of :func:`.written.read_written`."""
    arrays = [*arrays]
    return Summary(
        sum(array.bytes * array.times for array in arrays),
        sum(_padding(array) for array in arrays),
        _lines([(array, _padding(array)) for array in arrays]),
        _lines([(array, _taken(array)) for array in arrays if array.opcode in _MOVES]),
        _collectives(arrays),
        sum(array.padded_bytes is None for array in arrays),
    )


def _padding(array: Written) -> int:
    return 0 if array.padded_bytes is None else (array.padded_bytes - array.bytes) * array.times


def _taken(array: Written) -> int:
    return (array.bytes if array.padded_bytes is None else array.padded_bytes) * array.times


def _lines(measured: list[tuple[Written, int]]) -> tuple[Line, ...]:
    lines: dict[object, list[tuple[Written, int]]] = {}
    for array, size in measured:
        if size:
            site = array.site
            place = (site.file, site.line) if site.line else array.op_name
            lines.setdefault(place, []).append((array, size))
    summed = [
        Line(
            max(found, key=lambda each: each[1])[0],
            sum(size for _, size in found),
            sum(array.times for array, _ in found),
        )
        for found in lines.values()
    ]
    return tuple(sorted(summed, key=lambda line: -line.bytes))


def _collectives(arrays: list[Written]) -> tuple[Collective, ...]:
    found: dict[str, list[Written]] = {}
    for array in arrays:
        if match := _COLLECTIVE.fullmatch(array.opcode):
            found.setdefault(match[1], []).append(array)
    kinds = [
        Collective(
            opcode,
            sum(array.times for array in each),
            sum(_taken(array) for array in each),
            sum(array.times for array in each if array.opcode.endswith("-done")),
        )
        for opcode, each in found.items()
    ]
    return tuple(sorted(kinds, key=lambda kind: -kind.bytes))
