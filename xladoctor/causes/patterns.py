"""Finds how a size changes over the compilations of a call site, and what to expect from that."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import gcd

from xladoctor.causes.interface import Cause, Causes, Compilation, Loaders, Pattern, Periods
from xladoctor.quantities import whole_number

Size = Callable[[Compilation], int | None]
SIZE_OF = re.compile(r"size (\d{1,18}) of dimension (\d{1,3})")  # a shape of which no more is known
_ENOUGH = 3  # values, or increases, that are enough for a pattern
_NUMBERS: tuple[Size, ...] = (lambda c: c.inputs, lambda c: c.outputs)
_LARGE = 8  # instructions: an operation of a step and its gradient


def add_patterns(
    causes: Causes,
    sites: Iterable[Sequence[Compilation]],
    size: Size,
    periods: Periods,
    loaders: Loaders,
) -> Causes:
    """The causes with their ``pattern``, ``seen`` and ``possible``.

    What grows by the same number of instructions each time becomes of the kind ``growing``.

    Args:
        sites: the compilations of each call site, in order.
        size: returns the number of instructions of a compilation's graph, if known.
        periods: by thread, the launches per iteration, if several.
        loaders: the last, smaller batches of loaders.
    """
    patterned = dict(causes)
    for site in sites:
        period = max((periods.get((c.process, c.thread), 1) for c in site), default=1)
        for group in _alike(site, causes):
            patterned |= _with_sizes(group, period, loaders)
        patterned |= _growing(site, patterned, size, period)
        for number in _NUMBERS:
            patterned |= _counting(site, patterned, number, period)
    return patterned


def _alike(site: Sequence[Compilation], causes: Causes) -> Iterable[dict[Compilation, Cause]]:
    """Changes of the same dimension at the same line."""
    groups: dict[tuple[object, ...], dict[Compilation, Cause]] = defaultdict(dict)
    for compilation in site:
        cause = causes.get(compilation)
        if cause and cause.dimension is not None:
            groups[cause.kind, cause.place.spot, cause.dimension][compilation] = cause
    return groups.values()


def _in_turn(compiled: Sequence[Compilation], period: int) -> bool:
    """Whether each of these launches came right after the previous one."""
    return all(
        b.ordinal - a.ordinal <= period
        for a, b in pairwise(compiled)
        if a.ordinal is not None and b.ordinal is not None
    )


def _with_sizes(group: Causes, period: int, loaders: Loaders) -> dict[Compilation, Cause]:
    (compilation, first), *_ = group.items()
    dimension = first.dimension or 0
    sizes = size_in(first.was, dimension), *(cause.value for cause in group.values())
    values = [size for size in sizes if size is not None]
    pattern, distinct = _pattern(values, dimension, _in_turn([*group], period)), sorted({*values})
    last = loaders.get((compilation.process, distinct[-1])) if dimension == 0 and distinct else None
    if last is not None and len(distinct) > 1:
        ends = _are_last(distinct[:-1], last)
        pattern = "last_batch" if ends else None if pattern == "last_batch" else pattern
    steps = [b - a for a, b in pairwise(distinct)]
    possible = (distinct[-1] - distinct[0]) // gcd(*steps) + 1 if steps else 1
    if pattern == "last_batch":
        possible = len(distinct)
    return {
        compilation: replace(
            cause,
            pattern=pattern,
            seen=len(distinct),
            possible=None if pattern == "grows" else possible,
        )
        for compilation, cause in group.items()
    }


def _are_last(sizes: Sequence[int], last: Sequence[int | None]) -> bool:
    """Whether sizes can be those of the loaders' last batches."""
    return len(set(sizes).difference(last)) <= last.count(None)


def _pattern(values: list[int], dimension: int, in_turn: bool) -> Pattern | None:
    steps = {b - a for a, b in pairwise(values)}
    if in_turn and len(values) >= _ENOUGH and len(steps) == 1 and min(steps) > 0:
        return "grows"
    if dimension == 0 and len(values) == 2 and values[1] < values[0]:
        return "last_batch"
    return "varies" if len(set(values)) >= _ENOUGH else None


def size_in(shape: str | None, dimension: int) -> int | None:
    """The size of a dimension in a shape, given as HLO text, as Python's, or by itself."""
    if alone := SIZE_OF.fullmatch(shape or ""):
        return whole_number(alone[1]) if int(alone[2]) == dimension else None
    sizes = sizes_of(shape or "")
    return whole_number(sizes[dimension]) if dimension < len(sizes) else None


def sizes_of(shape: str) -> list[str]:
    """The sizes in ``f32[8,64]`` or ``(8, 64)``; none in any other text."""
    listed = re.search(r"\[([^\[\]]*)\]|^\(([^()]*)\)$", shape)
    return re.findall(r"[^\s,]+", listed[1] or listed[2] or "") if listed else []


def _growing(
    site: Sequence[Compilation], causes: Causes, size: Size, period: int
) -> Iterator[tuple[Compilation, Cause]]:
    """Graphs that grow by (nearly) the same amount in three consecutive launches."""
    for _, compilation in _rising(site, size, _LARGE, period):
        cause = causes.get(compilation)
        if cause and cause.kind in ("operations", "input_count", "unknown"):
            yield compilation, replace(cause, kind="growing", pattern="grows")


def _counting(
    site: Sequence[Compilation], causes: Causes, number: Size, period: int
) -> Iterator[tuple[Compilation, Cause]]:
    """The same for numbers of inputs or outputs."""
    for before, compilation in _rising(site, number, 1, period):
        cause = causes.get(compilation)
        if cause and cause.kind in ("input_count", "operations", "constant"):
            yield (
                compilation,
                replace(
                    cause,
                    kind="input_count",
                    pattern="grows",
                    was=before.numbers,
                    now=compilation.numbers,
                ),
            )


def _rising(
    site: Sequence[Compilation], size: Size, least: int, period: int
) -> Iterator[tuple[Compilation, Compilation]]:
    """Compilations in three equal increases of at least ``least``, each with the previous one."""
    values = [size(compilation) for compilation in site]
    for end in range(_ENOUGH, len(values)):
        begin = end - _ENOUGH
        known = [value for value in values[begin : end + 1] if value is not None]
        steps = [b - a for a, b in pairwise(known)]
        equal = len(steps) == _ENOUGH and max(steps) <= 1.1 * min(steps)
        if equal and min(steps) >= least and _in_turn(site[begin : end + 1], period):
            yield from pairwise(site[begin : end + 1])
