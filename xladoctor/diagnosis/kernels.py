"""Summarizes how the kernels of a GPU were launched: one by one, or in CUDA graphs."""

from __future__ import annotations

from typing import Any

from xladoctor.diagnosis.device_use import CudaGraphs, Kernels
from xladoctor.evidence.interface import Evidence

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
            use = _use(sums, graphs, device)
            kernels[key] = Kernels(**sums, graphs_made=graphs, cuda_graphs=use)
    return kernels


def _use(sums: dict[str, int], made: int, device: dict[str, Any]) -> CudaGraphs | None:
    if device["warm"] and device["steps"] >= _STEPS and made >= _OFTEN * device["steps"]:
        return "recorded anew"
    known = sums["count"] - sums["unknown"]
    if known < _KNOWN * sums["count"] or not known:
        return None
    if not sums["in_graphs"]:
        return "recorded" if made else "not used"
    return "used" if sums["in_graphs"] == known else "partly used"
