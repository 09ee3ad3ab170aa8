"""The diagnosis of graphs that were compiled for TPUs, apart from what the program did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xladoctor.diagnosis.interface import Diagnosis, TimeSpent, Verdict
from xladoctor.diagnosis.tpu_counts import tpu_counts
from xladoctor.diagnosis.tpu_graph import TpuGraph


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
    refused = names["refused"]
    if large := names["does_not_fit"]:
        also = f" ({len(refused)} could not be compiled)" if refused else ""
        return f"{_part(large, graphs)}{also} {'does' if len(large) == 1 else 'do'} not fit"
    if refused:
        return f"{_part(refused, graphs)} cannot be compiled for"
    return f"{_part(names['fits'], graphs)} fit{'s' * (len(graphs) == 1)}"


def _part(names: Sequence[str], graphs: Sequence[TpuGraph]) -> str:
    """``step``, ``step (1 of 3 graphs)``, ``2 of 3 graphs`` or ``3 graphs``."""
    if len(names) == 1:
        return names[0] + (f" (1 of {len(graphs)} graphs)" if len(graphs) > 1 else "")
    of = "" if len(names) == len(graphs) else f" of {len(graphs)}"
    return f"{len(names)}{of} graphs"
