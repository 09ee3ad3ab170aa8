"""Goes through the operations of an executable, with loops and fusions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from xladoctor.ingest.hlo.element_types import NAMES

_CALLS = ("call", "conditional", "fusion", "while")
_KNOWN = re.compile(rb'"known_trip_count":\{"n":"(\d{1,9})"\}')
_DEEPEST = 20  # loops within loops
_MOST_TURNS = 10**9
_VIEWS = ("bitcast", "copy")


class Run(NamedTuple):
    """An instruction, and how often a run of the executable comes to it.

    Attributes:
        times: loops of unknown length count once.
        fused: whether it is in a fusion, so that it writes nothing by itself.
        in_loop: whether it is in a loop.
    """

    instruction: Any
    times: int
    fused: bool = False
    in_loop: bool = False


def called(instruction: Any, computations: Mapping[int, Any]) -> Any:
    """The first computation that an instruction calls; None if there is none."""
    numbers = instruction.called_computation_ids
    return next((computations[number] for number in numbers if number in computations), None)


def root_of(computation: Any) -> Any:
    """The instruction that is a computation's result; None if a damaged one has none."""
    instructions = computation.instructions
    return next((each for each in instructions if each.id == computation.root_id), None)


def walk(entry: Any, computations: Mapping[int, Any]) -> Iterator[Run]:
    """Every instruction, in the order of the schedule, each computation where it is called.

    Args:
        entry: ``HloComputationProto``; ``computations``: all of the module by their numbers.
    """
    return _walk(entry, Run(None, 1), computations, ())


def _walk(
    computation: Any, at: Run, computations: Mapping[int, Any], within: tuple[int, ...]
) -> Iterator[Run]:
    """``within``: the computations that lead here, as a damaged one may call itself."""
    within = (*within, computation.id)
    for instruction in computation.instructions:
        yield at._replace(instruction=instruction)
        if len(within) >= _DEEPEST or instruction.opcode not in _CALLS:
            continue
        inner = at
        if instruction.opcode == "while":
            inner = at._replace(times=at.times * _turns(instruction, computations), in_loop=True)
        elif instruction.opcode == "fusion":
            inner = at._replace(fused=True)
        for number in instruction.called_computation_ids:
            if number in computations and number not in within:
                yield from _walk(computations[number], inner, computations, within)


def _turns(loop: Any, computations: Mapping[int, Any]) -> int:
    """How often a loop turns; 1 if that cannot be seen.

    The compiler says so, or the loop counts from 0 by 1 to a constant of its condition, as those of
    ``scan`` and ``fori_loop`` do.
    """
    if known := _KNOWN.search(loop.backend_config):
        return int(known[1])
    limits = [
        limit
        for number in loop.called_computation_ids
        if number in computations and (limit := _limit(computations[number])) is not None
    ]
    return limits[0] if len(limits) == 1 else 1


def _limit(condition: Any) -> int | None:
    """The constant that a condition compares the counter with; None for another computation."""
    by_id = {each.id: each for each in condition.instructions}
    root = root_of(condition)
    if root is None or root.opcode != "compare" or root.comparison_direction != "LT":
        return None
    for number in root.operand_ids[1:]:
        constant = by_id.get(number)
        if constant is not None and constant.opcode == "constant":
            literal = constant.literal
            values = [*literal.s32s, *literal.s64s, *literal.u32s]
            if len(values) == 1 and 0 < values[0] <= _MOST_TURNS:
                return int(values[0])
    return None


def written_shapes(instruction: Any, computations: Mapping[int, Any]) -> list[Any]:
    """The shapes that an instruction really writes: of what it updates in place, only the update.

    Source: a fusion whose root is a ``dynamic-update-slice`` shares its buffer with the operand.
    """
    if instruction.opcode != "fusion":
        return [instruction.shape]
    body = called(instruction, computations)
    if body is None:
        return [instruction.shape]
    by_id = {each.id: each for each in body.instructions}
    root = root_of(body)
    if root is None:
        return [instruction.shape]
    parts = [by_id.get(n) for n in root.operand_ids] if root.opcode == "tuple" else [root]
    shapes = [*instruction.shape.tuple_shapes] or [instruction.shape]
    if len(parts) != len(shapes):
        return [instruction.shape]
    return [
        _updated(part, by_id) or shape
        for part, shape in zip(parts, shapes, strict=True)
        if part is None or part.opcode != "parameter"  # which is only passed on
    ]


def _updated(part: Any, by_id: Mapping[int, Any]) -> Any:
    """The shape of the update, if a part of a fusion's result is updated in place."""
    for _ in range(_DEEPEST):
        if part is None or part.opcode not in _VIEWS or not part.operand_ids:
            break
        part = by_id.get(part.operand_ids[0])
    if part is None or part.opcode != "dynamic-update-slice" or len(part.operand_ids) < 2:
        return None
    update = by_id.get(part.operand_ids[1])
    return update.shape if update is not None and update.shape.element_type in NAMES else None
