"""Findings from rows: in the words of a rule, or in own ones for what no rule reports."""

from __future__ import annotations

from typing import Any

from xladoctor.diagnosis import findings
from xladoctor.diagnosis.interface import Cost, Finding, Saving, TimeSpent
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.rule import Events, Rule
from xladoctor.diagnosis.savings import Savings
from xladoctor.diagnosis.whatif import WhatIf
from xladoctor.evidence.interface import Evidence

Row = dict[str, Any]
_UNTIMED = TimeSpent(None, None, None, None)  # what it costs is not asked


class Words:
    """Of one evidence, from which lines have their text."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.rules = load_rules()
        self._savings = Savings(WhatIf(evidence.database), _UNTIMED, None)

    def about(self, events: Events) -> list[Rule]:
        """The rules whose findings count these events."""
        return [rule for rule in self.rules if rule.events == events]

    def of_cause(self, kind: str) -> Rule:
        """The rule on this kind of recompilation, else the one on those of unknown cause."""
        by_cause = {cause: rule for rule in self.rules for cause in rule.causes}
        return by_cause.get(kind) or by_cause["unknown"]

    def of_rule(self, rule: Rule, row: Row) -> Finding:
        """As the rule words it; the row is as its query returns them."""
        row = {"process": 0, "per_step": None, "user_file": None, **row, "claim": None}
        (finding,) = findings.from_rows(rule, [row], self.evidence, _UNTIMED, self._savings)
        return finding

    def own(self, title: str, row: Row, message: str, fix: str, rule: str = "") -> Finding:
        """As said here; the row has the lines and the count."""
        return Finding(
            rule=rule, name="", severity="info", severity_by_counts="info", title=title,
            locations=findings.located(row, self.evidence), count=row["count"], per_step=None,
            processes=["0"], cost=Cost(None, None, "none"),
            saving=Saving(None, None, None, "none"), cause={}, consequences=[],
            message=" ".join(message.split()), why="", fix=fix, example="", fingerprint="",
        )  # fmt: skip
