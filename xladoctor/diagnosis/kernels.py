"""Summarizes how the kernels of a GPU were launched: one by one, or in CUDA graphs."""

from __future__ import annotations

from typing import Any

from xladoctor.diagnosis.device_use import CudaGraphs, Kernels
from xladoctor.evidence.interface import Evidence

_KNOWN = 0.5  # share of kernels whose launch must be in the timeline to judge the others
_OFTEN = 0.5  # graphs made per steady step, above which graphs are not reused
_STEPS = 3
#: A device's launches in the steps that are judged, or in the whole timeline without steps.
_LAUNCHED = """
    SELECT coalesce(sum(kernels), 0)::BIGINT AS count,
           coalesce(sum(kernels) FILTER (how = 'graph'), 0)::BIGINT AS in_graphs,
           coalesce(sum(kernels) FILTER (how IS NULL), 0)::BIGINT AS unknown,
           coalesce(sum(calls) FILTER (how = 'graph'), 0)::BIGINT AS graph_launches
    FROM device_launch l LEFT JOIN judged_step s USING (process, step)
    WHERE l.process = $process AND l.device = $device AND (s.step IS NOT NULL OR $steps = 0)
"""
_MADE = """
    SELECT coalesce(sum(u.made), 0)::BIGINT AS graphs_made
    FROM graph_use u LEFT JOIN judged_step s USING (process, step)
    WHERE u.process = $process AND (s.step IS NOT NULL OR $steps = 0)
"""


def kernels_of(device: dict[str, Any], evidence: Evidence) -> Kernels | None:
    """The kernels of a device, if it is a GPU and its launches are recorded."""
    process = {"process": device["process"], "steps": device["steps"]}
    (sums,) = evidence.database.rows(_LAUNCHED, {**process, "device": device["device"]})
    if device["kind"] != "GPU" or not sums["count"]:
        return None
    (made,) = evidence.database.rows(_MADE, process)
    return Kernels(**sums, **made, cuda_graphs=_use(sums, made["graphs_made"], device))


def _use(sums: dict[str, int], made: int, device: dict[str, Any]) -> CudaGraphs | None:
    if device["warm"] and device["steps"] >= _STEPS and made >= _OFTEN * device["steps"]:
        return "recorded anew"
    known = sums["count"] - sums["unknown"]
    if known < _KNOWN * sums["count"] or not known:
        return None
    if not sums["in_graphs"]:
        return "recorded" if made else "not used"
    return "used" if sums["in_graphs"] == known else "partly used"
