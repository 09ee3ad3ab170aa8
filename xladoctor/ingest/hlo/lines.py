"""Finds Python lines for graphs that were traced without them.

A loop in the steady state is traced without lines, since recording them takes time. If it compiles
a graph after all, that graph has the same operations as an earlier one, in the same order, except
for what changed. So each instruction takes the line of its counterpart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from typing import Any

from xladoctor.ingest.frames import NOWHERE
from xladoctor.ingest.hlo.module import Module

_SITE = (*NOWHERE.columns(), "sent")
_FEW = 0.5  # fraction of the best module's share of instructions with lines
_MOST_ALIGNED = 4000  # instructions; at worst, alignment takes quadratic time

Key = tuple[Any, ...]


def lend_lines(modules: Sequence[Module], sites: Sequence[Hashable]) -> None:
    """Fill in lines in modules that have few, from modules of the same process that have them.

    Args:
        sites: the call site that compiled each module. Modules of another site are of another loop,
            whose lines are not theirs.
    """
    shares = [_share(module) for module in modules]
    best = max(shares, default=0.0)
    lenders = defaultdict(list)
    for module, site, share in zip(modules, sites, shares, strict=True):
        if share >= _FEW * best > 0:
            lenders[site].append(module)
    for module, site, share in zip(modules, sites, shares, strict=True):
        if share < _FEW * best and site in lenders:
            nearest = min(lenders[site], key=lambda lender: _distance(lender, module))
            _lend(nearest, module)


def _share(module: Module) -> float:
    """The share of framework operations that have a line."""
    operations = lines = 0
    for op, file in zip(module.instructions["op_type"], module.instructions["file"], strict=True):
        operations += op is not None
        lines += op is not None and file is not None
    return lines / operations if operations else 0.0


def _distance(lender: Module, module: Module) -> tuple[int, int, bool, int]:
    """A distance by number of inputs, then size; of equals, the last one before is the nearest."""
    size = abs(lender.described["instructions"] - module.described["instructions"])
    before = module.program - lender.program
    return abs(lender.inputs - module.inputs), size, before < 0, abs(before)


def _lend(lender: Module, module: Module) -> None:
    known = len(module.frames["frame"])
    _append_frames(lender, module)
    source, target = lender.instructions, module.instructions
    for theirs, ours in _pairs(lender, module):
        if target["file"][ours] is not None or source["file"][theirs] is None:
            continue
        for column in _SITE:
            target[column][ours] = source[column][theirs]
        frame = source["frame"][theirs]
        target["frame"][ours] = None if frame is None else known + frame


def _append_frames(lender: Module, module: Module) -> None:
    known = len(module.frames["frame"])
    for name, values in lender.frames.items():
        moved = values
        if name == "frame":
            moved = [known + value for value in values]
        elif name == "parent":
            moved = [known + value if value else 0 for value in values]
        module.frames[name] = [*module.frames[name], *moved]


def _pairs(lender: Module, module: Module) -> Iterator[tuple[int, int]]:
    """Rows of matching instructions: inputs by number, operations in order."""
    theirs, ours = _operations(lender), _operations(module)
    a, b = [key for key, _ in theirs], [key for key, _ in ours]
    if a == b:
        blocks = [Match(0, 0, len(a))]
    elif max(len(a), len(b)) <= _MOST_ALIGNED:
        blocks = SequenceMatcher(None, a, b, False).get_matching_blocks()
    else:
        yield from _by_occurrence(theirs, ours)
        return
    for first, second, count in blocks:
        for offset in range(count):
            yield theirs[first + offset][1], ours[second + offset][1]


def _by_occurrence(
    theirs: list[tuple[Key, int]], ours: list[tuple[Key, int]]
) -> Iterator[tuple[int, int]]:
    rows: dict[Key, list[int]] = defaultdict(list)
    for key, row in reversed(theirs):
        rows[key].append(row)
    for key, row in ours:
        if rows[key]:
            yield rows[key].pop(), row


def _operations(module: Module) -> list[tuple[Key, int]]:
    """The key and row of each instruction that is a framework operation."""
    columns = module.instructions
    rows = zip(
        columns["op_type"], columns["opcode"], columns["entry"], columns["parameter"], strict=True
    )
    return [
        ((op, opcode, number if entry else None), row)
        for row, (op, opcode, entry, number) in enumerate(rows)
        if op is not None
    ]
