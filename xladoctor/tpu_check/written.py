"""Reads which arrays an executable of a TPU writes: in which layout and memory, for which line.

A TPU stores arrays in tiles, such as 8 by 128 elements, and pads what does not fill them. The
compiler chooses the order of the dimensions, and so which of them are padded. Source of the rules:
https://openxla.org/xla/tiled_layout and ``LayoutProto`` of ``xla/xla_data.proto``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from google.protobuf.message import DecodeError

from xladoctor.ingest.frames import NOWHERE, CallSite, Folders
from xladoctor.ingest.hlo.element_types import NAMES
from xladoctor.ingest.hlo.stacks import Stacks
from xladoctor.ingest.protobuf_schema import message

#: Memory spaces of layouts, of ``xla/layout.h``; others are the compiler's own.
_MEMORIES = {0: "hbm", 1: "vmem", 5: "host"}
#: Operations that write nothing of their own, or whose result another one writes.
_NO_WRITE = frozenset(
    [
        "parameter",
        "constant",
        "tuple",
        "get-tuple-element",
        "bitcast",
        "after-all",
        "while",
        "conditional",
        "call",
        "opt-barrier",
        "partition-id",
        "replica-id",
        "add-dependency",
    ]
)
_BITCAST = "ConcatBitcast"  # target of custom calls
_MLIR = "-"  # in place of a file: the line is one of the graph's text
_CONTROL = ("while", "conditional", "call")
_TRIPS = re.compile(rb'"known_trip_count":\{"n":"(\d{1,9})"\}')
_BITS = re.compile(r"\D+(\d+)")
_DEEPEST = 20  # loops within loops
_MOST = 1_000_000  # arrays


@dataclass(frozen=True)
class Written:
    """An array that an operation of the executable writes.

    Attributes:
        operation: its name in the module.
        opcode: as in HLO text, such as ``fusion``; a transfer that has ended is ``copy-done``.
        type: of its elements, such as ``bf16``.
        shape: dimensions, as the program has them.
        layout: in HLO's form, such as ``{1,0:T(8,128)(2,1)}``.
        memory: ``hbm``, ``vmem`` or ``host``; empty for another.
        bytes: of its elements.
        padded_bytes: that it takes with its tiles filled; None if the layout is not understood.
        times: how often a run of the executable writes it; loops of unknown length count once.
        op_name: of the framework, with scopes.
        site: the program's line, as far as it is known.
    """

    operation: str
    opcode: str
    type: str
    shape: tuple[int, ...]
    layout: str
    memory: str
    bytes: int
    padded_bytes: int | None
    times: int
    op_name: str
    site: CallSite


def read_written(proto: bytes, folders: Folders) -> list[Written]:
    """The arrays that an optimized module writes, in the order of its schedule.

    Args:
        proto: serialized HloModuleProto.
        folders: to recognise the program's own lines.

    Raises:
        DecodeError: it is none.
    """
    module = message("HloModuleProto").FromString(proto)
    computations = {computation.id: computation for computation in module.computations}
    entry = computations.get(module.entry_computation_id)
    if entry is None:
        raise DecodeError("a module without an entry computation")
    stacks = Stacks(module.stack_frame_index, folders)
    return [*islice(_of(entry, 1, computations, stacks, ()), _MOST)]


def _of(
    computation: Any,
    times: int,
    computations: dict[int, Any],
    stacks: Stacks,
    within: tuple[int, ...],
) -> Iterator[Written]:
    """``within``: the computations that lead here, as a damaged one may call itself."""
    within = (*within, computation.id)
    for instruction in computation.instructions:
        opcode = instruction.opcode
        if opcode in _CONTROL and len(within) < _DEEPEST:
            inner = times
            if opcode == "while" and (trips := _TRIPS.search(instruction.backend_config)):
                inner = times * int(trips[1])
            for called in instruction.called_computation_ids:
                if called in computations and called not in within:
                    yield from _of(computations[called], inner, computations, stacks, within)
        if opcode in _NO_WRITE or opcode.endswith("-start"):
            continue
        if opcode == "custom-call" and instruction.custom_call_target == _BITCAST:
            continue
        site = CallSite(*stacks.origin(instruction.metadata).site)
        if site.file == _MLIR:
            site = NOWHERE
        for shape in _arrays(instruction.shape):
            yield _written(instruction, shape, times, site)


def _arrays(shape: Any) -> Iterator[Any]:
    """The arrays of a shape, which may be a tuple of tuples."""
    if shape.tuple_shapes:
        for part in shape.tuple_shapes:
            yield from _arrays(part)
    elif bits(NAMES.get(shape.element_type, "")):
        yield shape


def _written(instruction: Any, shape: Any, times: int, site: CallSite) -> Written:
    layout, dimensions = shape.layout, tuple(shape.dimensions)
    type_ = NAMES.get(shape.element_type, "")
    order = tuple(layout.minor_to_major)
    tiles = [tuple(tile.dimensions) for tile in layout.tiles]
    padded = padded_elements(dimensions, order, tiles)
    return Written(
        instruction.name,
        instruction.opcode,
        type_,
        dimensions,
        _text(order, tiles, layout.memory_space),
        _MEMORIES.get(layout.memory_space, ""),
        _bytes(math.prod(dimensions), type_),
        None if padded is None else _bytes(padded, type_),
        times,
        instruction.metadata.op_name,
        site,
    )


def padded_elements(
    dimensions: Sequence[int], order: Sequence[int], tiles: Sequence[Sequence[int]]
) -> int | None:
    """Elements that an array takes in memory, with those that fill its tiles.

    Args:
        dimensions: of the array.
        order: its dimensions from minor to major.
        tiles: each divides what the one before has made, from the most minor dimensions; the last
            number of a tile is that of the most minor dimension.

    Returns:
        None if order and tiles are none of such an array.
    """
    if sorted(order) != list(range(len(dimensions))):
        return None
    physical = [dimensions[number] for number in reversed(order)]  # major to minor
    for tile in tiles:
        if any(size <= 0 for size in tile):
            return None  # dimensions that are combined before they are divided
        physical = [1] * (len(tile) - len(physical)) + physical
        split = len(physical) - len(tile)
        outer = [-(-size // by) for size, by in zip(physical[split:], tile, strict=True)]
        physical = [*physical[:split], *outer, *tile]
    return math.prod(physical)


def bits(type_: str) -> int:
    """Bits of an element; 0 for what is no array."""
    if type_ == "pred":
        return 8
    match = _BITS.match(type_)
    return int(match[1]) if match else 0


def _bytes(elements: int, type_: str) -> int:
    return -(-elements * bits(type_) // 8)


def _text(order: Sequence[int], tiles: Sequence[Sequence[int]], memory: int) -> str:
    tiled = "".join(f"({','.join(map(str, tile))})" for tile in tiles)
    space = f"S({memory})" if memory else ""
    text = ",".join(map(str, order))
    return f"{{{text}:{'T' if tiled else ''}{tiled}{space}}}" if tiled or space else f"{{{text}}}"
