"""Each rule of the pack against evidence that must and must not trigger it.

A case is a file ``<rule>/<name>.yaml`` in the form of docs/rule-cases.md. Its rule judges it, with
those that it expects something of; of all tests, all rules do. `make test` judges the first two of
each rule, `make test-programs` the third.
"""

from __future__ import annotations

from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import complete
from xladoctor.diagnosis.case import Case
from xladoctor.diagnosis.pack import load_rule, load_rules, pack
from xladoctor.diagnosis.rule_file import read_rule
from xladoctor.rule_cases.judge import judge, judged_by

HERE = Path(__file__).parent
CASES = sorted(HERE.glob("XD*/*.yaml"))
RULES = load_rules()
#: Cases of a rule that are judged each time, by the target; the others are thorough.
_FIRST, _SECOND = 2, 3


@cache
def given(path: Path) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # faster, if PyYAML has it
    return yaml.load(path.read_text(encoding="utf-8"), loader)


def _params() -> list[Any]:
    params = []
    for rule, cases in groupby(CASES, key=lambda path: path.parent.name):
        for number, path in enumerate(cases):
            marks = [pytest.mark.thorough] * (number >= _SECOND)
            marks += [pytest.mark.programs] * (number >= _FIRST)
            params.append(pytest.param(path, id=f"{rule}-{path.stem}", marks=marks))
    return params


each_case = pytest.mark.parametrize("path", _params())


@each_case
def test_case(path: Path) -> None:
    case, own = Case.model_validate(given(path)), path.parent.name
    concerned = {own, *(expected.rule or own for expected in case.expect or [])}

    outcome = judge(case, own, [rule for rule in RULES if rule.id in concerned])

    assert outcome.passed, "\n".join(outcome.difference())


@each_case
@pytest.mark.thorough
def test_case_by_all_rules(path: Path) -> None:
    outcome = judge(Case.model_validate(given(path)), path.parent.name, RULES)

    assert outcome.passed, "\n".join(outcome.difference())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_has_cases_of_each_kind(rule: Any) -> None:
    cases = [given(path) for path in CASES if path.parent.name == rule.id]
    of_family = "recompiled(" in rule.query  # tests/evidence/test_recompiled.py has most cases
    serious = [
        case
        for case in cases
        if any(
            f.get("rule", rule.id) == rule.id
            and (f.get("severity") != "info" or rule.severity == "info")
            for f in case.get("expect", [])
        )
    ]
    silent = [
        case
        for case in cases
        if "not_evaluated" not in case
        and all(f.get("rule", rule.id) != rule.id for f in case["expect"])
    ]
    assert len(serious) >= 2
    assert len(silent) >= (1 if of_family else 2)
    always = rule.applies_to.with_table in rule.needs  # wherever it applies it is evaluated
    assert always or any("not_evaluated" in case for case in cases)
    assert len(cases) >= (4 if of_family else 6)
    assert all(len(case["case"]) > 15 for case in cases)


def test_every_folder_is_of_a_rule() -> None:
    assert {path.parent.name for path in CASES} == {rule.id for rule in RULES}


@pytest.mark.parametrize(
    ("rule", "purpose"), [("XD201", "value"), ("XD202", "print"), ("XD203", "copy")]
)
def test_kinds_of_reads_tell_whose_they_are(rule: str, purpose: str) -> None:
    (reads,) = (each.reads for each in RULES if each.id == rule)
    database = complete({"host_sync": [{"process": 0, "kind": kind} for kind in reads]}).database
    assert database.rows("SELECT DISTINCT result_of(kind) AS purpose FROM host_sync") == [
        {"purpose": purpose}
    ]


def test_outcomes_count_each_rule_once() -> None:
    counted = {"counter": [{"name": "aten::eye", "value": 1}]}
    outcomes = judged_by(Case(case="A counter.", tables=counted, expect=[]), RULES).outcomes
    every = outcomes.fired + outcomes.clear + outcomes.not_evaluated
    applying = [rule for rule in RULES if rule.applies_to.to(["counter"])]
    assert sorted(every) == [
        rule.id for rule in applying if "torch_xla" in rule.applies_to.frontends
    ]
    assert outcomes.clear == ["XD102", "XD401", "XD402"]


def test_the_pack_has_no_faults_and_reads_as_rules_of_others_do() -> None:
    for path in sorted(pack().glob("*.yaml")):
        read = read_rule(path)
        assert read.faults == []
        assert read.value.model_dump() == load_rule(path, foreign=False).model_dump()
