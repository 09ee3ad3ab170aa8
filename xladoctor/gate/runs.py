"""Combines several runs of a program: findings by majority, counts and times by median."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from xladoctor.diagnosis.finding import Finding, NotChecked
from xladoctor.diagnosis.interface import Count, Diagnosis, RuleOutcomes
from xladoctor.gate.interface import Repeated


def repeated(diagnoses: Sequence[Diagnosis]) -> list[Repeated]:
    """Each count's value in every run, and their median."""
    names = [count.name for count in diagnoses[0].counts]
    rows = [(name, [_count(diagnosis, name).value for diagnosis in diagnoses]) for name in names]
    return [Repeated(name, values, _median(values)) for name, values in rows]


def aggregate(diagnoses: Sequence[Diagnosis]) -> Diagnosis:
    """The run with the median step time, with the findings that more than half of the runs have.

    Findings that only some runs have are listed in ``warnings``.
    """
    middle = sorted(diagnoses, key=_step_ms)[len(diagnoses) // 2]
    seen = Counter(finding.fingerprint for each in diagnoses for finding in each.findings)
    most = {name for name, times in seen.items() if 2 * times > len(diagnoses)}
    own = {finding.fingerprint for finding in middle.findings}
    findings = [finding for finding in middle.findings if finding.fingerprint in most]
    for each in diagnoses:
        for finding in each.findings:
            if finding.fingerprint in most and finding.fingerprint not in own:
                own.add(finding.fingerprint)
                findings.append(finding)
    skipped = _not_checked(diagnoses, {finding.rule for finding in findings})
    said = dict.fromkeys(text for each in diagnoses for text in each.warnings)
    lost = dict.fromkeys(text for each in diagnoses for text in each.run.incomplete)
    return replace(
        middle,
        run=replace(middle.run, incomplete=list(lost)),
        findings=[_typical(finding, diagnoses) for finding in findings],
        counts=[_aggregated(count, diagnoses) for count in middle.counts],
        rules=_outcomes(middle.rules, findings, skipped),
        not_checked=skipped,
        warnings=[*said, *_seldom(diagnoses, seen, most), *_different(diagnoses)],
    )


def _not_checked(diagnoses: Sequence[Diagnosis], fired: set[str]) -> list[NotChecked]:
    """The rules that at least half of the runs could not judge, and that found nothing."""
    reasons: dict[str, list[NotChecked]] = defaultdict(list)
    for each in diagnoses:
        for skipped in each.not_checked:
            reasons[skipped.rule].append(skipped)
    return [
        same[0]
        for rule, same in sorted(reasons.items())
        if 2 * len(same) >= len(diagnoses) and rule not in fired
    ]


def _typical(finding: Finding, diagnoses: Sequence[Diagnosis]) -> Finding:
    """The finding with the median count of the runs that have it."""
    same = [
        other
        for each in diagnoses
        for other in each.findings
        if other.fingerprint == finding.fingerprint
    ]
    middle = sorted(same, key=lambda other: other.count)[(len(same) - 1) // 2]
    return replace(
        finding,
        count=middle.count,
        per_step=middle.per_step,
        severity_by_counts=middle.severity_by_counts,
    )


def _aggregated(count: Count, diagnoses: Sequence[Diagnosis]) -> Count:
    """The median count, with the lines of the run nearest to it; unknown if half of them are."""
    each = [_count(diagnosis, count.name) for diagnosis in diagnoses]
    unknown = [count for count in each if count.value is None]
    if 2 * len(unknown) >= len(each):
        return replace(unknown[0], value=None)
    median = _median(count.value for count in each)
    partly = next(
        (count.reason for count in each if count.value is not None and count.reason), None
    )
    above = [count for count in each if count.value is not None and count.value >= (median or 0.0)]
    typical = min(above, key=lambda count: count.value or 0.0)
    return Count(count.name, median, partly, typical.consumers)


def _outcomes(
    rules: RuleOutcomes, findings: Sequence[Finding], skipped: Sequence[NotChecked]
) -> RuleOutcomes:
    """The outcomes of rules; a rule fired if one of its findings is left."""
    fired = {finding.rule for finding in findings}
    not_evaluated = [rule.rule for rule in skipped]
    every = sorted({*rules.fired, *rules.clear, *rules.not_evaluated, *fired})
    return replace(
        rules,
        fired=[rule for rule in every if rule in fired],
        clear=[rule for rule in every if rule not in fired and rule not in not_evaluated],
        not_evaluated=not_evaluated,
    )


def _seldom(diagnoses: Sequence[Diagnosis], seen: Counter[str], most: set[str]) -> list[str]:
    findings = {finding.fingerprint: finding for each in diagnoses for finding in each.findings}
    return [
        f"{finding.rule} at {_place(finding)} in only {seen[name]} of {len(diagnoses)} runs:"
        " not counted"
        for name, finding in findings.items()
        if name not in most
    ]


def _different(diagnoses: Sequence[Diagnosis]) -> list[str]:
    return [
        f"{row.name} differs between the runs: {', '.join(_text(value) for value in row.values)}"
        for row in repeated(diagnoses)
        if row.name != "step_ms" and len(set(row.values)) > 1
    ]


def _place(finding: Finding) -> str:
    at = finding.locations[0] if finding.locations else None
    return f"{at.file}:{at.line}" if at else "the run"


def _count(diagnosis: Diagnosis, name: str) -> Count:
    return next(count for count in diagnosis.counts if count.name == name)


def _step_ms(diagnosis: Diagnosis) -> float:
    value = _count(diagnosis, "step_ms").value
    return math.inf if value is None else value


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _text(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.10g}"
