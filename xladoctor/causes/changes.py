"""In what two compiled graphs differ: their inputs, and the operations of each Python line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np

from xladoctor.causes.graphs import (
    Counted,
    Graph,
    Numbers,
    Parameter,
    Place,
    Token,
)

#: How an operation at a line differs: there in one graph alone, made with another number, of
#: another shape, or as often as before but for more or fewer instructions.
Nature = Literal["added", "removed", "value", "shape", "count"]

_MOST_TOKENS = 600  # of a pair of graphs, those lowered first
_MOST_ALIGNED = 400  # inputs; beyond that they are compared as a bag
#: Operations that come and go with the optimization around them, or stand for values alone.
_INSIGNIFICANT = {
    "prim__Constant", "xla__device_data", "aten__view", "aten__permute", "aten__expand",
    "aten__squeeze", "aten__unsqueeze", "aten__clone", "aten__detach", "aten__t", "xla__cast",
    "aten__transpose", "aten__reshape", "xla__as_strided_view_update",
}  # fmt: skip
#: Opcodes that come along with what an operation really does.
DULL = {"broadcast", "constant", "convert", "reshape", "transpose", "iota", "select"}


class Change(NamedTuple):
    """An operation of a line that differs.

    Attributes:
        nature: how.
        op: the framework's name of the operation, as ``aten::pow``.
        was: instructions of it in the earlier graph that the later one lacks, as HLO text.
        now: and the other way round.
        order: when it was lowered; the first change is the cause of those behind it.
        spot: hash of its line and operation.
        origin: whether what it is made of has the same size in both graphs, so that it is where
            they part; False where this is not known.
        makes: whether it is made of single numbers alone, as what creates a tensor.
    """

    nature: Nature
    place: Place
    op: str
    was: list[str]
    now: list[str]
    was_count: int
    now_count: int
    order: int
    spot: int = 0
    origin: bool = False
    makes: bool = False


@dataclass(slots=True)
class InputChanges:
    """Inputs that differ: pairs of the same input, and those of one graph alone."""

    changed: list[tuple[Parameter, Parameter]] = field(default_factory=list)
    removed: list[Parameter] = field(default_factory=list)
    added: list[Parameter] = field(default_factory=list)

    @property
    def scalars_alone(self) -> bool:
        """Whether all that came and went are single numbers."""
        return all(not one.shape for one in (*self.removed, *self.added))


def numbers_by_line(old: Graph, new: Graph) -> tuple[list[Parameter], list[Parameter]]:
    """Single numbers that are an input from a line in the earlier, and in the later graph alone.

    Without a line all count as from one.
    """
    sides = [[one for one in graph.parameters if not one.shape] for graph in (old, new)]
    lines = [Counter(one.place[:2] for one in side) for side in sides]
    gone, come = lines[0] - lines[1], lines[1] - lines[0]
    return _of_lines(sides[0], gone), _of_lines(sides[1], come)


def _of_lines(parameters: list[Parameter], lines: Counter[Any]) -> list[Parameter]:
    found = []
    for one in reversed(parameters):
        if lines[one.place[:2]] > 0:
            lines[one.place[:2]] -= 1
            found.append(one)
    return found


def inputs(old: Graph, new: Graph, together: Callable[[Any, Any], bool]) -> InputChanges:
    """Compare the inputs of two graphs.

    Args:
        old: the earlier graph.
        new: the later one.
        together: whether two kinds of input were seen in one graph; they are then two inputs (the
            weights of two layers), not one that changed.
    """
    before, after = _without_common_ends(old.parameters, new.parameters)
    pairs: list[tuple[Parameter, Parameter]] = []
    if len(before) == len(after):
        pairs = [(a, b) for a, b in zip(before, after, strict=True) if a.kind != b.kind]
        before, after = [a for a, _ in pairs], [b for _, b in pairs]
    elif max(len(before), len(after)) <= _MOST_ALIGNED:
        pairs, before, after = _aligned(before, after)
    return _paired(before, after, pairs, together)


def _without_common_ends(
    old: Sequence[Parameter], new: Sequence[Parameter]
) -> tuple[list[Parameter], list[Parameter]]:
    begin = 0
    while begin < min(len(old), len(new)) and old[begin].kind == new[begin].kind:
        begin += 1
    end = 0
    while end < min(len(old), len(new)) - begin and old[-1 - end].kind == new[-1 - end].kind:
        end += 1
    return list(old[begin : len(old) - end]), list(new[begin : len(new) - end])


def _aligned(
    old: list[Parameter], new: list[Parameter]
) -> tuple[list[tuple[Parameter, Parameter]], list[Parameter], list[Parameter]]:
    """Pairs that stand at the same place between equal ones, and all that is not equal."""
    matcher = SequenceMatcher(None, [one.kind for one in old], [one.kind for one in new], False)
    pairs, before, after = [], [], []
    for what, a, b, c, d in matcher.get_opcodes():
        if what == "equal":
            continue
        before += old[a:b]
        after += new[c:d]
        if b - a == d - c:
            pairs += list(zip(old[a:b], new[c:d], strict=True))
    return pairs, before, after


def _paired(
    old: list[Parameter], new: list[Parameter], pairs: list[tuple[Parameter, Parameter]],
    together: Callable[[Any, Any], bool],
) -> InputChanges:  # fmt: skip
    """Tell inputs that changed from those that came, went, or only moved."""
    gone = Counter(one.kind for one in old)
    gone.subtract(one.kind for one in new)
    removed = _excess(old, gone)
    added = _excess(new, Counter({kind: -count for kind, count in gone.items()}))
    changes = InputChanges()
    partner = {id(b): a for a, b in pairs}
    for one in added:
        match = partner.get(id(one))
        if match is None or not any(match is other for other in removed):
            match = next((other for other in removed if _same_line(other, one)), None)
        if match is None or not _may_be_the_same(match, one) or (
            not one.sent and together(match.kind, one.kind)
        ):  # fmt: skip
            changes.added.append(one)
            continue
        changes.changed.append((match, one))
        removed = [other for other in removed if other is not match]
    if len(removed) == len(changes.added) == 1 and not together(
        removed[0].kind, changes.added[0].kind
    ):  # fmt: skip
        changes.changed.append((removed.pop(), changes.added.pop()))
    changes.removed = removed
    return changes


def _excess(parameters: Iterable[Parameter], counts: Counter[Any]) -> list[Parameter]:
    left, found = Counter(counts), []
    for one in parameters:
        if left[one.kind] > 0:
            left[one.kind] -= 1
            found.append(one)
    return found


def _same_line(a: Parameter, b: Parameter) -> bool:
    return a.place.file is not None and a.place[:2] == b.place[:2]


def _may_be_the_same(a: Parameter, b: Parameter) -> bool:
    """An input keeps its line; where it has none, its number of dimensions and its type."""
    if a.place.file is not None and b.place.file is not None:
        return a.place[:2] == b.place[:2]
    return len(a.shape) == len(b.shape) or a.shape == b.shape


def layouts(old: Graph, new: Graph) -> tuple[Parameter, Parameter] | None:
    """The first input whose layout alone changed."""
    if len(old.parameters) != len(new.parameters):
        return None
    return next(
        ((a, b) for a, b in zip(old.parameters, new.parameters, strict=True)
         if a.kind == b.kind and None not in (a.layout, b.layout) and a.layout != b.layout),
        None,
    )  # fmt: skip


class Differing(NamedTuple):
    """Tokens whose counts differ, in the order of lowering."""

    keys: Numbers
    was: Numbers
    now: Numbers
    order: Numbers


def differing(old: Counted, new: Counted) -> Differing:
    """The tokens of which two graphs have different numbers; at most 600."""
    keys = np.union1d(old.keys, new.keys)
    was, first = _spread(old, keys)
    now, second = _spread(new, keys)
    chosen = np.flatnonzero(was != now)
    order = np.minimum(first[chosen], second[chosen])
    ranked = np.argsort(order, kind="stable")[:_MOST_TOKENS]
    chosen = chosen[ranked]
    return Differing(keys[chosen], was[chosen], now[chosen], order[ranked])


def _spread(counted: Counted, keys: Numbers) -> tuple[Numbers, Numbers]:
    counts = np.zeros(len(keys), np.int64)
    order = np.full(len(keys), np.iinfo(np.int32).max, np.int64)
    at = np.searchsorted(keys, counted.keys)
    counts[at] = counted.counts
    order[at] = counted.order
    return counts, order


def operations(
    old: Graph, new: Graph, tokens: Differing, described: dict[int, Token]
) -> list[Change]:
    """The operations that differ, those lowered first at the front."""
    groups: dict[int, list[tuple[Token, int, int, int]]] = {}
    columns = (column.tolist() for column in tokens)
    for key, was, now, order in zip(*columns, strict=True):
        token = described.get(key)
        if token is not None and token.op:
            groups.setdefault(token.spot, []).append((token, was, now, order))
    changes = [
        _change(group, _count(old.spots, spot), _count(new.spots, spot))
        for spot, group in groups.items()
    ]
    return sorted(changes, key=lambda change: change.order)


def with_origins(
    changes: list[Change], made_of: Callable[[list[int]], dict[int, tuple[Any, Any]]]
) -> list[Change]:
    """Tell those that part the graphs from those that follow, where there are several to choose.

    Args:
        changes: as :func:`operations` returns them.
        made_of: gives for spots the types and shapes that they are made of in either graph.
    """
    candidates = [change for change in changes
                  if change.place.file and change.nature in ("value", "shape")]  # fmt: skip
    if not any(change.nature == "shape" for change in candidates):
        return changes
    operands = made_of([change.spot for change in candidates])
    return [_with_origin(change, operands.get(change.spot)) for change in changes]


def _with_origin(change: Change, operands: tuple[Any, Any] | None) -> Change:
    """By the largest operand: small ones can be made on the way, as the sum in a softmax."""
    if operands is None:
        return change
    old, new = (max(side, key=_elements, default=None) for side in operands)
    makes = new is None or _elements(new) == 1
    return change._replace(origin=old is not None and old == new, makes=makes)


def _elements(text: str) -> int:
    sizes = text[text.index("[") + 1 : -1]
    return prod(int(size) for size in sizes.split(",")) if sizes else 1


def moved(tokens: Differing, described: dict[int, Token]) -> bool:
    """Whether only Python lines differ, those of the same instructions: a graph has no lines."""
    balance: Counter[Any] = Counter()
    for key, was, now in zip(*(column.tolist() for column in tokens[:3]), strict=True):
        token = described.get(key)
        if token is None:
            return False
        balance[token[2:]] += now - was
    return not any(balance.values())


def _count(counted: Counted, key: int) -> int:
    wanted = np.uint64(key)
    at = int(np.searchsorted(counted.keys, wanted))
    known = at < len(counted.keys) and counted.keys[at] == wanted
    return int(counted.counts[at]) if known else 0


def _change(group: list[tuple[Token, int, int, int]], before: int, after: int) -> Change:
    token = group[0][0]
    group.sort(key=lambda row: row[0].opcode in DULL)
    was = [one for one, old, new, _ in group if old > new]
    now = [one for one, old, new, _ in group if new > old]
    return Change(
        _nature(was, now, before > 0, after > 0), token.place,
        token.op.replace("__", "::", 1) if token.op else "",
        [one.text for one in was], [one.text for one in now], before, after,
        min(order for *_, order in group), token.spot,
    )  # fmt: skip


def _nature(was: list[Token], now: list[Token], in_old: bool, in_new: bool) -> Nature:
    if not in_old:
        return "added"
    if not in_new:
        return "removed"
    if not was or not now:
        return "count"
    values = [{(one.opcode, one.value) for one in side if one.value} for side in (was, now)]
    shapes = [{(one.opcode, one.shape, one.type) for one in side} for side in (was, now)]
    opcodes = [{one.opcode for one in side} for side in (was, now)]
    if values[0] != values[1] and (_sliced(was, now) or shapes[0] == shapes[1]):
        return "value"
    if opcodes[0] != opcodes[1] and {one.shape for one in was} == {one.shape for one in now}:
        return "value"  # the same operation, simplified for one number but not for another
    sizes = [{(one.opcode, prod(one.shape), one.type) for one in side} for side in (was, now)]
    scalars = [all(not one.shape for one in side) for side in (was, now)]
    return "count" if sizes[0] == sizes[1] or scalars[0] != scalars[1] else "shape"


def _sliced(was: list[Token], now: list[Token]) -> bool:
    """Whether it is the operation itself that cuts or pads, so that its number makes the shape."""
    return any(one.opcode in ("slice", "pad") for one in (*was, *now))


def significant(change: Change) -> bool:
    """Whether an operation is more than a consequence of how the graph was optimized."""
    return change.op.replace("::", "__", 1) not in _INSIGNIFICANT
