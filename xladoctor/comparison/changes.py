"""Computes what happened to each finding and each count from A to B."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from xladoctor.comparison.comparable import broke_off, of_one_framework
from xladoctor.comparison.interface import (
    CountChange,
    Demand,
    Direction,
    FindingChange,
    Occurrence,
    State,
)
from xladoctor.diagnosis.finding import Finding, Ignored
from xladoctor.diagnosis.frequency import Frequency, growth, rate_growth, sign
from xladoctor.diagnosis.identity import same, sightings
from xladoctor.diagnosis.interface import Count, Diagnosis
from xladoctor.diagnosis.ranking import LEVELS, reaches

JudgedBy = Literal["counts", "time"]
_SLACK_OF_MEMORY = 0.05
#: Counts of graphs, which do not depend on the number of steps.
_OF_GRAPHS = ("peak_memory", "hbm_share", "padding_share", "graphs_too_large", "cache_misses")
#: Counts of what programs do themselves, whatever the framework makes of it.
_OF_ANY_FRAMEWORK = ("host_syncs_per_step", "fallbacks_per_step")
_STATES: tuple[State, ...] = ("new", "worse", "fixed", "better", "unknown", "same")
_TOWARD: dict[int, Literal["worse", "better", "same"]] = {1: "worse", -1: "better", 0: "same"}


def finding_changes(
    a: Diagnosis, b: Diagnosis, judged_by: Mapping[str, JudgedBy], demand: Demand
) -> list[FindingChange]:
    """Each finding of either run once: new and worse ones first, then fixed, better, and so on.

    Args:
        judged_by: by rule, whether it judges by counts or by time.
        demand: the lowest severity at which a new or worse finding fails.
    """
    changes = [
        _change(before, after, (a, b), judged_by, demand)
        for before, after in matched(a, b)
        if isinstance(before, Finding) or isinstance(after, Finding)
    ]
    return sorted(
        changes,
        key=lambda change: (
            _STATES.index(change.state),
            -LEVELS.index(change.severity),
            change.judged_by,
            change.rule,
            change.fingerprint,
        ),
    )


def _change(
    a: Seen | None,
    b: Seen | None,
    runs: tuple[Diagnosis, Diagnosis],
    judged_by: Mapping[str, JudgedBy],
    demand: Demand,
) -> FindingChange:
    finding = b if isinstance(b, Finding) else a
    assert isinstance(finding, Finding)  # noqa: S101  # one of the runs reports it
    by = judged_by.get(finding.rule, "counts")
    state, reason = _became(a, b, runs, by)
    fails = (
        state in ("new", "worse")
        and by == "counts"
        and reaches(finding.severity_by_counts, demand.fail_on)
    )
    return FindingChange(
        state,
        finding.rule,
        finding.name,
        finding.title,
        finding.fingerprint,
        by,
        reason,
        fails,
        _occurrence(a),
        _occurrence(b),
    )


def _became(
    a: Seen | None, b: Seen | None, runs: tuple[Diagnosis, Diagnosis], by: JudgedBy
) -> tuple[State, str]:
    if isinstance(a, Finding) and isinstance(b, Finding):
        return _in_both(a, b, runs, by)
    if a is None and isinstance(b, Finding):
        return _in_one("new", b, runs[0], runs[1])
    if b is None and isinstance(a, Finding):
        return _in_one("fixed", a, runs[1], runs[0])
    return "same", f"ignored in {'A' if isinstance(a, Ignored) else 'B'}"


def _in_one(
    state: State, finding: Finding, lacking: Diagnosis, having: Diagnosis
) -> tuple[State, str]:
    """The state of a finding that only one run shows, and why it may be unknown."""
    name = "A" if state == "new" else "B"
    if finding.rule not in (*lacking.rules.fired, *lacking.rules.clear) and not of_one_framework(
        lacking, having
    ):
        return "unknown", f"not judged in {name}, which is of another framework"
    for skipped in lacking.not_checked:
        if skipped.rule == finding.rule:
            return "unknown", f"not judged in {name}: {skipped.reason}"
    if any(
        other.rule == finding.rule and bool(other.locations) != bool(finding.locations)
        for other in lacking.findings
    ):
        return "unknown", "one of the runs names no line"
    if reason := broke_off(lacking, having, name):
        return "unknown", reason
    return state, f"not in {name}"


def _occurrence(finding: Seen | None) -> Occurrence | None:
    if not isinstance(finding, Finding):
        return None
    place = finding.locations[0] if finding.locations else None
    return Occurrence(
        finding.severity, finding.severity_by_counts, finding.count, finding.per_step, place
    )


def _in_both(
    a: Finding, b: Finding, runs: tuple[Diagnosis, Diagnosis], by: JudgedBy
) -> tuple[State, str]:
    if by == "time":
        return "same", "judged by time"
    if a.severity_by_counts != b.severity_by_counts:
        risen = reaches(b.severity_by_counts, a.severity_by_counts)
        return ("worse" if risen else "better"), f"{a.severity_by_counts} → {b.severity_by_counts}"
    steps = [run.steps.count if run.steps else None for run in runs]
    if steps[0] is None or steps[1] is None:
        return "same", "frequencies cannot be compared: the number of steps is not known"
    often = [
        Frequency(finding.recurs, finding.count, finding.per_step, number)
        for finding, number in zip((a, b), steps, strict=True)
    ]
    state = _TOWARD[growth(*often)]
    rates = [frequency.rate for frequency in often]
    if steps[0] == steps[1] or rates[0] is None or rates[1] is None:
        of = "" if steps[0] == steps[1] else f" in {steps[0]} → {steps[1]} steps"
        return state, f"{a.count} → {b.count} times{of}"
    return state, f"{rates[0]:.3g} → {rates[1]:.3g} a step"


def count_changes(a: Diagnosis, b: Diagnosis) -> list[CountChange]:
    """All counts but the step's time, which is judged separately; more of each is worse."""
    b_counts = {count.name: count for count in b.counts}
    steps = [run.steps.count if run.steps else None for run in (a, b)]
    changes = [
        _count(count, b_counts[count.name], steps[0], steps[1])
        for count in a.counts
        if count.name != "step_ms" and count.name in b_counts
    ]
    if of_one_framework(a, b):
        return changes
    return [
        each
        if each.name in _OF_ANY_FRAMEWORK or each.change is None
        else replace(each, direction="unknown", reason="each framework counts something else")
        for each in changes
    ]


def _count(a: Count, b: Count, a_steps: int | None, b_steps: int | None) -> CountChange:
    if a.value is None or b.value is None:
        return CountChange(a.name, a.value, b.value, None, "unknown", _absent(a, b))
    change = round(b.value - a.value, 4)
    direction, reason = _direction(a, a.value, b.value, a_steps, b_steps)
    return CountChange(a.name, a.value, b.value, change, direction, reason)


def _absent(a: Count, b: Count) -> str:
    reasons = {
        name: count.reason or "not known"
        for name, count in (("A", a), ("B", b))
        if count.value is None
    }
    if len(reasons) == 2 and len(set(reasons.values())) == 1:
        return f"A and B: {reasons['A']}"
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items())


def _direction(
    count: Count, a: float, b: float, a_steps: int | None, b_steps: int | None
) -> tuple[Direction, str]:
    if count.name == "barriers_per_step" and (a == 0) != (b == 0):
        return "unknown", "a loop without a barrier has no steps"
    if count.name in _OF_GRAPHS:
        return _TOWARD[sign(a, b, _SLACK_OF_MEMORY * max(a, b))], ""
    if not a_steps or not b_steps:
        return "unknown", "the number of steps is not known"
    if a_steps == b_steps:
        return _TOWARD[sign(a, b)], ""
    if count.name == "compilations_after_warmup":
        a, b = a / a_steps, b / b_steps
    return _TOWARD[rate_growth(a, b, a_steps, b_steps)], ""


Seen = Finding | Ignored


def matched(a: Diagnosis, b: Diagnosis) -> list[tuple[Seen | None, Seen | None]]:
    """Each finding of both runs once, ignored or not, beside its match in the other run."""
    was = same(sightings(a), sightings(b))
    left, right = _by_fingerprint(a), _by_fingerprint(b)
    pairs = [(left[was[name]] if name in was else None, seen) for name, seen in right.items()]
    gone = left.keys() - was.values()
    return [*pairs, *((seen, None) for name, seen in left.items() if name in gone)]


def _by_fingerprint(diagnosis: Diagnosis) -> Mapping[str, Seen]:
    every: list[Seen] = [*diagnosis.findings, *diagnosis.ignored]
    return {seen.fingerprint: seen for seen in every}
