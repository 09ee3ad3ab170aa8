"""Summarizes how the devices were used, from the timeline."""

from __future__ import annotations

from typing import Any

from xladoctor.diagnosis.device_use import DeviceOp, DeviceScope, DeviceUse
from xladoctor.diagnosis.kernels import kernels_of
from xladoctor.evidence.interface import Evidence
from xladoctor.facts.parts import IDLE_FOR
from xladoctor.frontends.vocabulary import vocabulary

_TOP = 5


def device_use(evidence: Evidence) -> list[DeviceUse]:
    """The use of each device in the timeline."""
    sums = ", ".join(f"coalesce(sum(u.idle_{reason}_ns), 0) AS {reason}" for reason in IDLE_FOR)
    rows = evidence.database.rows(f"""
        SELECT d.process, d.device, d.name, d.kind, count(*) AS steps, sum(u.busy_ns) AS busy,
               sum(u.busy_ns + u.idle_ns) AS total, bool_and(c.steady) AS warm, {sums}
        FROM device d JOIN device_step u USING (process, device)
        JOIN judged_step c ON c.process = u.process AND c.step = u.step
        GROUP BY ALL ORDER BY d.process, d.device
    """)  # noqa: S608  # column names of our own
    rows = rows or _whole(evidence)
    return [_use(row, evidence) for row in rows if row["total"]]


def _whole(evidence: Evidence) -> list[dict[str, Any]]:
    """The use of devices without steps: from a device's first operation to its last."""
    return evidence.database.rows("""
        SELECT process, device, name, kind, 0 AS steps, busy_ns AS busy, busy_ns + idle_ns AS total,
               FALSE AS warm
        FROM device ORDER BY process, device
    """)


def _use(row: dict[str, Any], evidence: Evidence) -> DeviceUse:
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
        top_ops=_top(row, evidence),
        top_scopes=_scopes(row, evidence),
        kernels=kernels_of(row, evidence),
    )


def _top(device: dict[str, Any], evidence: Evidence) -> list[DeviceOp]:
    rows = evidence.database.rows(
        "SELECT module, op, count, self_ns / 1e9 AS self_s, share, file, line, function"
        " FROM operation_time WHERE process = $process AND device = $device"
        " ORDER BY self_ns DESC, op, file, line LIMIT $top",
        {"process": device["process"], "device": device["device"], "top": _TOP},
    )
    return [
        DeviceOp(**row | {"file": row["file"] and evidence.portable(row["file"])}) for row in rows
    ]


def _scopes(device: dict[str, Any], evidence: Evidence) -> list[DeviceScope]:
    rows = evidence.database.rows(
        "SELECT scope, self_ns / 1e9 AS self_s, share FROM scope_time"
        " WHERE process = $process AND device = $device ORDER BY self_ns DESC, scope LIMIT $top",
        {"process": device["process"], "device": device["device"], "top": _TOP},
    )
    return [DeviceScope(**row) for row in rows]
