"""Summarizes how the devices were used, from the timeline."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, TypeVar

from xladoctor.diagnosis.device_use import DeviceOp, DeviceScope, DeviceUse, Kernels
from xladoctor.diagnosis.kernels import DeviceKey, kernels_of
from xladoctor.evidence.interface import Evidence
from xladoctor.facts.parts import IDLE_FOR
from xladoctor.frontends.vocabulary import vocabulary

Use = TypeVar("Use", DeviceOp, DeviceScope)
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
    tops, scopes, kernels = _top(evidence), _scopes(evidence), kernels_of(rows, evidence)
    return [
        _use(row, evidence, tops[key], scopes[key], kernels.get(key))
        for row in rows
        if row["total"] and (key := (row["process"], row["device"]))
    ]


def _whole(evidence: Evidence) -> list[dict[str, Any]]:
    """The use of devices without steps: from a device's first operation to its last."""
    return evidence.database.rows("""
        SELECT process, device, name, kind, 0 AS steps, busy_ns AS busy, busy_ns + idle_ns AS total,
               FALSE AS warm
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
