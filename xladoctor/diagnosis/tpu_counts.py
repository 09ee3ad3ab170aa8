"""Counts of what a TPU's compiler decided, which budgets can limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xladoctor.diagnosis.interface import Consumer, Count, CountName
from xladoctor.diagnosis.tpu_graph import TpuGraph

_SHARES: dict[CountName, Callable[[TpuGraph], float | None]] = {
    "hbm_share": lambda graph: graph.hbm_share,
    "padding_share": lambda graph: graph.padding_share,
}


def tpu_counts(graphs: Sequence[TpuGraph]) -> Iterator[Count]:
    """The counts: for the graph and the TPU with the highest; none if nothing was compiled."""
    if not graphs:
        return
    reason = _unknown(graphs)
    for name, share_of in _SHARES.items():
        known = [(share, graph) for graph in graphs if (share := share_of(graph)) is not None]
        if not known:
            yield Count(name, None, reason or "the compiler does not say")
            continue
        most, graph = max(known, key=lambda each: each[0])
        consumers = _padded(graph) if name == "padding_share" else []
        yield Count(name, round(most, 4), reason, consumers)
    too_large = sum(graph.verdict == "does_not_fit" for graph in graphs)
    refused = [graph for graph in graphs if graph.verdict == "refused"]
    yield Count("graphs_too_large", float(too_large), _unknown(refused))


def _padded(graph: TpuGraph) -> list[Consumer]:
    whole = (graph.written_bytes or 0) + (graph.padding_bytes or 0)
    return [
        Consumer(line.location, round(line.bytes / whole, 4), line.arrays, line.largest)
        for line in graph.padded
        if line.location
    ]


def _unknown(graphs: Sequence[TpuGraph]) -> str | None:
    """Why not all graphs have an executable; None if they have."""
    without = [graph for graph in graphs if graph.verdict != "fits"]
    if not without:
        return None
    what = "does not fit" if without[0].verdict == "does_not_fit" else "cannot be compiled for"
    return f"{without[0].name} {what} {without[0].topology}"
