"""The gate's decision on one program: pure, from the diagnosis and what the project set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from difflib import get_close_matches
from pathlib import PurePath
from typing import Literal

from xladoctor.configuration.interface import Configuration, Level
from xladoctor.configuration.selection import level_of
from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.ranking import reaches
from xladoctor.diagnosis.rule import Rule, Severity
from xladoctor.gate import baseline as baselines
from xladoctor.gate import budgets
from xladoctor.gate.acknowledged import Acknowledged
from xladoctor.gate.interface import (
    BudgetOutcome,
    GateError,
    GateOutcome,
    Judgement,
    Missing,
    Repeated,
)
from xladoctor.gate.seen import unseen
from xladoctor.gate.shardings import CHANGES, against
from xladoctor.quantities import first_few
from xladoctor.repository import matches


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms on which a program is judged.

    Attributes:
        by_time: ids of the rules that judge by time.
        baseline: the known findings of this program; None if it is not in the baseline.
        baseline_path: the baseline's file.
        today: the day on which acknowledgements must hold.
        alone: whether the project has no other program, as far as is known.
    """

    script: str
    settings: Configuration
    by_time: frozenset[str]
    baseline: baselines.Script | None
    baseline_path: str
    acknowledged: Acknowledged
    today: date
    runs: Sequence[Repeated] = field(default=())
    alone: bool = False

    def level(self, rule: str) -> Level | None:
        """The rule's level, if it has one."""
        return level_of(rule, self.settings.levels)

    def judges(self, rule: str) -> bool:
        """Whether the rule is judged; rules that judge by time are only on request."""
        by_time_too = self.settings.gate.time or self.level(rule) == "error"
        return by_time_too or rule not in self.by_time

    def severity(self, finding: Finding) -> Severity:
        """A finding's severity: by counts, unless its rule judges by time."""
        return finding.severity if finding.rule in self.by_time else finding.severity_by_counts

    def fails(self, finding: Finding) -> bool:
        """Whether a finding would fail the gate if it were new."""
        return self._fails(finding.rule, self.severity(finding))

    def could_fail(self, rule: Rule) -> bool:
        """Whether a finding of the rule can fail the gate."""
        return self._fails(rule.id, rule.severity)

    def _fails(self, rule: str, severity: Severity) -> bool:
        level = self.level(rule)
        if level in ("info", "warning") or not self.judges(rule):
            return False
        return level == "error" or reaches(severity, self.settings.gate.fail_on)


def judge(diagnosis: Diagnosis, terms: Terms) -> GateOutcome:
    """Decide whether a program passes the gate.

    Raises:
        GateError: no rule is judged and there is no budget, so nothing could ever fail.
    """
    limits = budgets.limits(terms.settings.gate, terms.script)
    golden = terms.baseline.shardings if terms.baseline else None
    limits = limits if golden is None else {CHANGES: 0.0, **limits}
    held, others = against(golden, diagnosis)
    outcomes = diagnosis.rules
    rules = [*outcomes.fired, *outcomes.clear, *outcomes.not_evaluated]
    if not limits and not any(map(terms.judges, rules)):
        raise GateError(
            f"{terms.script}: nothing to judge: no selected rule depends on"
            " counts, and there is no budget",
            "see select, ignore and levels in the"
            " configuration and on the command line; --time judges times too",
        )
    known = baselines.known(terms.baseline, diagnosis)
    judgements = [_judgement(finding, known, diagnosis, terms) for finding in diagnosis.findings]
    kept = [_accepted(budget, terms) for budget in budgets.kept(held, limits)]
    missing = _missing(diagnosis, kept, terms)
    failed = any(judgement.fails for judgement in judgements) or any(
        budget.state == "over" for budget in kept
    )
    status: Literal["passed", "failed", "missing"] = "passed"
    if failed:
        status = "failed"
    elif missing and not terms.settings.gate.allow_missing:
        status = "missing"
    return GateOutcome(
        status=status,
        script=terms.script,
        fail_on=terms.settings.gate.fail_on,
        baseline=terms.baseline_path if terms.baseline else None,
        judgements=judgements,
        budgets=kept,
        missing=missing,
        gone=baselines.stale_entries(terms.baseline, diagnosis),
        notes=[*others, *_notes(diagnosis, known, kept, terms)],
        runs=list(terms.runs),
        acknowledged=terms.settings.gate.acknowledged,
        times=terms.settings.gate.time or any(budget.count == "step_ms" for budget in kept),
    )


def entries(diagnosis: Diagnosis, terms: Terms) -> list[baselines.BaselineEntry]:
    """The entries of a new baseline: findings that would fail and are not acknowledged."""
    known = baselines.known(terms.baseline, diagnosis)
    return [
        baselines.entry(finding, terms.severity(finding), diagnosis.run)
        for finding in diagnosis.findings
        if terms.fails(finding) and _acceptance(_names(finding, known), terms) is None
    ]


def _judgement(
    finding: Finding,
    known: Mapping[str, baselines.BaselineEntry],
    diagnosis: Diagnosis,
    terms: Terms,
) -> Judgement:
    before = known.get(finding.fingerprint)
    made = Judgement(
        finding.fingerprint,
        finding.rule,
        fails=False,
        state="tolerated",
        reason="",
        known_as=_known_as(before, diagnosis),
    )
    if not terms.judges(finding.rule):
        return replace(made, state="not_judged", reason="judged by time; use --time to include it")
    if not terms.fails(finding):
        return replace(made, reason=_why_tolerated(finding, terms))
    accepted = _acceptance(_names(finding, known), terms)
    if accepted is not None:
        return replace(made, state="acknowledged", reason=accepted)
    if before is None:
        return replace(made, state="new", fails=True, reason=_why_new(finding, terms))
    return _against(before, finding, diagnosis, terms, made)


def _names(finding: Finding, known: Mapping[str, baselines.BaselineEntry]) -> list[str]:
    """The finding's fingerprint, and its fingerprint in the baseline."""
    before = known.get(finding.fingerprint)
    return [finding.fingerprint, *([before.fingerprint] if before else [])]


def _known_as(before: baselines.BaselineEntry | None, diagnosis: Diagnosis) -> str | None:
    """The finding's fingerprint in the baseline, unless another finding has it now."""
    taken = {other.fingerprint for other in diagnosis.findings}
    return before.fingerprint if before and before.fingerprint not in taken else None


def _against(
    known: baselines.BaselineEntry,
    finding: Finding,
    diagnosis: Diagnosis,
    terms: Terms,
    made: Judgement,
) -> Judgement:
    steps = diagnosis.steps.count if diagnosis.steps else None
    before = terms.baseline.steps if terms.baseline else None
    severity = terms.severity(finding)
    if not reaches(known.severity, severity):
        return replace(
            made, state="worse", fails=True, reason=f"{severity}, in the baseline {known.severity}"
        )
    of = "" if before in (None, steps) else f" in {before} step{'s' * (before != 1)}"
    was = f"{_times(known.count)}{of}"
    if baselines.is_more(finding, known, steps, before):
        return replace(
            made,
            state="worse",
            fails=True,
            reason=f"{_times(finding.count)}, in the baseline {was}",
        )
    less = known.count > finding.count and before == steps
    as_was = _as_was(known, baselines.entry(finding, severity, diagnosis.run))
    return replace(made, state="known", reason=f"in the baseline{as_was}{f', there {was}' * less}")


def _as_was(known: baselines.BaselineEntry, now: baselines.BaselineEntry) -> str:
    """A text on the code, file or function in the baseline, if it differs."""
    if known.fingerprint == now.fingerprint:
        return ""
    pairs = ((known.code, now.code), (known.file, now.file), (known.function, now.function))
    return next((f" as {before}" for before, after in pairs if before and before != after), "")


def _why_tolerated(finding: Finding, terms: Terms) -> str:
    if (level := terms.level(finding.rule)) in ("info", "warning"):
        return f"its level is {level}"
    fail_on = terms.settings.gate.fail_on
    return "nothing fails" if fail_on == "never" else f"{terms.severity(finding)}, below {fail_on}"


def _why_new(finding: Finding, terms: Terms) -> str:
    where = "not in the baseline" if terms.baseline else terms.severity(finding)
    return f"{where}; its level is error" if terms.level(finding.rule) == "error" else where


def _acceptance(names: Sequence[str], terms: Terms) -> str | None:
    """The text of a valid acknowledgement of one of these fingerprints; None without one."""
    accepted = [
        terms.acknowledged.findings[name] for name in names if name in terms.acknowledged.findings
    ]
    valid = [each for each in accepted if not each.expired(terms.today)]
    return f"{valid[0].reason}; until {valid[0].expires}" if valid else None


def _accepted(outcome: BudgetOutcome, terms: Terms) -> BudgetOutcome:
    accepted = terms.acknowledged.overrun(terms.script, outcome.name)
    if outcome.state != "over" or accepted is None or accepted.expired(terms.today):
        return outcome
    if outcome.found is not None and outcome.found > accepted.up_to:
        return replace(outcome, reason=f"acknowledged up to {accepted.up_to:g} only")
    reason = f"{accepted.reason}; up to {accepted.up_to:g}, until {accepted.expires}"
    return replace(outcome, state="acknowledged", reason=reason)


def _missing(diagnosis: Diagnosis, kept: Sequence[BudgetOutcome], terms: Terms) -> list[Missing]:
    rules = [
        Missing(skipped.rule, skipped.reason)
        for skipped in diagnosis.not_checked
        if terms.could_fail(diagnosis.pack[skipped.rule])
    ]
    unknown = [Missing(budget.name, budget.reason) for budget in kept if budget.state == "unknown"]
    return [*unseen(diagnosis), *rules, *unknown]


def _notes(
    diagnosis: Diagnosis,
    known: Mapping[str, baselines.BaselineEntry],
    kept: Sequence[BudgetOutcome],
    terms: Terms,
) -> list[str]:
    """Budgets for other programs only; acknowledgements that have expired, or match nothing."""
    by_hand, globs = terms.acknowledged, terms.settings.gate.scripts
    meant = [glob for glob in globs if _alike(glob, terms.script)]
    of_others = meant and not any(matches(glob, terms.script) for glob in globs)
    names = [
        name for finding in diagnosis.findings for name in dict.fromkeys(_names(finding, known))
    ]
    findings = [(name, by_hand.findings.get(name)) for name in names]
    over = [
        (budget.name, by_hand.overrun(terms.script, budget.name))
        for budget in kept
        if budget.state == "over"
    ]
    expired = [
        f"the acknowledgement of {name} expired on {accepted.expires}: {accepted.reason}"
        for name, accepted in (*findings, *over)
        if accepted and accepted.expired(terms.today)
    ]
    others = [f"the budgets for {', '.join(meant)} do not apply to this program"] * bool(of_others)
    unused = sorted({*by_hand.findings} - {*names}) if terms.alone else []
    gone = f"acknowledged, but not found: {first_few(unused)}; fixed, or of another program"
    return [*others, *expired, *[gone] * bool(unused)]


def _alike(glob: str, script: str) -> bool:
    """Whether their last parts are nearly equal: a typo, or the wrong folder."""
    return bool(get_close_matches(PurePath(script).name, [PurePath(glob).name], cutoff=0.8))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
