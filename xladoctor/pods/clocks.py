"""Puts the processes of a job on one clock, and numbers their steps alike.

Each timeline has the time of its machine's clock at which its profile began. Collectives refine
that: one ends on all of its devices at about the same instant, so that the median of what the
others' clocks say tells how far a clock is off, and its trend how fast it drifts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from xladoctor.evidence.database import Database
from xladoctor.evidence.interface import Evidence
from xladoctor.ingest.timeline.intervals import Times

#: What marked steps by numbers of the program's own; other steps are counted from the profile's
#: begin, which differs from host to host.
_NUMBERED = ("StepTrace", "Steps", "ProfilerStep", "xladoctor.step")
_OVERLAP = 0.5  # share of its steps that a process must have at the same time as another
#: Operations that end together: not those which hand data on from one device to the next.
_TOGETHER = (
    r"^(all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-broadcast)"
    r"|(?i)(allreduce|allgather|reducescatter|alltoall|broadcast)"
)
_FEW = 8  # points with which no trend can be told
_SURE = 4  # a trend is one where it moves the clock by so many times what single points scatter

_NAMED = """
    SELECT p.process, p.host, p.rank, count(*) OVER (PARTITION BY p.host) AS on_host, p.pid,
           s.steps, t.steps_from
    FROM process p JOIN timeline t USING (process)
    JOIN (SELECT process, count(*) FILTER (steady) AS steps FROM timeline_step GROUP BY process) s
        USING (process)
    WHERE s.steps > 0 AND t.steps_from <> 'span'
    QUALIFY row_number() OVER (PARTITION BY p.process) = 1
    ORDER BY p.process
"""
_OFFSETS = """
    WITH ended AS (
        SELECT c.process, c.step + s.shift AS step, c.hlo_op,
               max(c.end_ns) - (SELECT min(end_ns) FROM collective) AS instant
        FROM collective c JOIN shifts s USING (process)
        WHERE regexp_matches(c.hlo_op, $together) GROUP BY c.process, c.step + s.shift, c.hlo_op
    ),
    typical AS (
        SELECT step, hlo_op, median(instant) AS instant FROM ended
        GROUP BY step, hlo_op HAVING count(*) > 1
    ),
    point AS (
        SELECT e.process, t.instant, e.instant - t.instant AS ahead
        FROM ended e JOIN typical t USING (step, hlo_op)
    )
    SELECT process, count(*) AS points, median(ahead) AS ahead, 1.4826 * mad(ahead) AS spread,
           regr_slope(ahead, instant) AS slope, regr_intercept(ahead, instant) AS intercept,
           min(instant) AS first, max(instant) - min(instant) AS span,
           sqrt(greatest(0, regr_syy(ahead, instant) * (1 - coalesce(regr_r2(ahead, instant), 1)))
                / count(*)) AS residual
    FROM point GROUP BY process
"""


def with_pod(evidence: Evidence) -> Evidence:
    """The evidence with ``pod_process``, if several processes have steps that can be compared."""
    database = evidence.database
    if not {"timeline", "timeline_step", "process"} <= evidence.available:
        return evidence
    processes = database.rows(_NAMED)
    if len(processes) < 2:
        return evidence
    shifts = _shifts(database, processes)
    offsets = _offsets(database, shifts)
    rows = [
        {
            "process": process["process"],
            "name": name,
            "host": process["host"],
            "rank": process["rank"],
            "steps": process["steps"],
            "shift": shifts[process["process"]],
            **offsets.get(process["process"], {}),
        }
        for process, name in zip(processes, _names(processes), strict=True)
    ]
    columns = ("offset_ns", "error_ns", "drift", "aligned_by")
    defaults = {"offset_ns": 0, "error_ns": None, "drift": None, "aligned_by": "profile"}
    rows = [{**{name: defaults[name] for name in columns}, **row} for row in rows]
    database.insert("pod_process", {name: [row[name] for row in rows] for name in rows[0]})
    return replace(evidence, available=evidence.available | {"pod_process"})


def _names(processes: list[dict[str, Any]]) -> list[str]:
    """What processes are called: their host, and what else distinguishes them."""
    names = []
    for process in processes:
        host = process["host"] or ""
        rank = process["rank"]
        if process["on_host"] == 1 and host:
            names.append(host)
        elif rank is not None:
            names.append(f"{host}:{rank}" if host else f"rank {rank}")
        else:
            names.append(f"{host or 'process'}:{process['pid'] or process['process']}")
    count = Counter(names)
    return [
        name if count[name] == 1 else f"{name} ({process['process']})"
        for name, process in zip(names, processes, strict=True)
    ]


def _shifts(database: Database, processes: list[dict[str, Any]]) -> dict[int, int]:
    """What to add to each process's numbers of steps so that they mean the same."""
    if all(process["steps_from"] in _NUMBERED for process in processes):
        return {process["process"]: 0 for process in processes}
    steps = database.arrays(
        "SELECT process, step, end_ns FROM timeline_step ORDER BY process, end_ns"
    )
    longest = max(processes, key=lambda process: process["steps"])["process"]
    of_longest = steps["process"] == longest
    return {
        process["process"]: _shift(
            steps["step"][of_longest],
            steps["end_ns"][of_longest],
            steps["step"][own],
            steps["end_ns"][own],
        )
        for process in processes
        for own in [steps["process"] == process["process"]]
    }


def _shift(number: Times, end: Times, own_number: Times, own_end: Times) -> int:
    """What to add to a process's own numbers: the steps that end at about the same time are one."""
    inside = (own_end >= end[0]) & (own_end <= end[-1])
    if inside.sum() < max(1, _OVERLAP * min(len(end), len(own_end))):
        return 0
    middles = (end[1:] + end[:-1]) // 2
    nearest = number[np.searchsorted(middles, own_end[inside])]
    return round(float(np.median(nearest - own_number[inside])))


def _offsets(database: Database, shifts: dict[int, int]) -> dict[int, dict[str, Any]]:
    """How far each process's clock is ahead, as far as collectives tell."""
    listed = ", ".join(f"({process}, {shift})" for process, shift in shifts.items())
    query = _OFFSETS.replace("JOIN shifts s", f"JOIN (VALUES {listed}) s(process, shift)")
    return {
        row["process"]: _offset(row)
        for row in database.rows(query, {"together": _TOGETHER})
        if row["points"]
    }


def _offset(row: dict[str, Any]) -> dict[str, Any]:
    moved = (row["slope"] or 0.0) * row["span"]
    drifts = row["points"] >= _FEW and abs(moved) > _SURE * max(row["residual"] or 0.0, 1.0)
    ahead = row["intercept"] + row["slope"] * row["first"] if drifts else row["ahead"]
    return {
        "offset_ns": round(ahead),
        "error_ns": round(row["residual"] if drifts else row["spread"]),
        "drift": row["slope"] if drifts else (0.0 if row["points"] >= _FEW else None),
        "aligned_by": "collectives",
    }
