"""What arrays take in memory: a TPU stores them in tiles, such as 8 by 128 elements, and pads what
does not fill them.

The compiler chooses the order of the dimensions, and so which of them are padded. Source of the
rules: https://openxla.org/xla/tiled_layout and ``LayoutProto`` of ``xla/xla_data.proto``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xladoctor.ingest.hlo.element_types import NAMES

#: Memory spaces of layouts, of ``xla/layout.h``; others are the compiler's own.
_MEMORIES = {0: "hbm", 1: "vmem", 5: "host"}
_BITS = re.compile(r"\D+(\d+)")


@dataclass(frozen=True)
class Array:
    """An array in memory.

    Attributes:
        type: of its elements, such as ``bf16``.
        shape: dimensions, as the program has them.
        stored: dimensions with the outermost tile filled.
        layout: in HLO's form, such as ``{1,0:T(8,128)(2,1)}``.
        memory: ``hbm``, ``vmem`` or ``host``; empty for another.
        bytes: of its elements.
        padded_bytes: that it takes with its tiles filled; None if the layout is not understood.
    """

    type: str
    shape: tuple[int, ...]
    stored: tuple[int, ...]
    layout: str
    memory: str
    bytes: int
    padded_bytes: int | None

    @property
    def taken_bytes(self) -> int:
        """With padding, as far as that is known."""
        return self.bytes if self.padded_bytes is None else self.padded_bytes


def arrays(shape: Any) -> Iterator[Array]:
    """The arrays of a ``ShapeProto``, which may be a tuple of tuples."""
    if shape.tuple_shapes:
        for part in shape.tuple_shapes:
            yield from arrays(part)
    elif bits(NAMES.get(shape.element_type, "")):
        yield _array(shape)


def _array(shape: Any) -> Array:
    layout, dimensions = shape.layout, tuple(shape.dimensions)
    type_ = NAMES.get(shape.element_type, "")
    order = tuple(layout.minor_to_major)
    tiles = [tuple(tile.dimensions) for tile in layout.tiles]
    padded = padded_elements(dimensions, order, tiles)
    return Array(
        type_,
        dimensions,
        _stored(dimensions, order, tiles[0] if tiles else ()),
        _text(order, tiles, layout.memory_space),
        _MEMORIES.get(layout.memory_space, ""),
        _bytes(math.prod(dimensions), type_),
        None if padded is None else _bytes(padded, type_),
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


def _stored(
    dimensions: Sequence[int], order: Sequence[int], tile: Sequence[int]
) -> tuple[int, ...]:
    """The dimensions, those that a tile covers as multiples of its own."""
    stored = [*dimensions]
    for number, size in zip(order, reversed(tile), strict=False):
        if size > 0 and number < len(stored):
            stored[number] = -(-stored[number] // size) * size
    return tuple(stored)


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
