"""Reads from the evidence what a TPU's compiler decided about graphs."""

from __future__ import annotations

from typing import Any

from xladoctor.diagnosis.finding import Location
from xladoctor.diagnosis.tpu_graph import TpuCollective, TpuGraph, TpuLine
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.source import source_line

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
_MOVED = """
    SELECT coalesce(sum(coalesce(padded_bytes, bytes) * times), 0)::BIGINT FROM tpu_operation
    WHERE graph = $graph AND topology = $topology AND does = 'moves'
"""
_COLLECTIVES = """
    SELECT opcode, axes, max("group") AS devices, sum(operations)::BIGINT AS count,
           sum(coalesce(padded_bytes, bytes) * times)::BIGINT AS bytes,
           sum(if(asynchronous, operations, 0))::BIGINT AS asynchronous
    FROM tpu_operation WHERE graph = $graph AND topology = $topology AND does = 'communicates'
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
    if row["written_bytes"] is None:
        return TpuGraph(**row)
    rows = evidence.database.rows
    padded = rows(_LINES.format(bytes=_PADDING, where="TRUE"), which)
    moved = rows(_LINES.format(bytes=_TAKEN, where="does = 'moves'"), which)
    return TpuGraph(
        **row,
        moved_bytes=evidence.database.scalar(_MOVED, which),
        padded=[_line(each, evidence) for each in padded],
        moved=[_line(each, evidence) for each in moved],
        collectives=[TpuCollective(**each) for each in rows(_COLLECTIVES, which)],
    )


def _line(row: dict[str, Any], evidence: Evidence) -> TpuLine:
    file, line = row["file"], row["line"]
    largest = f"{row['opcode']} {row['largest']}"
    if line is not None:
        text = source_line(evidence, file, line)
        place = Location(evidence.shown(file) or file, line, row["function"], "guilty", text)
        return TpuLine(place, "", row["bytes"], row["arrays"], largest)
    what = row["op_name"] or row["operation"]
    return TpuLine(None, what, row["bytes"], row["arrays"], largest)
