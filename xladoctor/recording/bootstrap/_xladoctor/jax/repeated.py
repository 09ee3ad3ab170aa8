"""Which line of the program repeats itself in a function as JAX lowered it.

Each turn of a Python loop inside a jitted function is traced anew. XLA may fold all turns into a
few instructions, which show nothing of the loop: but it takes the more time for that, the more
turns there are.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any, Callable, NamedTuple

from ..call_site import FRAMEWORK, MACHINERY, USER
from .assigned import Place

_LOOKED_AT = 1000  # operations, whose places are texts to be taken apart
_LEAST = 50  # copies of one operation
_ALIKE = 0.8  # of as many copies, the others of a turn
#: A frame in the text of a location: ``callsite("step"("/app/train.py":10:34 to :49) at …``.
_FRAME = re.compile(r'"([^"]*)"\("([^"]+)":(\d+):')


class Repeated(NamedTuple):
    """Operations of one line.

    Attributes:
        place: the line.
        op: the commonest, as ``stablehlo.add``.
        copies: of it.
        operations: of the function in all.
        part: of these, the share that is repeated about as often.
    """

    place: Place
    op: str
    copies: int
    operations: int
    part: float


def repeated(module: Any, kind: Callable[[str], int]) -> Repeated | None:
    """The line with the most copies of an operation, if there are many and the program's own code
    makes them.

    Args:
        module: an MLIR module; of a long one, some operations are looked at. Those at equal
            distances would keep time with the loop.
        kind: of a file, see :mod:`..call_site`.
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
    for (op, _, place), count in places.most_common():
        copies = count * len(operations) // len(some)
        if copies < _LEAST:
            return None
        if place is not None:
            alike = sum(other for other in places.values() if other >= _ALIKE * count)
            return Repeated(place, op, copies, len(operations), alike / len(some))
    return None


def _place(location: str, kind: Callable[[str], int]) -> Place | None:
    """The innermost line outside of the framework, if it is the program's."""
    for function, file, line in _FRAME.findall(location):
        of = kind(file)
        if of not in (FRAMEWORK, MACHINERY):
            return Place(file, int(line), function) if of == USER else None
    return None
