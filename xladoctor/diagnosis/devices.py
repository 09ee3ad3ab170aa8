"""Summarizes a timeline: how devices were used, how kernels of a GPU were launched (one by one, or
in CUDA graphs), and the time within the program's own labels.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, TypeVar

from xladoctor.diagnosis.device_use import (
    CudaGraphs,
    DeviceOp,
    DeviceScope,
    DeviceUse,
    Kernels,
    LabelTime,
)
from xladoctor.diagnosis.facts import without_steps
from xladoctor.evidence.interface import Evidence
from xladoctor.facts.parts import IDLE_FOR
from xladoctor.frontends.vocabulary import vocabulary

Use = TypeVar("Use", DeviceOp, DeviceScope)
_TOP = 5


def device_use(evidence: Evidence) -> list[DeviceUse]:
    """The use of each device in the timeline."""
    sums = ", ".join(f"coalesce(sum(u.idle_{reason}_ns), 0) AS {reason}" for reason in IDLE_FOR)
    rows = evidence.database.rows(f"""
        SELECT d.process, d.device, d.name, d.kind, d.peak_bytes, d.memory_bytes,
               count(*) AS steps, sum(u.busy_ns) AS busy, sum(u.busy_ns + u.idle_ns) AS total,
               bool_and(c.steady) AS warm, {sums}
        FROM device d JOIN device_step u USING (process, device)
        JOIN judged_step c ON c.process = u.process AND c.step = u.step
        GROUP BY ALL ORDER BY d.process, d.device
    """)  # noqa: S608  # column names of our own
    if not rows or without_steps(evidence):  # what recurs in compiling is no step
        rows = _whole(evidence)
    tops, scopes, kernels = _top(evidence), _scopes(evidence), kernels_of(rows, evidence)
    return [
        _use(row, evidence, tops[key], scopes[key], kernels.get(key))
        for row in rows
        if row["total"] and (key := (row["process"], row["device"]))
    ]


def _whole(evidence: Evidence) -> list[dict[str, Any]]:
    """The use of devices without steps: from a device's first operation to its last."""
    return evidence.database.rows("""
        SELECT process, device, name, kind, peak_bytes, memory_bytes, 0 AS steps, busy_ns AS busy,
               busy_ns + idle_ns AS total, FALSE AS warm
        FROM device ORDER BY process, device
    """)


def _use(
    row: dict[str, Any],
    evidence: Evidence,
    top: list[DeviceOp],
    scopes: list[DeviceScope],
    kernels: Kernels | None,
) -> DeviceUse:
    total = float(row["total"])
    idle = {reason: float(row.get(reason, 0)) / total for reason in IDLE_FOR}
    if not vocabulary(evidence.frontend).records_steps:  # then the framework's Python launches
        idle["dispatch"] += idle.pop("tracing")
    return DeviceUse(
        process=str(row["process"]),
        device=row["device"],
        name=row["name"],
        kind=row["kind"],
        steps=row["steps"],
        busy=float(row["busy"]) / total,
        idle={reason: share for reason, share in idle.items() if share > 0},
        top_ops=top,
        top_scopes=scopes,
        kernels=kernels,
        peak_bytes=row["peak_bytes"],
        memory_bytes=row["memory_bytes"],
    )


def _top(evidence: Evidence) -> dict[DeviceKey, list[DeviceOp]]:
    """The longest operations of each device."""
    rows = evidence.database.rows(
        "SELECT process, device, module, op, count, self_ns / 1e9 AS self_s, share, file, line,"
        " function FROM operation_time"
        " QUALIFY row_number() OVER (PARTITION BY process, device"
        " ORDER BY self_ns DESC, op, file, line) <= $top ORDER BY self_ns DESC, op, file, line",
        {"top": _TOP},
    )
    for row in rows:
        row["file"] = row["file"] and evidence.portable(row["file"])
    return _by_device(rows, DeviceOp)


def _scopes(evidence: Evidence) -> dict[DeviceKey, list[DeviceScope]]:
    rows = evidence.database.rows(
        "SELECT process, device, scope, self_ns / 1e9 AS self_s, share FROM scope_time"
        " QUALIFY row_number() OVER (PARTITION BY process, device"
        " ORDER BY self_ns DESC, scope) <= $top ORDER BY self_ns DESC, scope",
        {"top": _TOP},
    )
    return _by_device(rows, DeviceScope)


def _by_device(rows: list[dict[str, Any]], kind: type[Use]) -> dict[DeviceKey, list[Use]]:
    uses: dict[DeviceKey, list[Use]] = defaultdict(list)
    for row in rows:
        uses[row.pop("process"), row.pop("device")].append(kind(**row))
    return uses


_KNOWN = 0.5  # share of kernels whose launch must be in the timeline to judge the others
_OFTEN = 0.5  # graphs made per steady step, above which graphs are not reused
_STEPS = 3
#: A process, and its device.
DeviceKey = tuple[int, int]
#: Launches of devices in the steps that are judged, or in the whole timeline without steps.
_LAUNCHED = """
    SELECT l.process, l.device, coalesce(sum(kernels), 0)::BIGINT AS count,
           coalesce(sum(kernels) FILTER (how = 'graph'), 0)::BIGINT AS in_graphs,
           coalesce(sum(kernels) FILTER (how IS NULL), 0)::BIGINT AS unknown,
           coalesce(sum(calls) FILTER (how = 'graph'), 0)::BIGINT AS graph_launches
    FROM device_launch l LEFT JOIN judged_step s USING (process, step)
    WHERE s.step IS NOT NULL OR $whole
    GROUP BY ALL
"""
_MADE = """
    SELECT u.process, coalesce(sum(u.made), 0)::BIGINT AS made
    FROM graph_use u LEFT JOIN judged_step s USING (process, step)
    WHERE s.step IS NOT NULL OR $whole
    GROUP BY ALL
"""


def kernels_of(devices: list[dict[str, Any]], evidence: Evidence) -> dict[DeviceKey, Kernels]:
    """The kernels of each device that is a GPU and whose launches are recorded."""
    whole = {"whole": not any(device["steps"] for device in devices)}
    made = {row["process"]: row["made"] for row in evidence.database.rows(_MADE, whole)}
    launched = {
        (row.pop("process"), row.pop("device")): row
        for row in evidence.database.rows(_LAUNCHED, whole)
    }
    kernels = {}
    for device in devices:
        sums = launched.get(key := (device["process"], device["device"]))
        if device["kind"] == "GPU" and sums and sums["count"]:
            graphs = made.get(device["process"], 0)
            use = _cuda_graphs(sums, graphs, device)
            kernels[key] = Kernels(**sums, graphs_made=graphs, cuda_graphs=use)
    return kernels


def _cuda_graphs(sums: dict[str, int], made: int, device: dict[str, Any]) -> CudaGraphs | None:
    if device["warm"] and device["steps"] >= _STEPS and made >= _OFTEN * device["steps"]:
        return "recorded again"
    known = sums["count"] - sums["unknown"]
    if known < _KNOWN * sums["count"] or not known:
        return None
    if not sums["in_graphs"]:
        return "recorded" if made else "not used"
    return "used" if sums["in_graphs"] == known else "partly used"


_MOST = 100


def label_times(evidence: Evidence) -> list[LabelTime]:
    """The labels of the process that spent most time in them, in the order of the program."""
    rows = evidence.database.rows(
        """
        WITH lead AS (
            SELECT process FROM region GROUP BY process ORDER BY sum(self_ns) DESC, process LIMIT 1
        ),
        label AS (
            SELECT path, count(*) AS count, sum(duration_ns) / 1e9 AS host_s,
                   sum(self_ns) / 1e9 AS own_s, sum(launches)::BIGINT AS launches,
                   sum(device_ns) / 1e9 AS device_s, sum(idle_ns) / 1e9 AS idle_s,
                   min(region) AS first
            FROM region JOIN lead USING (process) GROUP BY path
        )
        SELECT * EXCLUDE (first) FROM (SELECT * FROM label ORDER BY host_s DESC LIMIT $most)
        ORDER BY first
        """,
        {"most": _MOST},
    )
    return [LabelTime(**row) for row in rows]
