"""Compares the processes of a job, for reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from xladoctor.diagnosis.pod import Pod, PodGroup, PodProcess
from xladoctor.evidence.interface import Evidence
from xladoctor.quantities import percent

#: Share of a step, and spreads among processes (1.4826 MAD is a standard deviation of normal
#: values), by which a part differs from that of most.
_SHARE, _SPREADS = 0.05, 4 * 1.4826
#: Parts of a step that are a consequence of what others do.
_OF_OTHERS = ("waiting", "exchange")
_NO_COLLECTIVES = (
    "Whether one process holds the others back does not show: the timelines name no collectives, in"
    " which the others would wait for it."
)
_MOST_NAMED, _TWO = 3, 2
_ALIKE = 0.01  # of a step
_ALWAYS = 0.9  # of the steps

_PARTS = """
    SELECT process, part, ns, median_ns, mad_ns FROM pod_part
"""
_PROCESSES = """
    SELECT p.*, t.file FROM pod_process p
    LEFT JOIN (SELECT process, any_value(file) AS file FROM timeline GROUP BY process) t
        USING (process)
    ORDER BY process
"""
_STRAGGLERS = """
    SELECT s.*, p.ns AS waiting_ns FROM pod_straggler s
    LEFT JOIN pod_part p ON p.process = s.process AND p.part = 'waiting'
    ORDER BY excess_ns * late_steps DESC, process
"""
#: What a process does longer than the others, in words.
_DOES = {
    "input": "waits for input",
    "compile": "compiles",
    "tracing": "traces in Python",
    "python": "runs other Python",
    "dispatch": "launches",
    "upload": "sends data to its devices",
    "save": "saves",
    "compute": "computes",
    "exchange": "is in collectives",
    "idle": "is idle",
}


def pod(evidence: Evidence) -> Pod | None:
    """The processes of a job; None where there are not several that can be compared."""
    if "pod_process" not in evidence.available:
        return None
    processes = evidence.database.rows(_PROCESSES)
    parts: dict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in evidence.database.rows(_PARTS):
        parts[row["process"]][row["part"]] = row
    processes = [each for each in processes if each["process"] in parts]
    if len(processes) < 2:
        return None
    step_ns = fmean(sum(row["ns"] for row in own.values()) for own in parts.values())
    usual = _usual(parts)
    signatures = {
        each["process"]: _differing(parts[each["process"]], usual, step_ns) for each in processes
    }
    groups = _groups(processes, parts, signatures)
    place = {name: number for number, group in enumerate(groups) for name in group.processes}
    errors = [each["error_ns"] for each in processes if each["error_ns"] is not None]
    first = parts[processes[0]["process"]]
    return Pod(
        summary=_summary(evidence, processes, parts, step_ns),
        parts=list(first),
        step_ms=round(step_ns / 1e6, 4),
        groups=groups,
        processes=[
            PodProcess(
                str(each["process"]),
                each["name"],
                each["file"],
                each["rank"],
                each["slice"],
                each["steps"],
                _milliseconds(parts[each["process"]]),
                place[each["name"]],
                each["offset_ns"] / 1e6,
                None if each["error_ns"] is None else each["error_ns"] / 1e6,
            )
            for each in processes
        ],
        error_ms=max(errors) / 1e6 if errors else None,
    )


def _milliseconds(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    return {part: round(row["ns"] / 1e6, 4) for part, row in parts.items()}


def _usual(parts: Mapping[int, Mapping[str, Mapping[str, Any]]]) -> dict[str, tuple[float, float]]:
    """What is usual for each part, and how far from that processes are that do not stand out. Of
    two processes, the one that takes less time is as it should be.
    """
    rows = {part: [own[part] for own in parts.values()] for part in next(iter(parts.values()))}
    if len(parts) == _TWO:
        return {part: (min(row["ns"] for row in found), 0.0) for part, found in rows.items()}
    return {
        part: (found[0]["median_ns"], _SPREADS * found[0]["mad_ns"]) for part, found in rows.items()
    }


def _differing(
    parts: Mapping[str, Mapping[str, Any]], usual: Mapping[str, tuple[float, float]], step_ns: float
) -> tuple[str, ...]:
    """The parts in which a process differs from most, the largest difference first."""
    beyond = {
        part: abs(row["ns"] - usual[part][0])
        for part, row in parts.items()
        if part not in _OF_OTHERS
        and abs(row["ns"] - usual[part][0]) > max(_SHARE * step_ns, usual[part][1])
    }
    return tuple(sorted(beyond, key=lambda part: (-beyond[part], part)))


def _groups(
    processes: Sequence[Mapping[str, Any]],
    parts: Mapping[int, Mapping[str, Mapping[str, Any]]],
    signatures: Mapping[int, tuple[str, ...]],
) -> list[PodGroup]:
    members: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for each in processes:
        members[signatures[each["process"]]].append(each)
    ordered = sorted(members.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        PodGroup(
            [each["name"] for each in group],
            {
                part: round(fmean(parts[each["process"]][part]["ns"] for each in group) / 1e6, 4)
                for part in parts[group[0]["process"]]
            },
            list(signature),
        )
        for signature, group in ordered
    ]


def _summary(
    evidence: Evidence,
    processes: Sequence[Mapping[str, Any]],
    parts: Mapping[int, Mapping[str, Mapping[str, Any]]],
    step_ns: float,
) -> str:
    late = evidence.database.rows(_STRAGGLERS)
    if not late and not evidence.database.has_rows("collective"):
        return _NO_COLLECTIVES
    if not late:
        return _no_straggler(processes, parts, step_ns)
    first = late[0]
    always = first["late_steps"] >= _ALWAYS * first["steps"]
    steps = "a step" if always else f"in {first['late_steps']} of {first['steps']} steps"
    others = [each for each in processes if each["process"] != first["process"]]
    names = f"the other {len(others)}" if len(others) > 1 else others[0]["name"]
    text = (
        f"{first['name']} is slower than {names}: it {_DOES[first['part']]}"
        f" {first['excess_ns'] / 1e6:.1f} ms longer {steps}"
    )
    waits = fmean(parts[each["process"]]["waiting"]["ns"] for each in others)
    if waits >= _ALIKE * step_ns:
        who = "they wait" if len(others) > 1 else f"{names} waits"
        text += (
            f"; {who} {waits / 1e6:.1f} of {step_ns / 1e6:.1f} ms a step in collectives"
            f" ({percent(waits / step_ns)})"
        )
    if more := [row["name"] for row in late[1:]]:
        named = ", ".join(more[:_MOST_NAMED])
        rest = f" and {len(more) - _MOST_NAMED} more" if len(more) > _MOST_NAMED else ""
        text += f". Also slower: {named}{rest}"
    return text + "."


def _no_straggler(
    processes: Sequence[Mapping[str, Any]],
    parts: Mapping[int, Mapping[str, Mapping[str, Any]]],
    step_ns: float,
) -> str:
    own = [
        sum(row["ns"] for part, row in parts[each["process"]].items() if part != "waiting")
        for each in processes
    ]
    waits = fmean(parts[each["process"]]["waiting"]["ns"] for each in processes)
    text = (
        f"No process holds the others back: without waiting for each other, their steps take"
        f" {min(own) / 1e6:.1f} to {max(own) / 1e6:.1f} ms"
    )
    if waits >= _SHARE * step_ns:
        text += (
            f"; on average they wait {waits / 1e6:.1f} of {step_ns / 1e6:.1f} ms, now for one, now"
            " for another"
        )
    return text + "."
