"""The alerts for platforms: findings, exceeded budgets, and what could not be judged.

Annotations, code scanning and code quality show the same things in different forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xladoctor.diagnosis.finding import Finding, Location
from xladoctor.diagnosis.identity import digest
from xladoctor.diagnosis.interface import Consumer, Diagnosis
from xladoctor.gate.interface import BudgetOutcome, Judgement
from xladoctor.report.gate import explaining, shows_times
from xladoctor.report.interface import Report
from xladoctor.report.levels import LEVELS, Level, judgements, level
from xladoctor.report.places import path_shown, primary
from xladoctor.report.words import COUNTS, STATES, amount, cost_of, name_of, saving_of, sentence


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing to show at a line.

    Attributes:
        rule: id of the rule, or name of the budget.
        name: name of the rule, or what else it is.
        text: what was found, in sentences; without the title and the fix.
        place: the line in the repository, with its path from the root; None if there is none.
        locations: all related lines, as in the diagnosis.
        fingerprint: identity from run to run.
        program: name of the program that it is about.
        finding: the finding, if it is about one.
        judgement: the gate's judgement of the finding.
    """

    rule: str
    name: str
    level: Level
    title: str
    text: list[str]
    place: Location | None
    fingerprint: str
    program: str
    locations: list[Location] = field(default_factory=list)
    finding: Finding | None = None
    judgement: Judgement | None = None

    @property
    def said(self) -> str:
        """Title and text, as one text."""
        return " ".join([f"{self.title}.", *self.text])

    @property
    def saving_s(self) -> float:
        """What a fix saves, as far as it is known."""
        return (self.finding.saving.seconds or 0.0) if self.finding else 0.0


def all_alerts(reports: Sequence[Report]) -> list[Alert]:
    """The alerts of all programs, errors first, each level by saving; each defect only once."""
    every = [alert for report in reports for alert in (*alerts(report), *missing(report))]
    every.sort(key=lambda alert: (LEVELS.index(alert.level), -alert.saving_s))
    once: dict[str, Alert] = {}
    for alert in every:
        once.setdefault(alert.fingerprint, alert)
    return list(once.values())


def alerts(report: Report) -> list[Alert]:
    """Findings in the diagnosis' order, those that fail the gate first, then budgets."""
    judged = judgements(report)
    of_findings = [
        _of_finding(finding, judged.get(finding.fingerprint), report)
        for finding in report.diagnosis.findings
    ]
    of_findings.sort(key=lambda alert: not (alert.judgement and alert.judgement.fails))
    return [*of_findings, *_over(report)]


def missing(report: Report) -> Iterator[Alert]:
    """Requested rules and budgets that could not be judged: an error if that decided the gate."""
    outcome = report.outcome
    if outcome is None:
        return
    for missed in outcome.missing:
        yield Alert(
            missed.name,
            "missing",
            "error" if outcome.status == "missing" else "warning",
            "Could not be judged",
            [sentence(missed.reason)],
            None,
            digest("missing", missed.name, outcome.script),
            name_of(report.diagnosis.run),
        )


def _of_finding(finding: Finding, judgement: Judgement | None, report: Report) -> Alert:
    diagnosis = report.diagnosis
    text = [finding.message, *map(sentence, finding.consequences)]
    if shows_times(report):
        cost, gain = cost_of(finding, diagnosis), saving_of(finding, diagnosis)
        text += [sentence(cost)] if cost else []
        text += [f"Fixed: {gain}."] if gain else []
    decided = f"; gate: {STATES[judgement.state]}, {judgement.reason}" if judgement else ""
    text.append(f"Severity: {finding.severity}{decided}.")
    return Alert(
        finding.rule,
        finding.name,
        level(finding, judgement),
        finding.title,
        text,
        primary(finding.locations, diagnosis),
        (judgement and judgement.known_as) or finding.fingerprint,
        name_of(diagnosis.run),
        finding.locations,
        finding,
        judgement,
    )


def _over(report: Report) -> Iterator[Alert]:
    outcome = report.outcome
    if outcome is None:
        return
    for budget in outcome.budgets:
        if budget.state in ("over", "acknowledged"):
            locations = [consumer.location for consumer in budget.consumers if consumer.location]
            yield Alert(
                budget.name,
                "budget",
                "error" if budget.state == "over" else "note",
                "Budget exceeded",
                budget_text(budget, report.diagnosis),
                primary(locations, report.diagnosis),
                digest("budget", budget.name, outcome.script),
                name_of(report.diagnosis.run),
                locations,
            )


def budget_text(budget: BudgetOutcome, diagnosis: Diagnosis) -> list[str]:
    """A budget's value and limit, and the lines that contribute most, in sentences."""
    value, limit = amount(budget.count, budget.found), amount(budget.count, budget.limit)
    text = [sentence(f"{COUNTS[budget.count][0]}: {value}, at most {limit} allowed")]
    text += [sentence(budget.reason)] if budget.reason else []
    if budget.consumers:
        shown = [consumer_text(budget, consumer, diagnosis) for consumer in budget.consumers]
        text.append(f"Most of it: {', '.join(shown)}.")
    for finding in explaining(budget, diagnosis):
        text.append(f"{finding.rule}: {finding.message} Fix: {' '.join(finding.fix.split())}")
    return text


def consumer_text(budget: BudgetOutcome, consumer: Consumer, diagnosis: Diagnosis) -> str:
    """A line, what it does, and its contribution."""
    at = consumer.location
    place = f"{path_shown(at.file, diagnosis.run)}:{at.line}" if at else "an unknown line"
    return f"{place} ({consumer.what}) {amount(budget.count, consumer.value)}"
