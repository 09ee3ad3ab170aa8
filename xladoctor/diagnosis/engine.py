"""Runs the rules over the evidence and makes the diagnosis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb

from xladoctor import __version__
from xladoctor.diagnosis import devices, facts, findings, ranking
from xladoctor.diagnosis.counts import counts
from xladoctor.diagnosis.interface import (
    SCHEMA_VERSION,
    Diagnosis,
    Finding,
    NotChecked,
    RuleOutcomes,
    Tool,
)
from xladoctor.diagnosis.rule import Rule, RuleError
from xladoctor.diagnosis.savings import Savings
from xladoctor.diagnosis.suppression import suppress
from xladoctor.diagnosis.whatif import WhatIf
from xladoctor.evidence.interface import Evidence

Row = dict[str, Any]


def diagnose(
    evidence: Evidence, rules: Sequence[Rule], total_steps: int | None = None,
    off: Sequence[str] = (),
) -> Diagnosis:  # fmt: skip
    """Judge the evidence by each rule that applies to the program's frontend, in its words.

    Args:
        total_steps: length of a run to project the savings on.
        off: ids of the rules that were switched off.

    Raises:
        RuleError: a rule's query or message fails on this evidence.
    """
    database = evidence.database
    database.close_to_the_outside()
    time = facts.time_spent(evidence)
    steps = facts.steps(evidence)
    savings = Savings(WhatIf(database), time, steps, total_steps)
    raw: list[Finding] = []
    fired: list[str] = []
    clear: list[str] = []
    not_checked: list[NotChecked] = []
    for rule in filter(None, (rule.for_frontend(evidence.frontend) for rule in rules)):
        reason = _missing(rule, evidence.available) or _empty(rule, evidence)
        if reason:
            not_checked.append(NotChecked(rule.id, reason))
            continue
        rows = judge(rule, evidence)
        raw += findings.from_rows(rule, rows, evidence, time, savings)
        (fired if rows else clear).append(rule.id)
    kept, ignored = suppress(raw)
    ordered, limit = savings.in_order(ranking.ranked(kept))
    pack = {rule.id: rule for rule in rules}
    used = devices.device_use(evidence)
    lead = database.scalar("SELECT process FROM lead") or 0
    bound = savings.whatif.limited_by(lead) == "device"
    busy = max((device.busy for device in used), default=None) if bound else None
    outcomes = RuleOutcomes(fired, clear, [skipped.rule for skipped in not_checked],
                            list(off))  # fmt: skip
    return Diagnosis(
        schema_version=SCHEMA_VERSION, tool=Tool("xladoctor", __version__),
        run=facts.run(evidence),
        verdict=facts.verdict(time, ordered, pack, bool(fired or clear), limit, busy),
        time=time, steps=steps,
        devices=used, counts=counts(evidence, steps), findings=ordered, rules=outcomes,
        not_checked=not_checked, ignored=ignored, warnings=list(evidence.notes),
        total_steps=total_steps, pack=pack,
    )  # fmt: skip


def judge(
    rule: Rule, evidence: Evidence, thresholds: Mapping[str, float] | None = None
) -> list[Row]:
    """The rows that a rule's query gives: a finding each, not yet merged.

    Args:
        thresholds: take the place of the rule's own of the same name.

    Raises:
        RuleError: the query fails on this evidence.
    """
    try:
        return evidence.database.rows(rule.query, rule.parameters(thresholds or {}))
    except duckdb.Error as error:
        raise RuleError(f"{rule.id}: its query failed: {error}") from error


def _missing(rule: Rule, available: Iterable[str]) -> str | None:
    """The rule's own sentence for the first need that the evidence does not meet.

    A need is a table, or several joined by ``|`` of which one is enough.
    """
    absent = [need for need in rule.needs if not set(need.split("|")) & set(available)]
    return rule.not_evaluated[absent[0]] if absent else None


def _empty(rule: Rule, evidence: Evidence) -> str | None:
    """The rule's own sentence for the first table or view that has no row but has to."""
    for name, sentence in rule.needs_rows.items():
        if not evidence.database.scalar(f'SELECT EXISTS (SELECT 1 FROM "{name}")'):  # noqa: S608
            return sentence
    return None
