"""Each rule of the pack against evidence that must and must not trigger it.

A case is a file ``<rule>/<name>.yaml``: ``case`` (what the program does), ``tables`` (rows with the
columns that matter), and ``expect``: all findings in order, each with the values that matter, or
``not_evaluated`` with the reason. A row with ``rows: N`` stands for N rows, numbered i from 0, in
which ``{from: a, by: b}`` is a + b · i; with ``text`` it is that number in the text's braces. What
a row leaves out is as in :data:`DEFAULTS`. ``graphs`` are compiled modules: ``hash``, ``inputs``,
``instructions`` as :mod:`tests.causes.graphs` writes them, and columns of ``hlo_module``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.causes.graphs import tables_of
from tests.support import Row, complete, step
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.interface import Diagnosis, Finding
from xladoctor.diagnosis.pack import load_rules
from xladoctor.evidence.schema import TABLES

HERE = Path(__file__).parent
CASES = sorted(HERE.glob("XD*/*.yaml"))
RULES = load_rules()
BASE: Row = {"process": 0, "thread": 1, "file": "train.py", "function": "train", "via": ""}
SYNC = "user torch_xla.sync"
DEFAULTS: dict[str, Row] = {
    "step": {"input_ns": 0, **step(0), "file": "train.py"},
    "step_period": {},
    "host_sync": {"tail": False, "closure": False, "count": 1, "duration_ns": 0, "compile_ns": 0},
    "compilation": {"line": 40, "cause": SYNC, "inputs": 2, "outputs": 1},
    "transfer": {"direction": "to_device"},
    "fallback": {"count": 1, "duration_ns": 0, "compile_ns": 0},
    "fallback_count": {"tail": False},
    "environment": {"file": None, "function": None, "set_by": "environment"},
}


def table(name: str, given: list[Row]) -> list[Row]:
    """The rows of a table, written out."""
    known = TABLES[name].columns
    base = {key: value for key, value in BASE.items() if key in known}
    return [row for pattern in given for row in repeated({**base, **DEFAULTS.get(name, {}),
                                                          **pattern})]  # fmt: skip


def repeated(pattern: Row) -> list[Row]:
    count = pattern.pop("rows", 1)
    return [{key: at(value, i) for key, value in pattern.items()} for i in range(count)]


def at(value: Any, i: int) -> Any:
    if isinstance(value, list):
        return [at(item, i) for item in value]
    if isinstance(value, dict):
        number = value["from"] + value.get("by", 1) * i
        return value.get("text", "{}").format(number) if "text" in value else number
    return value


def diagnosis_of(case: dict[str, Any]) -> Diagnosis:
    tables = {name: table(name, given) for name, given in case["tables"].items()}
    if "graphs" in case:
        modules = [module for pattern in case["graphs"] for module in repeated(dict(pattern))]
        tables |= tables_of(modules)
    return diagnose(complete(tables), RULES)


def shown(finding: Finding, wanted: Row) -> Row:
    """The values of a finding that a case names."""
    place = finding.locations[0] if finding.locations else None
    flat: Row = {
        "rule": finding.rule, "severity": finding.severity, "count": finding.count,
        "file": place and place.file, "line": place and place.line,
        "per_step": finding.per_step, "processes": finding.processes,
        "cost_s": finding.cost.seconds, "basis": finding.cost.basis,
        "consequences": finding.consequences,
        "related": [f"{p.role} {p.file}:{p.line}" for p in finding.locations[1:]],
        "cause": {key: finding.cause.get(key) for key in wanted.get("cause", {})},
        "message": wanted.get("message") if str(wanted.get("message")) in finding.message
        else finding.message,
    }  # fmt: skip
    return {key: flat[key] for key in wanted}


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_case(path: Path) -> None:
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    rule = path.parent.name

    diagnosis = diagnosis_of(case)

    skipped = {skip.rule: skip.reason for skip in diagnosis.not_checked}
    assert skipped.get(rule) == case.get("not_evaluated")
    wanted = [{"rule": rule, **finding} for finding in case.get("expect", [])]
    assert len(diagnosis.findings) == len(wanted), [f.message for f in diagnosis.findings]
    assert [shown(f, w) for f, w in zip(diagnosis.findings, wanted, strict=True)] == wanted


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_has_cases_of_each_kind(rule: Any) -> None:
    cases = [yaml.safe_load(path.read_text(encoding="utf-8"))
             for path in CASES if path.parent.name == rule.id]  # fmt: skip
    of_family = "recompiled(" in rule.query  # tests/evidence/test_recompiled.py has most cases
    serious = [case for case in cases
               if any(f.get("rule", rule.id) == rule.id
                      and (f["severity"] != "info" or rule.severity == "info")
                      for f in case.get("expect", []))]  # fmt: skip
    silent = [case for case in cases if "not_evaluated" not in case
              and all(f.get("rule", rule.id) != rule.id for f in case["expect"])]  # fmt: skip
    assert len(serious) >= 2
    assert len(silent) >= (1 if of_family else 2)
    assert len([case for case in cases if "not_evaluated" in case]) >= 1
    assert len(cases) >= (4 if of_family else 6)
    assert all(len(case["case"]) > 15 for case in cases)


def test_every_folder_is_of_a_rule() -> None:
    assert {path.parent.name for path in CASES} == {rule.id for rule in RULES}


def test_outcomes_count_each_rule_once() -> None:
    diagnosis = diagnosis_of({"tables": {"counter": [{"name": "aten::eye", "value": 1}]}})
    outcomes = diagnosis.rules
    every = outcomes.fired + outcomes.clear + outcomes.not_evaluated
    assert sorted(every) == [rule.id for rule in RULES]
    assert outcomes.clear == ["XD102", "XD401", "XD402"]
