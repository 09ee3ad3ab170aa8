"""How a size changes over the compilations of a call site, and what that lets one expect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import gcd
from typing import Any, Literal

from xladoctor.causes.cause import numbers

Row = dict[str, Any]
#: grows: by the same amount in launches that follow each other. last_batch: a first dimension with
#: one other, smaller size. varies: any other.
Pattern = Literal["grows", "last_batch", "varies"]
_ENOUGH = 3  # values, or steps upwards, from which a pattern is said
_LARGE = 8  # instructions: an operation of a step and what its gradient comes to


def add_patterns(
    rows: list[Row], sites: list[list[Row]], size: Callable[[Row], int | None],
    periods: dict[Any, int],
) -> None:  # fmt: skip
    """Give the rows of ``recompilation`` their ``pattern``, ``seen`` and ``possible``.

    What grows by the same number of instructions each time becomes of the kind ``growing``.

    Args:
        rows: a dictionary each.
        sites: the compilations of each call site, in order.
        size: the number of instructions that a compilation's graph was lowered to, where known.
        periods: by process and thread, how many launches make a turn of the loop, if not one.
    """
    by_index = {(row["process"], row["index"]): row for row in rows}
    for site in sites:
        keys = ((one["process"], one["index"]) for one in site)
        explained = [(one, by_index.get(key)) for one, key in zip(site, keys, strict=True)]
        groups: dict[Any, list[tuple[Row, Row]]] = defaultdict(list)
        for one, row in explained:
            if row and row.get("dimension") is not None:
                key = row["kind"], row.get("file"), row.get("line"), row["dimension"]
                groups[key].append((one, row))
        period = max((periods.get((one["process"], one["thread"]), 1) for one in site), default=1)
        for group in groups.values():
            _sizes([row for _, row in group], _in_turn([one for one, _ in group], period))
        _growing(explained, size, period)


def _in_turn(compiled: list[Row], period: int) -> bool:
    """Whether each of these launches came right after the one before, with none between."""
    return all(b["ordinal"] - a["ordinal"] <= period for a, b in pairwise(compiled)
               if None not in (a["ordinal"], b["ordinal"]))  # fmt: skip


def _sizes(rows: list[Row], in_turn: bool) -> None:
    first = size_in(rows[0]["was"], rows[0]["dimension"])
    values = [row["value"] for row in rows]
    if first is not None:
        values.insert(0, first)
    pattern, distinct = _pattern(values, rows[0]["dimension"], in_turn), sorted(set(values))
    steps = [b - a for a, b in pairwise(distinct)]
    possible = (distinct[-1] - distinct[0]) // gcd(*steps) + 1 if steps else 1
    for row in rows:
        row["pattern"], row["seen"] = pattern, len(distinct)
        row["possible"] = None if pattern == "grows" else possible


def _pattern(values: list[int], dimension: int, in_turn: bool) -> Pattern | None:
    steps = {b - a for a, b in pairwise(values)}
    if in_turn and len(values) >= _ENOUGH and len(steps) == 1 and min(steps) > 0:
        return "grows"
    if dimension == 0 and len(values) == 2 and values[1] < values[0]:
        return "last_batch"
    return "varies" if len(set(values)) >= _ENOUGH else None


def size_in(shape: str | None, dimension: int) -> int | None:
    """The size of a dimension in a shape as HLO text writes it."""
    if not shape or "[" not in shape:
        return None
    sizes = shape[shape.index("[") + 1 : shape.index("]")].split(",")
    return int(sizes[dimension]) if dimension < len(sizes) and sizes[dimension].isdigit() else None


def _growing(
    explained: list[tuple[Row, Row | None]], size: Callable[[Row], int | None], period: int
) -> None:
    """Mark what rises by the same amount, or nearly so, in three launches in turn."""
    site = [compiled for compiled, _ in explained]

    def in_turn(rising: range) -> bool:
        return _in_turn(site[rising.start - 1 : rising.stop], period)

    for rising in filter(in_turn, _rising([size(compiled) for compiled in site], _LARGE)):
        for at in rising:
            row = explained[at][1]
            if row and row["kind"] in ("operations", "input_count", "unknown"):
                row["kind"], row["pattern"] = "growing", "grows"
    for name in ("inputs", "outputs"):
        for rising in filter(in_turn, _rising([compiled[name] for compiled in site], 1)):
            for at in rising:
                row = explained[at][1]
                if row and row["kind"] in ("input_count", "operations", "constant"):
                    row["kind"], row["pattern"] = "input_count", "grows"
                    row |= numbers(explained[at - 1][0], explained[at][0])


def _rising(values: list[int | None], least: int) -> Iterator[range]:
    """Positions of values that end three equal steps upwards of at least ``least``."""
    for end in range(_ENOUGH, len(values)):
        last = values[end - _ENOUGH : end + 1]
        known = [value for value in last if value is not None]
        steps = [b - a for a, b in pairwise(known)]
        if len(steps) == _ENOUGH and min(steps) >= least and max(steps) <= 1.1 * min(steps):
            yield range(end - _ENOUGH + 1, end + 1)
