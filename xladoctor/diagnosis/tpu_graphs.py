"""What a TPU's compiler decided about graphs: as reports show it, as counts that budgets can limit,
and as a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from xladoctor.diagnosis.findings import location
from xladoctor.diagnosis.interface import Consumer, Count, CountName, Diagnosis, TimeSpent, Verdict
from xladoctor.diagnosis.tpu_graph import TpuCollective, TpuGraph, TpuLine
from xladoctor.evidence.interface import Evidence

#: Lines by a sum of bytes, the most first.
_LINES = """
    SELECT file, line, any_value(function) AS function, op_name, sum({bytes})::BIGINT AS bytes,
           sum(times)::BIGINT AS arrays,
           arg_max(type || '[' || array_to_string(shape, ',') || ']' || layout, {bytes}) AS largest,
           arg_max(opcode, {bytes}) AS opcode, arg_max(operation, {bytes}) AS operation
    FROM (
        SELECT * REPLACE (coalesce(user_file, file) AS file, coalesce(user_line, line) AS line,
                          coalesce(user_function, function) AS function,
                          if(line IS NULL, op_name, '') AS op_name)
        FROM tpu_operation
        WHERE graph = $graph AND topology = $topology AND does <> 'transfers' AND {where}
    )
    GROUP BY file, line, op_name HAVING sum({bytes}) > 0
    ORDER BY bytes DESC, file, line, op_name LIMIT 5
"""
_PADDING = "(coalesce(padded_bytes, bytes) - bytes) * times"
_TAKEN = "coalesce(padded_bytes, bytes) * times"
#: Bytes of copies, and of copies of arguments that results could overwrite: the caller keeps those.
_MOVED = """
    SELECT coalesce(sum(taken), 0)::BIGINT AS moved_bytes,
           coalesce(sum(taken) FILTER (opcode = 'copy' AND NOT in_loop AND twice), 0)::BIGINT
           AS twice_bytes
    FROM (
        SELECT *, coalesce(padded_bytes, bytes) * times AS taken, (type, shape) IN (
            SELECT (type, shape) FROM tpu_twice
            WHERE graph = $graph AND topology = $topology AND count > 0
        ) AS twice
        FROM tpu_operation WHERE graph = $graph AND topology = $topology AND does = 'moves'
    )
"""
_COLLECTIVES = """
    SELECT opcode, axes, max(devices) AS devices, sum(count)::BIGINT AS count,
           sum(bytes)::BIGINT AS bytes, sum(asynchronous)::BIGINT AS asynchronous,
           list(reason ORDER BY bytes DESC, reason) FILTER (reason <> '') AS reasons
    FROM (
        SELECT opcode, axes, reason, max("group") AS devices, sum(operations) AS count,
               sum(coalesce(padded_bytes, bytes) * times) AS bytes,
               sum(if(asynchronous, operations, 0)) AS asynchronous
        FROM tpu_operation WHERE graph = $graph AND topology = $topology AND does = 'communicates'
        GROUP BY opcode, axes, reason
    )
    GROUP BY opcode, axes ORDER BY bytes DESC, opcode, axes
"""


def tpu_graphs(evidence: Evidence) -> list[TpuGraph]:
    """The graphs that were compiled for TPUs, in order; none if none were."""
    if "tpu_graph" not in evidence.available:
        return []
    rows = evidence.database.rows("SELECT * EXCLUDE (position) FROM tpu_graph ORDER BY position")
    return [_graph(row, evidence) for row in rows]


def _graph(row: dict[str, Any], evidence: Evidence) -> TpuGraph:
    which = {"graph": row["graph"], "topology": row["topology"]}
    row["source"] = evidence.shown(row["source"])
    row["seconds"] = row.pop("compile_ns") / 1e9
    row["processor_seconds"] = row.pop("processor_ns") / 1e9
    if row["written_bytes"] is None:
        return TpuGraph(**row)
    rows = evidence.database.rows
    padded = rows(_LINES.format(bytes=_PADDING, where="TRUE"), which)
    moved = rows(_LINES.format(bytes=_TAKEN, where="does = 'moves'"), which)
    resharded = rows(_LINES.format(bytes=_TAKEN, where="reason IN ('reshard', 'asked')"), which)
    return TpuGraph(
        **row,
        **rows(_MOVED, which)[0],
        padded=[_line(each, evidence) for each in padded],
        moved=[_line(each, evidence) for each in moved],
        resharded=[_line(each, evidence) for each in resharded],
        collectives=[
            TpuCollective(**{**each, "reasons": each["reasons"] or []})
            for each in rows(_COLLECTIVES, which)
        ],
    )


def _line(row: dict[str, Any], evidence: Evidence) -> TpuLine:
    file, line = row["file"], row["line"]
    largest = f"{row['opcode']} {row['largest']}"
    if line is not None:
        place = location(evidence, file, line, row["function"])
        return TpuLine(place, "", row["bytes"], row["arrays"], largest)
    what = row["op_name"] or row["operation"]
    return TpuLine(None, what, row["bytes"], row["arrays"], largest)


_SHARES: dict[CountName, Callable[[TpuGraph], float | None]] = {
    "hbm_share": lambda graph: graph.hbm_share,
    "padding_share": lambda graph: graph.padding_share,
}


#: Of one graph, before the name of a TPU.
_SAID = {
    "does_not_fit": "does not fit",
    "unknown": "is near the limit of",
    "refused": "cannot be compiled for",
}


def tpu_counts(graphs: Sequence[TpuGraph]) -> Iterator[Count]:
    """The counts: for the graph and the TPU with the highest; none if nothing was compiled."""
    if not graphs:
        return
    for name, share_of in _SHARES.items():
        known = [(share, graph) for graph in graphs if (share := share_of(graph)) is not None]
        reason = _unknown([graph for graph in graphs if share_of(graph) is None])
        if not known:
            yield Count(name, None, reason or "the compiler does not say")
            continue
        most, graph = max(known, key=lambda each: each[0])
        consumers = _padded(graph) if name == "padding_share" else []
        yield Count(name, round(most, 4), reason, consumers)
    too_large = sum(graph.verdict == "does_not_fit" for graph in graphs)
    undecided = [graph for graph in graphs if graph.verdict in ("refused", "unknown")]
    yield Count("graphs_too_large", float(too_large), _unknown(undecided))


def _padded(graph: TpuGraph) -> list[Consumer]:
    whole = (graph.written_bytes or 0) + (graph.padding_bytes or 0)
    return [
        Consumer(line.location, round(line.bytes / whole, 4), line.arrays, line.largest)
        for line in graph.padded
        if line.location
    ]


def _unknown(graphs: Sequence[TpuGraph]) -> str | None:
    """Why something is not known of all graphs; None if it is, or if the compiler does not say."""
    without = next((graph for graph in graphs if graph.verdict != "fits"), None)
    return f"{without.name} {_SAID[without.verdict]} {without.topology}" if without else None


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
        for verdict in ("does_not_fit", "refused", "unknown", "fits")
    }
    refused = names["refused"]
    if large := names["does_not_fit"]:
        also = f" ({len(refused)} could not be compiled)" if refused else ""
        return f"{_part(large, graphs)}{also} {'does' if len(large) == 1 else 'do'} not fit"
    if refused:
        return f"{_part(refused, graphs)} {_SAID['refused']}"
    if near := names["unknown"]:
        said = _SAID["unknown"] if len(near) == 1 else "are near the limit of"
        return f"{_part(near, graphs)} {said}"
    return f"{_part(names['fits'], graphs)} fit{'s' * (len(graphs) == 1)}"


def _part(names: Sequence[str], graphs: Sequence[TpuGraph]) -> str:
    """``step``, ``step (1 of 3 graphs)``, ``2 of 3 graphs`` or ``3 graphs``."""
    if len(names) == 1:
        return names[0] + (f" (1 of {len(graphs)} graphs)" if len(graphs) > 1 else "")
    of = "" if len(names) == len(graphs) else f" of {len(graphs)}"
    return f"{len(names)}{of} graphs"
