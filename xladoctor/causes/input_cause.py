"""Makes a cause from an input that differs: its shape, its type, and its line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from dataclasses import replace

from xladoctor.causes.interface import Cause, InputChanges, Kind, Line, Parameter, Place
from xladoctor.evidence.database import Database

#: A line is NULL where the counters alone have the operator.
_DYNAMIC = """
SELECT process, file, line FROM fallback WHERE sizes_by_data(op)
UNION ALL SELECT process, NULL, NULL FROM fallback_op WHERE dynamic AND file IS NULL
"""
_NOWHERE: Line = (None, None)
_MOST_DIMENSIONS = 8


def dynamic_lines(database: Database) -> dict[int, set[Line]]:
    """By process, the lines of operators whose result has a size that depends on the data."""
    lines: dict[int, set[Line]] = defaultdict(set)
    for process, file, line in database.table(_DYNAMIC)[1]:
        lines[process].add((file, line))
    return lines


def input_changed(before: Parameter, after: Parameter, kind: Kind) -> Cause:
    """The cause for a changed input: of the given ``kind``, or a changed type if shapes agree."""
    sizes = enumerate(zip(before.shape, after.shape, strict=False))
    differing = [dimension for dimension, (old, new) in sizes if old != new]
    comparable = differing and len(before.shape) == len(after.shape)
    dimension = differing[0] if comparable else None
    return Cause(
        "input_type" if before.type != after.type and not differing else kind,
        parameter=after.number,
        was=before.text,
        now=after.text,
        dimension=dimension,
        value=None if dimension is None else after.shape[dimension],
        role="made" if after.sent else "used",
        place=after.place,
    )


def _are_positions(before: Parameter, after: Parameter) -> bool:
    """Whether they are like results of ``nonzero()``: s64[found, dimensions], not sent."""
    return (
        not after.sent
        and before.type == after.type == "s64"
        and len(before.shape) == len(after.shape) == 2
        and before.shape[1] == after.shape[1] <= _MOST_DIMENSIONS
    )


def by_inputs(inputs: InputChanges, dynamic: Set[Line]) -> Cause | None:
    """An input of another shape or type: preferably one that the host sent, then one with a line.

    Args:
        dynamic: lines whose results have a size that depends on the data; without file and
            line, if there are some of which the lines are not known.
    """
    if not inputs.changed:
        return None
    located = [pair for pair in inputs.changed if pair[1].place.file]
    placed = dynamic - {_NOWHERE}
    static = [
        pair
        for pair in located
        if pair[1].place.spot not in dynamic
        and not (_NOWHERE in dynamic and not placed and _are_positions(*pair))
    ]
    sent = [pair for pair in static if pair[1].sent]
    before, after = (sent or static or located or inputs.changed)[0]
    dependent = not static and (bool(located) or len(placed) == 1)
    cause = input_changed(before, after, "data_dependent_shape" if dependent else "input_shape")
    if dependent and not located:  # it can only come from these operators
        cause = replace(cause, place=Place(*next(iter(placed))))
    return cause
