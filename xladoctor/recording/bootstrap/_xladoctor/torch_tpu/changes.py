"""What is new in an executable of TorchTPU since an earlier one of the same operator and line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .executables import WRITE, Executable, rank

if TYPE_CHECKING:
    from .grouping import Compiling

_MOST_CHANGES = 2  # of sizes and types; more are those of another layer
_MOST_NAMES = 3  # of the operators of a chain

#: As in :class:`..facts.Compile`: what, the input, was, now.
Change = tuple[str, str, str, str]
#: What a size, or a type, was and is now.
Ratio = tuple[Any, Any]


def changed(
    found: Executable, known: dict[tuple[str, ...], Compiling], step: int
) -> tuple[Compiling | None, tuple[Change, ...]]:
    """What is new since the executable of an earlier step that is most alike.

    At one line an operator may be that of several layers: a change has to be the same in all
    inputs, such as another size of the batch. Two layers whose inputs are alike are compiled in one
    step, whatever was new in it.
    """
    same = known.get(found.shapes)
    if same is not None and found.sliced:
        verb = "writes" if found.operator == WRITE else "reads"
        return same, (("offset", f"the slice that {found.operator} {verb}", "", ""),)
    best: tuple[int, Compiling | None, tuple[Change, ...]] = (0, None, ())
    for shapes, group in known.items():
        if group.step >= step or [*map(rank, shapes)] != [*map(rank, found.shapes)]:
            continue
        pairs = [*zip(shapes, found.shapes)]
        sizes = {size for was, now in pairs for size in zip(_sizes(was), _sizes(now))}
        differ = {(was, now) for was, now in sizes if was != now}
        types = {(_type(was), _type(now)) for was, now in pairs if _type(was) != _type(now)}
        if not 0 < len(differ) + len(types) <= _MOST_CHANGES:
            continue
        if len(pairs) > _MOST_CHANGES and all(was != now for was, now in pairs):
            continue  # weights and all: another layer
        changes = tuple(
            (
                "type" if _type(was) != _type(now) else "shape",
                f"{_part(found, n)} of {found.operator}",
                was,
                now,
            )
            for n, (was, now) in enumerate(pairs)
            if was != now
        )
        if best[1] is None or len(changes) < best[0]:
            best = len(changes), group, changes
    if same is not None and (best[1] is None or same.step < step):
        return same, (("static", f"a Python number given to {found.operator}", "", ""),)
    return best[1:]


def ratios_of(changes: tuple[Change, ...]) -> set[Ratio]:
    """How sizes and types differ; sizes in lowest terms, as a batch may be part of several."""
    ratios: set[Ratio] = set()
    for what, _, was, now in changes:
        if what in ("shape", "type"):
            for old, new in zip(_sizes(was), _sizes(now)):
                if old != new and old.isdecimal() and new.isdecimal():
                    common = math.gcd(int(old), int(new)) or 1
                    ratios.add((int(old) // common, int(new) // common))
            if _type(was) != _type(now):
                ratios.add((_type(was), _type(now)))
    return ratios


def chain_of(found: Executable) -> str:
    """Its operators, such as ``linear, gelu, linear and 2 more``."""
    names = ", ".join(found.chain[:_MOST_NAMES])
    more = len(found.chain) - _MOST_NAMES
    return f"{names} and {more} more" if more > 0 else names


def _part(found: Executable, number: int) -> str:
    if number < found.inputs:
        return f"input {number}"
    return "a slice" if found.sliced else "the result"


def _type(shape: str) -> str:
    return shape.partition("[")[0]


def _sizes(shape: str) -> list[str]:
    return shape.partition("[")[2].rstrip("]").split(",")
