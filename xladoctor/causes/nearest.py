"""Which earlier graph of a call site a graph is most like."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from xladoctor.causes.graphs import Graph, Graphs, Numbers

Row = dict[str, Any]

#: An operation of a line that only one graph has weighs more than an input that differs, and that
#: more than how many instructions an operation came to.
_SPOT, _INPUT = 8, 4


class Nearest:
    """Compares graphs by vectors: operations by line, inputs by type and shape.

    Of equally near graphs the latest is taken. Vectors are made once for each graph.
    """

    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs
        self._columns: dict[Any, int] = defaultdict(lambda: len(self._columns))
        self._vectors: dict[int, tuple[Numbers, Numbers]] = {}

    def of(self, row: Row, earlier: list[Row]) -> Row | None:
        """The earlier compilation with the most similar module, if any module is known."""
        graph = self._graph(row)
        if graph is None:
            return None
        known = [(old, found) for old in earlier if (found := self._graph(old))]
        if not known:
            return None
        wanted = self._vector(graph)
        distances = [self._distance(wanted, self._vector(found)) for _, found in known]
        best = len(known) - 1 - int(np.argmin(distances[::-1]))
        return known[best][0]

    def _graph(self, row: Row) -> Graph | None:
        return self._graphs.get(row["process"], row["graph_hash"])

    def _vector(self, graph: Graph) -> tuple[Numbers, Numbers]:
        """(columns, counts), columns in ascending order; inputs are counted by weight."""
        found = self._vectors.get(id(graph))
        if found is None:
            counts: dict[int, int] = defaultdict(int)
            for key, count in zip(
                graph.spots.keys.tolist(), graph.spots.counts.tolist(), strict=True
            ):
                counts[self._columns["spot", key]] = _SPOT
                counts[self._columns["count", key]] = count
            for parameter in graph.parameters:
                counts[self._columns["input", parameter.kind]] += _INPUT
            columns = np.fromiter(counts, np.int64, len(counts))
            order = np.argsort(columns)
            values = np.fromiter(counts.values(), np.int64, len(counts))
            found = self._vectors[id(graph)] = columns[order], values[order]
        return found

    def _distance(self, a: tuple[Numbers, Numbers], b: tuple[Numbers, Numbers]) -> int:
        size = 1 + int(max(a[0][-1] if len(a[0]) else 0, b[0][-1] if len(b[0]) else 0))
        difference = np.zeros(size, np.int64)
        difference[a[0]] = a[1]
        difference[b[0]] -= b[1]
        return int(np.abs(difference).sum())
