"""Makes findings from rows, with a rule's texts or, for what no rule reports, with others."""

from __future__ import annotations

from xladoctor.diagnosis.finding import Cost, Finding, Saving
from xladoctor.diagnosis.findings import from_rows, located
from xladoctor.diagnosis.interface import TimeSpent
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.rule import Events, Rule
from xladoctor.diagnosis.savings import Savings
from xladoctor.diagnosis.whatif import WhatIf
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.row import Row


class FindingBuilder:
    """Makes findings from evidence, which has the text of their lines."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        of_frontend = (rule.for_frontend(evidence.frontend) for rule in load_rules())
        self.rules = [rule for rule in of_frontend if rule]

    def rules_on(self, events: Events) -> list[Rule]:
        """The rules whose findings count these events."""
        return [rule for rule in self.rules if rule.events == events]

    def rule_for(self, kind: str) -> Rule:
        """The rule on recompilation by this cause, else the rule on unknown causes."""
        by_cause = {cause: rule for rule in self.rules for cause in rule.causes}
        return by_cause.get(kind) or by_cause["unknown"]

    def from_rule(self, rule: Rule, row: Row) -> Finding:
        """A finding with the rule's texts, without its cost; the row is like one of its query."""
        row = {"process": 0, "per_step": None, "user_file": None, **row, "claim": None}
        untimed = TimeSpent(None, None, None, None)
        savings = Savings(WhatIf(self.evidence.database), untimed, None)
        (finding,) = from_rows(rule, [row], self.evidence, untimed, savings)
        return finding

    def without_rule(self, title: str, row: Row, message: str, fix: str, rule: str = "") -> Finding:
        """A finding with the given texts; the row has the lines and the count."""
        return Finding(
            rule=rule,
            name="",
            severity="info",
            severity_by_counts="info",
            title=title,
            locations=located(row, self.evidence),
            count=row["count"],
            per_step=None,
            processes=["0"],
            cost=Cost(None, None, "none"),
            saving=Saving(None, None, None, "none"),
            cause={},
            consequences=[],
            message=" ".join(message.split()),
            why="",
            fix=fix,
            example="",
            fingerprint="",
        )
