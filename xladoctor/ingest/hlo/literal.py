"""Values of small constants (``LiteralProto``) as HLO text prints them."""

from __future__ import annotations

import math
import struct
from itertools import product
from typing import Any

from xladoctor.ingest.hlo.element_types import NAMES, READERS

_MOST_ELEMENTS = 16


def text(literal: Any) -> str | None:
    """The value of a literal: ``2.5``, ``{1, 2, 3}``, ``{ { 1, 2 }, { 3, 4 } }``, ``(1, -2)``.

    None for tuples, for more than 16 elements, for the few types that are not supported, and if
    type, dimensions and values disagree. Format: ``PrintWithoutShapeOneline`` in
    ``xla/literal.cc``, without its comments in more than three dimensions and payloads of NaN.
    """
    shape = literal.shape
    name = NAMES.get(shape.element_type, "")
    dimensions = list(shape.dimensions)
    if name not in READERS or not _small(dimensions):
        return None
    try:
        elements = READERS[name](getattr(literal, f"{name}s"))
    except (ValueError, struct.error):
        return None
    if len(elements) != math.prod(dimensions):
        return None
    if name == "pred" and dimensions:
        elements = ["1" if element == "true" else "0" for element in elements]
    return _nested(_logical(elements, dimensions, list(shape.layout.minor_to_major)), dimensions)


def _small(dimensions: list[int]) -> bool:
    return (
        len(dimensions) <= _MOST_ELEMENTS
        and all(size >= 0 for size in dimensions)
        and math.prod(max(size, 1) for size in dimensions) <= _MOST_ELEMENTS
    )


def _logical(elements: list[str], dimensions: list[int], minor_to_major: list[int]) -> list[str]:
    """Elements in the order of the layout, reordered so that the last dimension runs fastest."""
    rank = len(dimensions)
    if rank < 2 or sorted(minor_to_major) != list(range(rank)):
        return elements
    strides, stride = [0] * rank, 1
    for dimension in minor_to_major:
        strides[dimension] = stride
        stride *= dimensions[dimension]
    return [
        elements[sum(i * step for i, step in zip(indices, strides, strict=True))]
        for indices in product(*map(range, dimensions))
    ]


def _nested(texts: list[str], dimensions: list[int]) -> str:
    """Put braces around the elements of each dimension, from the last one outwards."""
    for axis in reversed(range(len(dimensions))):
        size, innermost = dimensions[axis], axis == len(dimensions) - 1
        tight = len(dimensions) == 1 or (innermost and size <= 1)
        opening, closing = ("{", "}") if tight else ("{ ", " }")
        texts = [
            opening + ", ".join(texts[group * size : (group + 1) * size]) + closing
            for group in range(math.prod(dimensions[:axis]))
        ]
    return texts[0]
