"""Compares the processes of a job, for reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from xladoctor.diagnosis.pod import Pod, PodGroup, PodProcess, name_of_slice
from xladoctor.evidence.interface import Evidence
from xladoctor.quantities import first_few, percent

#: Share of a step, and spreads among processes (1.4826 MAD is a standard deviation of normal
#: values), by which a part differs from that of most.
_SHARE, _SPREADS = 0.05, 4 * 1.4826
#: Parts of a step that are a consequence of what others do.
_OF_OTHERS = ("waiting", "exchange")
_NO_COLLECTIVES = (
    "It is not known whether one process holds the others back: not all timelines name"
    " the collectives in which they would wait."
)
_TWO = 2
_ALIKE = 0.01  # of a step
_ALWAYS = 0.9  # of the steps
_FEW = 3  # steps

_PARTS = """
    SELECT process, part, ns, median_ns, mad_ns FROM pod_part
"""
_PROCESSES = """
    SELECT p.process, coalesce(c.name, nullif(p.host, ''), 'process ' || p.process) AS name, p.rank,
           p.slice, p.world_size, t.file, t.file IS NOT NULL AS has_timeline,
           c.process IS NOT NULL AS has_steps, coalesce(s.steps, 0) AS steps, c.offset_ns,
           c.error_ns, c.shift
    FROM process p LEFT JOIN pod_process c USING (process)
    LEFT JOIN (SELECT process, any_value(file) AS file FROM timeline GROUP BY process) t
        USING (process)
    LEFT JOIN (SELECT process, count(*) AS steps FROM pod_step GROUP BY process) s USING (process)
    QUALIFY row_number() OVER (PARTITION BY p.process) = 1
    ORDER BY p.process
"""
_STRAGGLERS = "SELECT * FROM pod_straggler ORDER BY excess_ns * late_steps DESC, process"
#: How many of the processes have collectives, and in how many steps they are compared.
_KNOWN = """
    SELECT (SELECT count(DISTINCT process) FROM collective JOIN pod_step USING (process, step)),
           (SELECT count(DISTINCT pod_step) FROM pod_step)
"""
#: What takes one process, or several, longer than the others, in words.
_DOES = {
    "input": ("{} waits {} longer for input", "{} wait {} longer for input"),
    "compile": ("{} compiles {} longer", "{} compile {} longer"),
    "tracing": ("{} traces {} longer in Python", "{} trace {} longer in Python"),
    "python": ("{} runs {} more of other Python", "{} run {} more of other Python"),
    "dispatch": ("{} launches {} longer", "{} launch {} longer"),
    "upload": ("{} sends data to its devices {} longer", "{} send data to their devices {} longer"),
    "save": ("{} saves {} longer", "{} save {} longer"),
    "compute": ("{} computes {} longer", "{} compute {} longer"),
    "exchange": ("{}'s collectives take {} longer", "the collectives of {} take {} longer"),
    "idle": ("{}'s devices are idle {} longer", "the devices of {} are idle {} longer"),
}


def pod(evidence: Evidence, unread: Sequence[str] = ()) -> Pod | None:
    """The processes of a job; None where there are not several that can be compared.

    Args:
        unread: hosts whose evidence could not be read, each with the reason.
    """
    if "pod_process" not in evidence.available:
        return None
    parts: dict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in evidence.database.rows(_PARTS):
        parts[row["process"]][row["part"]] = row
    known = evidence.database.rows(_PROCESSES)
    processes = [each for each in known if each["process"] in parts]
    if len(processes) < _TWO:
        return None
    step_ns = fmean(sum(row["ns"] for row in own.values()) for own in parts.values())
    usual = _usual(parts)
    signatures = {
        each["process"]: _differing(parts[each["process"]], usual, step_ns) for each in processes
    }
    groups = _groups(processes, parts, signatures)
    place = {name: number for number, group in enumerate(groups) for name in group.processes}
    errors = [each["error_ns"] for each in processes]
    left_out = [*unread, *(_left_out(each) for each in known if each["process"] not in parts)]
    of = max(len(processes) + len(left_out), *(each["world_size"] or 0 for each in known))
    return Pod(
        summary=_summary(evidence, _Compared(processes, parts, step_ns, of)),
        parts=list(parts[processes[0]["process"]]),
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
        of=of,
        error_ms=None if None in errors else max(errors) / 1e6,
        left_out=left_out,
        matched_by_time=any(each["shift"] for each in processes),
    )


def _left_out(process: Mapping[str, Any]) -> str:
    """A process that is not compared, and why."""
    if not process["has_timeline"]:
        reason = "no timeline"
    elif not process["has_steps"]:
        reason = "no step after warm-up in its timeline"
    else:
        reason = "none of the steps that the others have, or no device that works"
    return f"{process['name']}: {reason}"


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
            slice_of([each["process"] for each in group], processes),
        )
        for signature, group in ordered
    ]


def slice_of(some: Collection[int], processes: Sequence[Mapping[str, Any]]) -> int | None:
    """The slice, one of several, whose processes these are: all of them, and no others."""
    slices = {each["process"]: each["slice"] for each in processes}
    numbers = {slices[process] for process in some}
    number = numbers.pop()
    others = {process for process, found in slices.items() if found != number}
    whole = not numbers and others and len(some) == len(slices) - len(others) > 1
    return number if whole else None


@dataclass(frozen=True, slots=True)
class _Compared:
    """The processes that are compared, the parts of their steps, and how many the job has."""

    processes: Sequence[Mapping[str, Any]]
    parts: Mapping[int, Mapping[str, Mapping[str, Any]]]
    step_ns: float
    of: int


def _summary(evidence: Evidence, compared: _Compared) -> str:
    late = evidence.database.rows(_STRAGGLERS)
    if not late:
        return _no_straggler(evidence, compared)
    first, step_ns = late[0], compared.step_ns
    always = first["late_steps"] >= _ALWAYS * first["steps"]
    when = "In each step" if always else f"In {first['late_steps']} of {first['steps']} steps"
    same = [row for row in late if (row["kind"], row["part"]) == (first["kind"], first["part"])]
    slow = {row["process"] for row in same}
    others = [each for each in compared.processes if each["process"] not in slow]
    names = f"the other {len(others)}" if len(others) > 1 else others[0]["name"]
    number = slice_of(slow, compared.processes)
    one = len(slow) == 1 or number is not None
    who = first_few([row["name"] for row in same])
    if number is not None:
        who = name_of_slice(number, len(slow))
    excess = f"{'up to ' * (len(slow) > 1)}{first['excess_ns'] / 1e6:.1f} ms"
    does = _DOES[first["part"]][not one].format(who, excess)
    text = f"{when}, {does} than {names}"
    waits = fmean(compared.parts[each["process"]]["waiting"]["ns"] for each in others)
    if waits >= _ALIKE * step_ns:
        who = "they wait" if len(others) > 1 else f"{names} waits"
        text += (
            f"; {who} {waits / 1e6:.1f} of {step_ns / 1e6:.1f} ms a step in collectives"
            f" ({percent(waits / step_ns)})"
        )
    if more := [row["name"] for row in late if row["process"] not in slow]:
        text += f". Also slower: {first_few(more)}"
    return text + "."


def _no_straggler(evidence: Evidence, compared: _Compared) -> str:
    """What is known where nobody is late: never more than the evidence shows."""
    count, step_ns = len(compared.processes), compared.step_ns
    ((with_collectives, steps),) = evidence.database.table(_KNOWN)[1]
    if with_collectives < count:
        return _NO_COLLECTIVES
    if steps < _FEW:
        return f"They have only {steps} step{'s' * (steps != 1)} in common: too few to tell."
    own = [
        sum(row["ns"] for part, row in compared.parts[each["process"]].items() if part != "waiting")
        for each in compared.processes
    ]
    waiting = {
        each["name"]: compared.parts[each["process"]]["waiting"]["ns"]
        for each in compared.processes
    }
    waits = fmean(waiting.values())
    waiters = [name for name, ns in waiting.items() if ns >= _SHARE * step_ns]
    if 0 < len(waiters) < count / 2 and min(waiting.values()) < _ALIKE * step_ns:
        return (
            f"Most of the {count} processes take equally long; {first_few(waiters)}"
            f" wait{'s' * (len(waiters) == 1)} {max(waiting.values()) / 1e6:.1f} of"
            f" {step_ns / 1e6:.1f} ms a step for them."
        )
    whole = count == compared.of
    who = (
        "No process"
        if whole
        else f"Of the {count} processes here (the job has {compared.of}), none"
    )
    text = (
        f"{who} holds the others back: without waiting for each other, their steps take"
        f" {min(own) / 1e6:.1f} to {max(own) / 1e6:.1f} ms"
    )
    if waits >= _SHARE * step_ns:
        text += (
            f"; on average they wait {waits / 1e6:.1f} of {step_ns / 1e6:.1f} ms, now for one, now"
            " for another"
        )
    if not whole:
        text += ". Waiting for a missing process counts as exchange"
    return text + "."
