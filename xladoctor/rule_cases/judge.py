"""Judges a case: compares what its rule finds in the evidence with what the case expects.

Rows of a case may leave out what has a default; docs/rule-cases.md has these as a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import ndiff
from typing import Any

import duckdb
import yaml

from xladoctor.diagnosis.case import Case
from xladoctor.diagnosis.engine import RuleResults, judge_all
from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.rule import Rule
from xladoctor.evidence.row import Row
from xladoctor.evidence.schema import TABLES
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.rule_cases.evidence import CaseError, complete
from xladoctor.rule_cases.graphs import tables_of

#: The values shown of a finding that no case expects.
_TELLING = ("rule", "severity", "file", "line", "count", "message")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case expects, and what was found, as rows; matching rows have the same keys."""

    wanted: list[Row]
    found: list[Row]

    @property
    def passed(self) -> bool:
        """Whether they are the same."""
        return self.wanted == self.found

    def difference(self) -> list[str]:
        """Lines: ``-`` what was expected, ``+`` what was found, two blanks for both."""
        lines = ndiff(_lines(self.wanted), _lines(self.found))
        return [line for line in lines if not line.startswith("?")]


def judge(case: Case, rule: str, rules: Sequence[Rule]) -> Outcome:
    """Judge a case of a rule by some rules; what it expects of other rules is left out.

    Raises:
        CaseError: its evidence cannot be made.
        RuleError: a rule's query or message fails on it.
    """
    judged = judged_by(case, rules)
    known = {each.id for each in rules}
    expected = [expect.model_dump(exclude_unset=True) for expect in case.expect or []]
    wanted = [row for row in ({"rule": rule, **row} for row in expected) if row["rule"] in known]
    skipped = [skip.reason for skip in judged.not_checked if skip.rule == rule]
    reasons = [case.not_evaluated] if case.not_evaluated is not None else []
    beside = [*wanted, *({} for _ in judged.findings[len(wanted) :])]
    found = [shown(finding, row) for finding, row in zip(judged.findings, beside, strict=False)]
    return Outcome([*_reasons(reasons), *wanted], [*_reasons(skipped), *found])


def judged_by(case: Case, rules: Sequence[Rule]) -> RuleResults:
    """The results of rules on a case. Raises CaseError, RuleError."""
    tables = {name: list(_table(name, given)) for name, given in case.tables.items()}
    if case.graphs:
        tables |= tables_of([graph for given in case.graphs for graph in repeated(given)])
    try:
        evidence = complete(tables, frontend=case.frontend)
    except (duckdb.Error, ValueError, TypeError, OverflowError) as error:
        raise CaseError(
            f"its tables cannot be filled: {str(error).splitlines()[0]}",
            "`xladoctor query --schema TABLE` shows the types of the columns",
        ) from error
    return judge_all(evidence, rules)


def _table(name: str, given: Sequence[Row]) -> Iterator[Row]:
    for row in given:
        yield from repeated({**defaults(name), **row})


def repeated(row: Row) -> list[Row]:
    """The rows that a row with ``rows: N`` stands for."""
    pattern = dict(row)
    count = pattern.pop("rows", 1)
    varying = {key: value for key, value in pattern.items() if isinstance(value, (list, dict))}
    return [
        {**pattern, **{key: _at(value, i) for key, value in varying.items()}} for i in range(count)
    ]


def _at(value: Any, i: int) -> Any:
    if isinstance(value, list):
        return [_at(item, i) for item in value]
    if isinstance(value, dict):
        number = value["from"] + value.get("by", 1) * i
        return value["text"].format(number) if "text" in value else number
    return value


def shown(finding: Finding, wanted: Row) -> Row:
    """The values of a finding that a case names; if it names none, the identifying ones."""
    place = finding.locations[0] if finding.locations else None
    message, fix = str(wanted.get("message")), str(wanted.get("fix"))
    flat: Row = {
        "rule": finding.rule,
        "severity": finding.severity,
        "count": finding.count,
        "file": place and place.file,
        "line": place and place.line,
        "per_step": finding.per_step,
        "processes": finding.processes,
        "cost_s": finding.cost.seconds,
        "basis": finding.cost.basis,
        "consequences": finding.consequences,
        "related": [f"{p.role} {p.file}:{p.line}" for p in finding.locations[1:]],
        "cause": {key: finding.cause.get(key) for key in wanted.get("cause") or {}},
        "message": message if message in finding.message else finding.message,
        "fix": fix if fix in finding.fix else finding.fix,
    }
    return {key: flat[key] for key in wanted or _TELLING}


def _reasons(reasons: Sequence[str]) -> list[Row]:
    return [{"not_evaluated": reason} for reason in reasons]


def _lines(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return ["nothing"]
    text: str = yaml.safe_dump(list(rows), sort_keys=False, allow_unicode=True, width=90)
    return text.splitlines()


#: Defaults of any table that has the column.
BASE: Row = {"process": 0, "thread": 1, "file": "train.py", "function": "train", "via": ""}
#: Further defaults by table; other columns are unknown (NULL). A step is 1 ms of the main thread
#: and ends with a barrier at train.py:40.
DEFAULTS: dict[str, Row] = {
    "step": {
        "main": True,
        "tail": False,
        "index": 0,
        "barriers": 1,
        "ordinal": 0,
        "duration_ns": 1_000_000,
        "compile_ns": 0,
        "read_ns": 0,
        "input_ns": 0,
        "barrier_ns": 0,
        "upload_ns": 0,
        "executions": 1,
        "compilations": 0,
        "optimizer_steps": 1,
        "log_offset": 0,
        "traced": False,
        "probed": False,
        "line": 40,
    },
    "host_sync": {"tail": False, "closure": False, "count": 1, "duration_ns": 0, "compile_ns": 0},
    "compilation": {
        "line": 40,
        "cause": f"user {vocabulary().words.get('barrier', 'barrier')}",
        "inputs": 2,
        "outputs": 1,
    },
    "transfer": {"direction": "to_device"},
    "fallback": {"count": 1, "duration_ns": 0, "compile_ns": 0},
    "fallback_count": {"tail": False},
    "pod_process": {"shift": 0, "offset_ns": 0, "aligned_by": "collectives"},
    "environment": {"file": None, "function": None, "set_by": "environment"},
}


def defaults(table: str) -> Row:
    """The values of a table's columns that a row of a case may leave out."""
    base = {key: value for key, value in BASE.items() if key in TABLES[table].columns}
    return {**base, **DEFAULTS.get(table, {})}
