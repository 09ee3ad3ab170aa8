"""The gate's decision on a terminal: the verdict, budgets, what is missing, what was let pass."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Literal

from rich.console import Group, RenderableType
from rich.text import Text

from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.interface import Consumer, Diagnosis
from xladoctor.foreign import quoted
from xladoctor.gate.interface import BudgetOutcome, GateOutcome, Judgement, Repeated
from xladoctor.gate.shardings import CHANGES
from xladoctor.report.interface import Report, Style
from xladoctor.report.levels import judgements
from xladoctor.report.text import inset, plain, styled
from xladoctor.report.words import COUNTS, STATES, amount, number
from xladoctor.repository import spot

_VERDICTS: dict[str, tuple[str, str]] = {
    "passed": ("Gate passed", "bold green"),
    "failed": ("Gate failed", "bold red"),
    "missing": ("Gate cannot judge", "bold yellow"),
}
#: A script for a shell that is one command, with nothing in it that the shell does.
_SIMPLE = re.compile(r"[\w.,:/@%+-]+(?: [\w.,:/@%+=-]+)*")


#: Counts of which there is a number, with their unit after the noun.
_COUNTABLE = {
    "compilations_after_warmup",
    "cache_misses",
    "graphs_too_large",
    "host_syncs_per_step",
    "fallbacks_per_step",
    "barriers_per_step",
    "sharding_changes",
}


def failing(report: Report) -> list[Finding]:
    """The findings that fail, in rank order."""
    return [finding for finding, made in _judged(report) if made.fails]


def decisive(report: Report) -> list[Finding]:
    """The findings that fail, or explain what exceeds a budget, in rank order."""
    named = {each.fingerprint for each in (*failing(report), *_explaining_all(report))}
    return [finding for finding, _ in _judged(report) if finding.fingerprint in named]


def explaining(budget: BudgetOutcome, diagnosis: Diagnosis) -> list[Finding]:
    """The findings about what a budget counts, at the lines that contribute to it."""
    lines = {(at.file, at.line) for each in budget.consumers if (at := each.location)}
    return [
        finding
        for finding in diagnosis.findings
        if (rule := diagnosis.pack.get(finding.rule))
        and rule.events
        and budget.count.startswith(rule.events)
        and any((at.file, at.line) in lines for at in finding.locations)
    ]


def _explaining_all(report: Report) -> list[Finding]:
    """The same for all budgets that are exceeded."""
    over = report.outcome.over if report.outcome else ()
    return [finding for budget in over for finding in explaining(budget, report.diagnosis)]


def shows_times(report: Report) -> bool:
    """Whether times matter: a gate that goes by counts says nothing of them."""
    return report.outcome is None or report.outcome.times


def headline(report: Report) -> str:
    """The verdict; of a gate what decided, and where the cure is."""
    outcome = report.outcome
    if outcome is None:
        return report.diagnosis.verdict.text
    reasons = [_exceeded(budget) for budget in outcome.over]
    if findings := _findings_failing(outcome):
        failed = [f"{finding.rule}{_at(finding)}" for finding in failing(report)]
        first = [f"{'first ' * (len(failed) > 1)}{each}" for each in failed[:1]]
        reasons.append(", ".join([findings, *first]))
    said = f"{_VERDICTS[outcome.status][0]}: {'; '.join(reasons) or summary(outcome)}."
    cures = [f"{finding.rule}{_at(finding)}" for finding in _explaining_all(report)]
    if cures and cures[0] not in said:
        said += f" For the fix, see {cures[0]}."
    return f"{said} {report.diagnosis.verdict.text}" if outcome.times else said


def _at(finding: Finding) -> str:
    return "".join(f" at {place.file}:{place.line}" for place in finding.locations[:1])


def _exceeded(budget: BudgetOutcome) -> str:
    noun, unit = COUNTS[budget.count]
    found, limit = (value or 0.0 for value in (budget.found, budget.limit))
    if budget.count in _COUNTABLE:
        return f"{number(budget.count, found)} {noun}{unit}, {number(budget.count, limit)} allowed"
    return f"{noun} {amount(budget.count, found)}, {amount(budget.count, limit)} allowed"


def passed_by(report: Report, style: Style) -> list[RenderableType]:
    """A line for each finding that is not shown in full."""
    rows: list[RenderableType] = []
    in_full = decisive(report)
    for finding, made in _judged(report):
        if finding not in in_full:
            text = f"{STATES[made.state]}  {finding.rule}{_at(finding)}: {made.reason}"
            rows.append(styled(text, style, "dim"))
    return rows


def _judged(report: Report) -> list[tuple[Finding, Judgement]]:
    made = judgements(report)
    return [
        (finding, made[finding.fingerprint])
        for finding in report.diagnosis.findings
        if finding.fingerprint in made
    ]


def decision(report: Report, outcome: GateOutcome, style: Style) -> RenderableType:
    """What decided, then budgets, and what is missing or gone."""
    rows = [*_budgets(outcome, style), *_texts(outcome, style), *_runs(outcome.runs, style)]
    said = styled(headline(report), style, _VERDICTS[outcome.status][1])
    return Group(said, *([Text(), *rows] if rows else []))


def summary(outcome: GateOutcome) -> str:
    """What decided, in one phrase."""
    parts = [_findings_failing(outcome), _number(len(outcome.over), "budget", " over")]
    parts.append(_number(len(outcome.missing), "not judged"))
    return ", ".join(filter(None, parts)) or "nothing fails"


def _findings_failing(outcome: GateOutcome) -> str:
    counts = {
        state: sum(made.fails and made.state == state for made in outcome.judgements)
        for state in ("new", "worse")
    }
    numbers = [_number(count, f"{state} finding") for state, count in counts.items() if count]
    return ", ".join(numbers)


def _number(count: int, what: str, then: str = "") -> str:
    if not count:
        return ""
    return f"{count} {what}{'s' * (count != 1 and what != 'not judged')}{then}"


def not_in_baseline(outcome: GateOutcome) -> Iterator[str]:
    """The budgets that are over: a baseline, which holds findings, does not accept them."""
    if outcome.over:
        number = _number(len(outcome.over), "budget", " still over")
        why = "as a baseline has no budgets"
        yield f"the gate will still fail, {why}: {number} in {outcome.script}"
    yield from (f"  {_measured(budget)}" for budget in outcome.over)


def _measured(budget: BudgetOutcome) -> str:
    value, allowed = amount(budget.count, budget.found), amount(budget.count, budget.limit)
    return f"{budget.name}: {COUNTS[budget.count][0]} {value}, allowed {allowed}"


def _budgets(outcome: GateOutcome, style: Style) -> Iterator[RenderableType]:
    for budget in outcome.budgets:
        text = f"budget {budget.state}  {_measured(budget)}"
        if budget.reason:
            text += f" ({budget.reason})"
        look: Literal["bold red", "dim"] = "bold red" if budget.state == "over" else "dim"
        yield styled(text, style, look)
        for consumer in budget.consumers:
            yield inset(styled(consumed(budget, consumer), style), 4)


def consumed(budget: BudgetOutcome, consumer: Consumer) -> str:
    """A line that takes part in what is over."""
    place = consumer.location
    where = f"{place.file}:{place.line}" if place else "no line known"
    code = f"  {' '.join(place.source.split())}" if place and place.source else ""
    return f"{amount(budget.count, consumer.value)}  {where}  {consumer.what}{code}"


def _texts(outcome: GateOutcome, style: Style) -> Iterator[RenderableType]:
    for missing in outcome.missing:
        yield styled(f"not judged  {missing.name}: {missing.reason}", style, "yellow")
    for gone in outcome.gone:
        where = f"  {gone.file}: {gone.code}" if gone.file else ""
        then = "no longer occurs" if gone.certain else "unknown: its rule was not judged"
        yield styled(f"gone  {gone.rule}{where}  {then}", style, "dim")
    for note in outcome.notes:
        yield styled(f"note: {note}", style, "yellow")


def _runs(runs: list[Repeated], style: Style) -> Iterator[RenderableType]:
    for repeated in runs:
        values = ", ".join(amount(repeated.name, value) for value in repeated.values)
        text = f"runs  {repeated.name}: {values}; median {amount(repeated.name, repeated.median)}"
        yield styled(text, style, "dim")


def what_to_do(report: Report, outcome: GateOutcome, style: Style) -> Iterator[RenderableType]:
    """What to do about the decision: nothing, if all passes."""
    if outcome.status == "missing":
        yield Text("to let it pass: --allow-missing", style="dim")
    failed = failing(report)
    if failed or any(budget.name == CHANGES for budget in outcome.over):
        yet = "" if outcome.baseline else " (not in a baseline yet)"
        yield _block(f"to accept the current findings{yet}:", [_update(report, style)], style)
    elif any(gone.certain for gone in outcome.gone):
        yield _block("to remove what is gone from the baseline:", [_update(report, style)], style)
    if lines := [*_findings(failed), *_overruns(outcome)]:
        yield _block(f"to accept for a while, in {outcome.acknowledged}:", lines, style)


def _update(report: Report, style: Style) -> str:
    """The command that updates the baseline: anywhere else than here, it needs a run of its own."""
    run = report.diagnosis.run
    of = f"-- {_command(run.command)}" if style.in_ci and run.command else quoted(run.path)
    return f"xladoctor gate --update-baseline {of}"


def _command(words: list[str]) -> str:
    """A command as somebody types it: without this machine's path of Python, nor a shell that runs
    only it."""
    name = PurePath(words[0]).name
    if name in ("bash", "sh") and words[-2:-1] == ["-c"] and _SIMPLE.fullmatch(words[-1]):
        return words[-1]
    return quoted(name if name.startswith("python") else words[0], *words[1:])


def _findings(findings: list[Finding]) -> Iterator[str]:
    """The lines that acknowledge findings."""
    if findings:
        yield "[findings]"
    for finding in findings:
        where = "".join(f" {spot(at.file, at.line)}" for at in finding.locations[:1])
        yield f'{finding.fingerprint} = {{reason="…", expires=YYYY-MM-DD}}  # {finding.rule}{where}'


def _overruns(outcome: GateOutcome) -> Iterator[str]:
    """The lines that acknowledge budgets that are over."""
    if outcome.over:
        yield f"[budgets.{json.dumps(outcome.script, ensure_ascii=False)}]"
    for budget in outcome.over:
        yield f'{budget.name} = {{up_to={_exact(budget.found)}, reason="…", expires=YYYY-MM-DD}}'


def _exact(value: float | None) -> str:
    """A number that is not smaller when it is read back."""
    return f"{value:.0f}" if value == round(value or 0.0) else repr(value)


def _block(what: str, lines: list[str], style: Style) -> RenderableType:
    """Lines to copy: never broken, however long."""
    copied = [
        Text(plain(f"  {line}", style), style="dim", no_wrap=True, overflow="ignore")
        for line in lines
    ]
    return Group(styled(what, style, "dim"), *copied)
