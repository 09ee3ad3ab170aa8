"""Finds the line of the program that is repeated in a function as JAX lowered it.

A Python loop inside a jitted function is unrolled: each iteration is traced. XLA may fold all of
them into a few instructions that do not show the loop, but compiling takes longer the more there
are.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any, Callable, NamedTuple

from ..call_site import FRAMEWORK, MACHINERY, OURS, USER
from .assignments import Place

_LOOKED_AT = 1000  # operations examined; each one's location is a text to parse
_LEAST = 50  # copies of one operation
_CONSTANT = "stablehlo.constant"
_ALIKE = 0.8  # an iteration's other operations have at least this share of its copies
#: A frame in the text of a location: ``callsite("step"("/app/train.py":10:34 to :49) at …``.
_FRAME = re.compile(r'"([^"]*)"\("([^"]+)":(\d+):')


class Repeated(NamedTuple):
    """The operations of one line.

    Attributes:
        place: the line.
        op: the most frequent operation, such as ``stablehlo.add``.
        copies: how often it occurs.
        operations: all operations of the function.
        part: the share of these that is repeated about as often.
    """

    place: Place
    op: str
    copies: int
    operations: int
    part: float


def repeated(module: Any, kind: Callable[[str], int]) -> Repeated | None:
    """The line with the most copies of an operation, if there are many and it is the program's.

    Args:
        module: an MLIR module. Of a long one a random sample of operations is examined, since
            regular intervals could be in step with the loop.
        kind: classifies a file, see :mod:`..call_site`.
    """
    operations = [
        operation
        for function in module.body.operations
        for region in function.regions
        for block in region
        for operation in block.operations
    ]
    some = operations
    if len(operations) > _LOOKED_AT:
        some = random.Random(0).sample(operations, _LOOKED_AT)  # noqa: S311
    places = Counter(
        (str(each.name), str([*each.results.types]), _place(str(each.location), kind))
        for each in some
    )
    named, sampled = (Counter(str(each.name) for each in part) for part in (operations, some))
    for (op, _, place), count in places.most_common():
        if op == _CONSTANT:  # as often as what uses it, but its line is the call's
            continue
        copies = count * named[op] // sampled[op]
        if copies < _LEAST:
            return None
        if place is not None:
            alike = sum(other for other in places.values() if other >= _ALIKE * count)
            return Repeated(place, op, copies, len(operations), alike / len(some))
    return None


def _place(location: str, kind: Callable[[str], int]) -> Place | None:
    """The innermost line outside the framework and the capture, if it is the program's."""
    for function, file, line in _FRAME.findall(location):
        of = kind(file)
        if of not in (FRAMEWORK, MACHINERY, OURS):  # the capture's wrappers are traced through, too
            return Place(file, int(line), function) if of == USER else None
    return None
