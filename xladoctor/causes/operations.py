"""Finds the operations, by Python line, in which two compiled graphs differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from math import prod
from typing import NamedTuple

import numpy as np

from xladoctor.causes.interface import (
    Change,
    Counts,
    Graph,
    HashCounts,
    Hashes,
    Nature,
    Operands,
    Token,
)
from xladoctor.causes.vocabulary import Vocabulary, spelled

_MOST_TOKENS = 600  # tokens of a pair of graphs; the first lowered are kept
#: Opcodes that accompany what an operation really does.
DULL = {"broadcast", "constant", "convert", "reshape", "transpose", "iota", "select"}


class DifferingTokens(NamedTuple):
    """Tokens whose counts differ, in the order of lowering."""

    keys: Hashes
    was: Counts
    now: Counts
    order: Counts


class CountDifference(NamedTuple):
    """A kind of instruction whose number differs between two graphs."""

    token: Token
    was: int
    now: int
    order: int


def differing(old: HashCounts, new: HashCounts) -> DifferingTokens:
    """The tokens whose counts differ between two graphs; at most 600."""
    keys = np.union1d(old.keys, new.keys)
    was, first = _spread(old, keys)
    now, second = _spread(new, keys)
    chosen = np.flatnonzero(was != now)
    order = np.minimum(first[chosen], second[chosen])
    ranked = np.argsort(order, kind="stable")[:_MOST_TOKENS]
    chosen = chosen[ranked]
    return DifferingTokens(keys[chosen], was[chosen], now[chosen], order[ranked])


def _spread(counted: HashCounts, keys: Hashes) -> tuple[Counts, Counts]:
    counts = np.zeros(len(keys), np.int64)
    order = np.full(len(keys), np.iinfo(np.int32).max, np.int64)
    at = np.searchsorted(keys, counted.keys)
    counts[at] = counted.counts
    order[at] = counted.order
    return counts, order


def number_differing(old: HashCounts, new: HashCounts) -> int:
    """The number of tokens whose counts differ between two graphs."""
    common, at_old, at_new = np.intersect1d(old.keys, new.keys, True, return_indices=True)
    equal = int((old.counts[at_old] == new.counts[at_new]).sum())
    return len(old.keys) + len(new.keys) - len(common) - equal


def uneven(differing: DifferingTokens, tokens: Mapping[int, Token]) -> list[CountDifference]:
    """The differing tokens with their contents, which ``tokens`` gives by hash."""
    columns = (column.tolist() for column in differing)
    return [CountDifference(tokens[key], *counts) for key, *counts in zip(*columns, strict=True)]


def operations(
    old: Graph, new: Graph, rows: list[CountDifference], vocabulary: Vocabulary
) -> tuple[Change, ...]:
    """The operations that differ, in the order of lowering."""
    groups: dict[int, list[CountDifference]] = {}
    for row in rows:
        if row.token.op:
            groups.setdefault(row.token.spot, []).append(row)
    changes = [
        _change(group, _count(old.spots, spot), _count(new.spots, spot), vocabulary)
        for spot, group in groups.items()
    ]
    return tuple(sorted(changes, key=lambda change: change.order))


def _count(counted: HashCounts, key: int) -> int:
    wanted = np.uint64(key)
    at = int(np.searchsorted(counted.keys, wanted))
    known = at < len(counted.keys) and counted.keys[at] == wanted
    return int(counted.counts[at]) if known else 0


def _change(rows: list[CountDifference], before: int, after: int, vocabulary: Vocabulary) -> Change:
    token = rows[0].token
    op = spelled(token.op or "")
    rows.sort(key=lambda row: row.token.opcode in DULL)
    was = [row.token for row in rows if row.was > row.now]
    now = [row.token for row in rows if row.now > row.was]
    return Change(
        _nature(was, now, before > 0, after > 0),
        token.place,
        op,
        tuple(token.text for token in was),
        tuple(token.text for token in now),
        before,
        after,
        min(row.order for row in rows),
        token.spot,
        significant=op not in vocabulary.insignificant,
        number=op in vocabulary.numbers,
    )


def _nature(was: list[Token], now: list[Token], in_old: bool, in_new: bool) -> Nature:
    if not in_old:
        return "added"
    if not in_new:
        return "removed"
    if not was or not now:
        return "count"
    values = [{(token.opcode, token.value) for token in side if token.value} for side in (was, now)]
    shapes = [{(token.opcode, token.shape, token.type) for token in side} for side in (was, now)]
    if values[0] != values[1] and (_sliced(was, now) or shapes[0] == shapes[1]):
        return "value"
    return "value" if _simplified(was, now) else "shape" if _resized(was, now) else "count"


def _simplified(was: list[Token], now: list[Token]) -> bool:
    """Whether both are the same operation, simplified for one number but not for the other."""
    opcodes = [{token.opcode for token in side} for side in (was, now)]
    return opcodes[0] != opcodes[1] and {t.shape for t in was} == {t.shape for t in now}


def _resized(was: list[Token], now: list[Token]) -> bool:
    """Whether results have other sizes or types; scalars beside tensors do not count."""
    sizes = [
        {(token.opcode, prod(token.shape), token.type) for token in side} for side in (was, now)
    ]
    scalars = [not any(token.shape for token in side) for side in (was, now)]
    return sizes[0] != sizes[1] and scalars[0] == scalars[1]


def _sliced(was: list[Token], now: list[Token]) -> bool:
    """Whether the operation itself slices or pads, so that its number determines the shape.

    An operation that also does other work slices as a consequence of its size, as random numbers
    are made in pairs.
    """
    opcodes = {token.opcode for token in (*was, *now)} - DULL
    return bool(opcodes) and opcodes <= {"slice", "pad"}


def moved(rows: list[CountDifference]) -> bool:
    """Whether only the lines of the same instructions differ: lines are not part of a graph."""
    balance: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        balance[row.token[2:]] += row.now - row.was
    return not any(balance.values())


def with_origins(
    changes: tuple[Change, ...], made_of: Callable[[list[int]], Operands]
) -> tuple[Change, ...]:
    """Mark the changes at which graphs diverge, as opposed to consequences, if there are several.

    Args:
        made_of: returns for spots the types and shapes of their operands in either graph.
    """
    candidates = [
        change for change in changes if change.place.file and change.nature in ("value", "shape")
    ]
    if not any(change.nature == "shape" for change in candidates):
        return changes
    operands = made_of([change.spot for change in candidates])
    return tuple(
        _with_origin(change, *operands[change.spot]) if change.spot in operands else change
        for change in changes
    )


def _with_origin(change: Change, was: tuple[str, ...], now: tuple[str, ...]) -> Change:
    """Mark a change by its largest operand; small ones may be internal, as the sum in a softmax."""
    old, new = (max(side, key=elements, default=None) for side in (was, now))
    makes = new is None or elements(new) == 1
    return change._replace(origin=old is not None and old == new, makes=makes)


def elements(text: str) -> int:
    """The number of elements in a shape, given as HLO text."""
    sizes = text[text.index("[") + 1 : -1]
    return prod(int(size) for size in sizes.split(",")) if sizes else 1
