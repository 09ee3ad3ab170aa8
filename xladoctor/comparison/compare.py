"""Compares two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from xladoctor import __version__
from xladoctor.comparison.changes import JudgedBy, count_changes, finding_changes
from xladoctor.comparison.comparable import broke_off, differences, summary
from xladoctor.comparison.interface import SCHEMA_VERSION, Comparison, Demand, TpuChange
from xladoctor.comparison.memory import memory_changes
from xladoctor.comparison.step_time import step_time
from xladoctor.comparison.times import gain, time_changes
from xladoctor.comparison.verdict import Grounds, status, verdict
from xladoctor.diagnosis.interface import Diagnosis, Tool
from xladoctor.diagnosis.rule import Rule
from xladoctor.diagnosis.sharding_changes import ShardingChange, changes, golden

_UNLIKE = "the runs are of different programs"


def compare(
    a: Diagnosis, b: Diagnosis, rules: Sequence[Rule], demand: Demand | None = None
) -> Comparison:
    """What changed from A to B.

    Args:
        a, b: the run as it was, and as it is now.
        rules: those that judged both; ``demand``: what fails, and what to overlook.
    """
    demand = demand or Demand()
    judged_by: Mapping[str, JudgedBy] = {rule.id: rule.judged_by for rule in rules}
    differing = differences(a, b, demand)
    findings, counts = finding_changes(a, b, judged_by, demand), count_changes(a, b)
    times = time_changes(a, b)
    judged = {rule for rule in _judged(a) if judged_by.get(rule) == "counts"}
    missing = [skipped for skipped in b.not_checked if skipped.rule in judged]
    grounds = Grounds(
        differing,
        findings,
        missing,
        counts,
        gain(times, a, b, differing),
        step_time(a.traits.samples, b.traits.samples, differing, demand),
        bool(judged & _judged(b)),
        broke_off(b, a, "B"),
        demand,
    )
    outcome = verdict(grounds)
    if any(each.forbids == "everything" and not each.accepted for each in differing):
        findings = [replace(each, state="unknown") for each in findings]
        counts = [replace(each, direction="unknown", reason=_UNLIKE) for each in counts]
        times = []
    return Comparison(
        SCHEMA_VERSION,
        Tool("xladoctor", __version__),
        summary(a),
        summary(b),
        outcome,
        differing,
        findings,
        missing,
        counts,
        grounds.step,
        status(outcome, grounds),
        _warnings(a, b),
        [*_tpu_changes(a, b)],
        times,
        memory_changes(a, b),
        _divided(a, b),
    )


def _divided(a: Diagnosis, b: Diagnosis) -> list[ShardingChange]:
    both = a.shardings and b.shardings
    return [*changes(golden(a.shardings or []), golden(b.shardings or []))] if both else []


def _tpu_changes(a: Diagnosis, b: Diagnosis) -> Iterator[TpuChange]:
    """What was compiled for the same TPU in both: by name, or if there is one of each."""
    topologies = [graph.topology for graph in a.tpu_graphs]
    for topology in dict.fromkeys(topologies):
        ours, theirs = (
            [graph for graph in run.tpu_graphs if graph.topology == topology] for run in (a, b)
        )
        if len(ours) == len(theirs) == 1:
            yield TpuChange(ours[0], theirs[0])
            continue
        named = {graph.name: graph for graph in theirs}
        yield from (TpuChange(graph, named[graph.name]) for graph in ours if graph.name in named)


def _judged(run: Diagnosis) -> set[str]:
    return {*run.rules.fired, *run.rules.clear}


def _warnings(a: Diagnosis, b: Diagnosis) -> list[str]:
    """Notes on what was cut, skipped or unreadable in the evidence of each run."""
    return [f"{name}: {note}" for name, run in (("A", a), ("B", b)) for note in run.traits.notes]
