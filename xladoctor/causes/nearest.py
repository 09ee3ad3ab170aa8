"""Finds the earlier graph of a call site that is most similar to a graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from xladoctor.causes.graphs import Graphs
from xladoctor.causes.interface import Compilation, Counts, Graph, InputKind

#: Weights: an operation that only one graph has counts more than an input that differs, and that
#: more than the number of an operation's instructions.
_SPOT, _INPUT = 8, 4


class _Vector(NamedTuple):
    """A sparse vector: columns in ascending order, and their values; inputs are weighted."""

    columns: Counts
    values: Counts


class Nearest:
    """Compares graphs by vectors: operations by line, inputs by type and shape.

    Of equally similar graphs the latest is taken. Vectors are made once for each graph.
    """

    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs
        self._columns: dict[tuple[str, int | InputKind], int] = defaultdict(
            lambda: len(self._columns)
        )
        self._vectors: dict[int, _Vector] = {}

    def of(self, compilation: Compilation, earlier: Iterable[Compilation]) -> Compilation | None:
        """The earlier compilation with the most similar module, if any module is known."""
        graph = self._graphs.of(compilation)
        if graph is None:
            return None
        known = [(old, self._vector(module)) for old in earlier if (module := self._graphs.of(old))]
        if not known:
            return None
        wanted = self._vector(graph)
        distances = [_distance(wanted, vector) for _, vector in known]
        best = len(known) - 1 - int(np.argmin(distances[::-1]))
        return known[best][0]

    def _vector(self, graph: Graph) -> _Vector:
        vector = self._vectors.get(id(graph))
        if vector is None:
            vector = self._vectors[id(graph)] = self._made(graph)
        return vector

    def _made(self, graph: Graph) -> _Vector:
        counts: dict[int, int] = defaultdict(int)
        for key, count in zip(graph.spots.keys.tolist(), graph.spots.counts.tolist(), strict=True):
            counts[self._columns["spot", key]] = _SPOT
            counts[self._columns["count", key]] = count
        for parameter in graph.parameters:
            counts[self._columns["input", parameter.kind]] += _INPUT
        columns = np.fromiter(counts, np.int64, len(counts))
        order = np.argsort(columns)
        values = np.fromiter(counts.values(), np.int64, len(counts))
        return _Vector(columns[order], values[order])


def _distance(a: _Vector, b: _Vector) -> int:
    size = 1 + max(int(columns[-1]) if len(columns) else 0 for columns in (a.columns, b.columns))
    difference = np.zeros(size, np.int64)
    difference[a.columns] = a.values
    difference[b.columns] -= b.values
    return int(np.abs(difference).sum())
