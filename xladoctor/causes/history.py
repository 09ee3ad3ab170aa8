"""Causes that show without graphs: the same hash again, and counts in the analysis log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from xladoctor.causes.interface import Cause, Compilation

_ALONGSIDE_NS = 1_000_000_000  # two threads that meet a graph this close together compile it each


def repeated(compilations: Iterable[Compilation]) -> Iterator[tuple[Compilation, Compilation]]:
    """Compilations of a graph that the process compiled before, each with the previous one."""
    last: dict[tuple[int, str], Compilation] = {}
    for compilation in compilations:
        if compilation.graph_hash:
            graph = compilation.process, compilation.graph_hash
            if graph in last:
                yield compilation, last[graph]
            last[graph] = compilation


def by_hash(compilation: Compilation, old: Compilation) -> Cause:
    """The same graph was compiled before: it was evicted since, or two threads compiled it."""
    if (
        compilation.step is not None
        and compilation.step == old.step
        and _alongside(compilation, old)
    ):
        return Cause("placement", "hash", old.index, op="thread")
    return Cause("evicted", "hash", old.index)


def _alongside(compilation: Compilation, old: Compilation) -> bool:
    """Whether two threads compiled a graph at about the same time."""
    if None not in (compilation.thread, old.thread) and compilation.thread != old.thread:
        return True
    if compilation.end_ns is None or old.end_ns is None:
        return False
    return compilation.end_ns - old.end_ns <= (compilation.duration_ns or 0) + _ALONGSIDE_NS


def by_log(site: Sequence[Compilation]) -> Iterator[tuple[Compilation, Cause]]:
    """A site's compilations whose numbers of inputs and outputs no earlier graph had."""
    seen: set[str | None] = set()
    for old, compilation in pairwise(site):
        seen.add(old.numbers)
        numbers = compilation.numbers
        if numbers is not None and None not in seen and numbers not in seen:
            yield compilation, Cause("input_count", "log", old.index, was=old.numbers, now=numbers)
