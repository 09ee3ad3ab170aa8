"""The diagnosis of graphs that were compiled for TPUs, apart from what the program did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xladoctor.diagnosis.interface import Diagnosis, TimeSpent, Verdict
from xladoctor.diagnosis.tpu_counts import tpu_counts
from xladoctor.diagnosis.tpu_graphs import TpuGraph


def about_tpus(diagnosis: Diagnosis) -> Diagnosis:
    """The diagnosis without times, steps and counts, which a compiler does not know."""
    return replace(
        diagnosis,
        verdict=Verdict("unknown", _text(diagnosis), None, "none", None),
        time=TimeSpent(None, None, None, None),
        steps=None,
        devices=[],
        counts=[*tpu_counts(diagnosis.tpu_graphs)],
        labels=[],
        step_groups=[],
    )


def _text(diagnosis: Diagnosis) -> str:
    graphs, findings = diagnosis.tpu_graphs, len(diagnosis.findings)
    said: dict[str, list[str]] = {}
    for topology in dict.fromkeys(graph.topology for graph in graphs):
        mine = [graph for graph in graphs if graph.topology == topology]
        said.setdefault(_fitting(mine), []).append(topology)
    parts = [f"{text} {' and '.join(topologies)}" for text, topologies in said.items()]
    if findings:
        parts.append(f"{findings} finding{'s' * (findings != 1)}")
    return "; ".join(parts) + "."


def _fitting(graphs: Sequence[TpuGraph]) -> str:
    """Whether the graphs fit one topology, as the beginning of a sentence."""
    names = {
        verdict: [graph.name for graph in graphs if graph.verdict == verdict]
        for verdict in ("does_not_fit", "refused", "fits")
    }
    if large := names["does_not_fit"]:
        others = f", of {len(graphs)} graphs," if len(graphs) > 1 else ""
        return f"{_named(large)}{others} {'does' if len(large) == 1 else 'do'} not fit"
    if refused := names["refused"]:
        others = f", of {len(graphs)} graphs," if len(graphs) > 1 else ""
        return f"{_named(refused)}{others} cannot be compiled for"
    return f"{_named(names['fits'])} fit{'s' * (len(graphs) == 1)}"


def _named(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} graphs"
