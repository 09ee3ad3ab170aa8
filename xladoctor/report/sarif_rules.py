"""Rules and budgets as SARIF describes them: what each finds, why that is slow, and the fix."""

from __future__ import annotations

from typing import Any

from xladoctor.diagnosis.rule import Rule
from xladoctor.gate.interface import BudgetOutcome
from xladoctor.quantities import clipped
from xladoctor.report.interface import Report
from xladoctor.report.levels import OF_SEVERITY
from xladoctor.report.rule_page import page
from xladoctor.report.words import COUNTS, amount

_LONGEST = 1024  # characters of a full description that GitHub takes
_PROBLEM = {"error": "error", "warning": "warning", "info": "recommendation"}


def descriptors(report: Report) -> list[dict[str, Any]]:
    """Every rule that fired, was clear or could not be judged, by id, and every budget.

    Only rules that fired have their explanation and fix: platforms show these beside a result.
    """
    outcomes = report.diagnosis.rules
    outcome = {
        **dict.fromkeys(outcomes.clear, "clear"),
        **dict.fromkeys(outcomes.not_evaluated, "not evaluated"),
        **dict.fromkeys(outcomes.fired, "fired"),
    }
    pack = report.diagnosis.pack
    names = {finding.rule: finding.name for finding in report.diagnosis.findings}
    rules: list[dict[str, Any]] = [
        _described(pack[i], fired=i in names) if i in pack else {"id": i, "name": names.get(i, i)}
        for i in sorted({*outcome, *names})
    ]
    for rule in rules:
        rule.setdefault("properties", {})["outcome"] = outcome.get(rule["id"], "fired")
    return [*rules, *map(_budget, report.outcome.budgets if report.outcome else ())]


def _described(rule: Rule, *, fired: bool) -> dict[str, Any]:
    explained = {
        "fullDescription": {"text": clipped(_line(rule.why), _LONGEST)},
        "help": {"text": _help(rule), "markdown": page(rule)},
    }
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": f"{rule.title}."},
        **(explained if fired else {}),
        "defaultConfiguration": {"level": OF_SEVERITY[rule.severity]},
        "properties": {
            "precision": rule.confidence,
            "problem.severity": _PROBLEM[rule.severity],
            "tags": ["performance", rule.category],
        },
    }


def _help(rule: Rule) -> str:
    """The rule's page for viewers without Markdown."""
    example = rule.code
    code = (
        f"Before:\n\n{example.before.rstrip()}\n\nAfter:\n\n{example.after.rstrip()}\n\n"
        if example
        else ""
    )
    return (
        f"Why it is slow: {_line(rule.why)}\n\nFix: {_line(rule.fix)}\n\n{code}"
        f"When it is wrong: {_line(rule.false_positives)}\n"
    )


def _budget(budget: BudgetOutcome) -> dict[str, Any]:
    text = f"Limits {COUNTS[budget.count][0]}: at most {amount(budget.count, budget.limit)}."
    return {
        "id": budget.name,
        "name": budget.name,
        "shortDescription": {"text": f"Budget {budget.name}."},
        "fullDescription": {"text": text},
        "help": {"text": f"{text} The limit is set in the xladoctor configuration."},
        "defaultConfiguration": {"level": "error"},
        "properties": {
            "precision": "very-high",
            "problem.severity": "error",
            "tags": ["performance", "budget"],
            "outcome": budget.state,
        },
    }


def _line(text: str) -> str:
    return " ".join(text.split())
