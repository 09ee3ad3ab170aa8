"""Puts the processes of a job on one clock, and numbers their steps alike.

Each timeline has the time of its machine's clock at which its profile began. Collectives refine
that: one ends on all of its devices at about the same instant, so that the difference between what
two clocks say then is how far they are apart, and its trend how fast they drift.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xladoctor.evidence.database import Database
from xladoctor.evidence.interface import Evidence
from xladoctor.ingest.timeline.intervals import Times

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: What marked steps by numbers of the program's own; other steps are counted from the profile's
#: begin, which differs from host to host.
_NUMBERED = ("StepTrace", "Steps", "ProfilerStep", "xladoctor.step")
_OVERLAP = 0.5  # share of its steps that a process must have at the same time as another
#: Operations that end together: not those which hand data on from one device to the next.
_TOGETHER = (
    r"^(all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-broadcast)"
    r"|(?i)(allreduce|allgather|reducescatter|alltoall|broadcast)"
)
_FEW = 8  # points that show no trend yet
_BESIDE = 1.5  # steps; clocks that differ by more are known by the numbers of steps alone
_NEAR = 0.25  # of the time between two ends, within which two clocks mean the same one
_SURE = 4  # a trend is one where it moves the clock by so many times what single points scatter

_NAMED = """
    SELECT p.process, p.host, p.rank, p.slice, p.pid, s.steps, t.steps_from,
           count(*) OVER (PARTITION BY p.host) AS on_host
    FROM process p JOIN timeline t USING (process)
    JOIN (SELECT process, count(*) FILTER (steady) AS steps FROM timeline_step GROUP BY process) s
        USING (process)
    WHERE s.steps > 0 AND t.steps_from <> 'span'
    QUALIFY row_number() OVER (PARTITION BY p.process) = 1
    ORDER BY p.process
"""
_ENDED = """
    SELECT process, hlo_op, step, max(end_ns) AS end_ns FROM collective
    WHERE regexp_matches(hlo_op, $together) GROUP BY process, hlo_op, step ORDER BY ALL
"""
#: Of a clock that was compared by nothing but what it said when its profile began.
_BY_PROFILE = {"offset_ns": 0, "error_ns": None, "drift": None, "aligned_by": "profile"}
_STEP = "SELECT median(duration_ns) FROM timeline_step"


@dataclass(frozen=True, slots=True)
class _Ends:
    """When the executions of an operation ended on a process, in order, and in which steps."""

    step: Times
    end: Times


@dataclass(frozen=True, slots=True)
class _Ahead:
    """How far a clock is ahead of another at some instant, by how much that may be wrong, and how
    far it moves ahead in a nanosecond; NaN where too little is known.
    """

    ns: float
    spread: float
    drift: float


def with_clocks(evidence: Evidence) -> Evidence:
    """The evidence with ``pod_process``, if several processes have steps that can be compared."""
    database = evidence.database
    if (
        not {"timeline", "timeline_step", "process"} <= evidence.available
        or "pod_process" in evidence.available
    ):
        return evidence
    processes = database.rows(_NAMED)
    if len(processes) < 2 or not _are_of_one_job(database, processes):
        return evidence
    shifts = _shifts(database, processes)
    offsets = _offsets(database, shifts)
    rows = [
        {
            "process": process["process"],
            "name": name,
            "host": process["host"],
            "rank": process["rank"],
            "slice": process["slice"],
            "steps": process["steps"],
            "shift": shifts[process["process"]],
            **_BY_PROFILE,
            **offsets.get(process["process"], {}),
        }
        for process, name in zip(processes, _names(processes), strict=True)
    ]
    database.insert("pod_process", {name: [row[name] for row in rows] for name in rows[0]})
    return replace(evidence, available=evidence.available | {"pod_process"})


def _are_of_one_job(database: Database, processes: list[dict[str, Any]]) -> bool:
    """Whether processes belong together, and are not just side by side, as trials on one machine
    are: on several hosts, with ranks that differ, or with collectives.
    """
    ranks = {process["rank"] for process in processes} - {None}
    return (
        len({process["host"] for process in processes}) > 1
        or len(ranks) > 1
        or database.scalar("SELECT count(DISTINCT process) FROM collective") > 1
    )


def _names(processes: list[dict[str, Any]]) -> list[str]:
    """What processes are called: what distinguishes them of host and rank."""
    names = []
    several = len({process["host"] for process in processes}) > 1
    for process in processes:
        host = process["host"] or ""
        rank = process["rank"]
        if process["on_host"] == 1 and host:
            names.append(host)
        elif rank is not None:
            names.append(f"{host}:{rank}" if host and several else f"rank {rank}")
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
    """How far each process's clock is ahead of the median one, as far as collectives show it."""
    ends = _ends(database, shifts)
    if len(ends) < 2:
        return {}
    reference = max(ends, key=lambda process: sum(len(e.end) for e in ends[process].values()))
    step = database.scalar(_STEP)
    ahead = {
        process: found
        for process, own in ends.items()
        if (found := _ahead(own, ends[reference], step)) is not None
    }
    if not ahead:
        return {}
    usual = float(np.median([each.ns for each in ahead.values()]))
    drifts = np.array([each.drift for each in ahead.values()])
    usual_drift = float(np.nanmedian(drifts)) if np.isfinite(drifts).any() else 0.0
    return {
        process: {
            "offset_ns": round(each.ns - usual),
            "error_ns": round(each.spread),
            "drift": each.drift - usual_drift if np.isfinite(each.drift) else None,
            "aligned_by": "collectives",
        }
        for process, each in ahead.items()
    }


def _ends(database: Database, shifts: dict[int, int]) -> dict[int, dict[str, _Ends]]:
    """By process and operation."""
    ends: dict[int, dict[str, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    _, rows = database.table(_ENDED, {"together": _TOGETHER})
    for process, op, step, end in rows:
        if process in shifts:
            ends[process][op].append((end, step + shifts[process]))
    return {
        process: {
            op: _Ends(*(np.array(column, np.int64) for column in zip(*pairs, strict=True)))
            for op, found in of_process.items()
            for pairs in [[(step, end) for end, step in sorted(found)]]
        }
        for process, of_process in ends.items()
    }


def _ahead(own: dict[str, _Ends], other: dict[str, _Ends], step: float) -> _Ahead | None:
    """How far the clock of a process is ahead of another's.

    An operation's end is taken for the one that the other has at about the same time. In which step
    it is depends on how far a host is ahead of its devices, so it may be off by one.
    """
    common = sorted(own.keys() & other.keys())
    guess = _by_step([(own[op], other[op]) for op in common], step)
    for _ in range(2):
        points = [_near(own[op], other[op], guess) for op in common]
        instants = np.concatenate([np.empty(0), *(at for at, _ in points)])
        ahead = np.concatenate([np.empty(0), *(by for _, by in points)])
        if not len(ahead):
            return None
        guess = float(np.median(ahead))
    spread = 1.4826 * float(np.median(np.abs(ahead - guess)))
    if len(ahead) < _FEW:
        return _Ahead(guess, spread, np.nan)
    first = instants.min()
    kept = np.abs(ahead - guess) <= _SURE * max(spread, 1.0)
    slope, at_first = np.polyfit(instants[kept] - first, ahead[kept], 1)
    rest = ahead - (at_first + slope * (instants - first))
    scatter = 1.4826 * float(np.median(np.abs(rest)))
    if abs(slope) * np.ptp(instants[kept]) > _SURE * max(scatter, 1.0):
        return _Ahead(float(at_first), scatter, float(slope))
    return _Ahead(guess, spread, 0.0)


def _by_step(pairs: Sequence[tuple[_Ends, _Ends]], step: float) -> float:
    """How far one clock is ahead, if what is in the same step, or in the one beside it, ended at
    the same time.
    """
    differences: list[Floats] = [np.empty(0)]
    for own, other in pairs:
        _, mine, its = np.intersect1d(own.step, other.step, return_indices=True)
        differences.append((own.end[mine] - other.end[its]).astype(float))
    apart = np.concatenate(differences)
    if not len(apart):
        return 0.0
    if abs(np.median(apart)) > _BESIDE * step:
        return float(np.median(apart))
    turns = np.exp(2j * np.pi * apart / step)  # the same for all numbers of whole steps
    return float(np.angle(turns.mean()) / (2 * np.pi) * step)


def _near(own: _Ends, other: _Ends, guess: float) -> tuple[Floats, Floats]:
    """Where the other's clock shows an end at about the same time: when, and how far ahead."""
    if len(other.end) < 2:
        return np.empty(0), np.empty(0)
    expected = own.end - round(guess)
    middles = (other.end[1:] + other.end[:-1]) // 2
    nearest = other.end[np.searchsorted(middles, expected)]
    near = np.abs(expected - nearest) < _NEAR * np.median(np.diff(other.end))
    return nearest[near].astype(float), (own.end - nearest)[near].astype(float)
