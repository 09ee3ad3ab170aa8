"""Shardings and collectives in the baseline, and budgets of what moves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.diagnosis.test_sharding_changes import array, gather, step
from tests.gate.made import configuration, diagnosis, terms
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.sharding_use import DividedProgram
from xladoctor.gate.baseline import Baseline, Script, merged, read, write
from xladoctor.gate.interface import GateOutcome
from xladoctor.gate.judge import judge
from xladoctor.gate.shardings import CHANGES

EMPTY = Baseline(tool="xladoctor", schema_version=1)
WAS = step(gather(), array("x"))


def ran(shardings: list[DividedProgram] | None) -> Diagnosis:
    healthy = diagnosis(shardings=shardings)
    own = [count for count in healthy.counts if "shard" not in count.name]
    kept = [count for count in own if count.name != "replicated_share"]
    return replace(healthy, counts=kept)


def held(
    was: list[DividedProgram] | None, now: list[DividedProgram] | None, **budgets: Any
) -> GateOutcome:
    script = merged(EMPTY, "train.py", ran(was), []).scripts["train.py"]
    return judge(ran(now), terms(configuration({"budgets": budgets}), baseline=script))


def test_what_is_as_it_was_passes() -> None:
    outcome = held(WAS, WAS)
    assert (outcome.status, outcome.notes) == ("passed", [])
    assert [(each.name, each.state) for each in outcome.budgets] == [(CHANGES, "within")]


def test_a_larger_collective_and_another_division_fail_with_both_and_their_lines() -> None:
    outcome = held(WAS, step(gather(3000, 21), array("x", "(None, None)")))
    (budget,) = outcome.budgets
    assert (outcome.status, budget.state, budget.found) == ("failed", "over", 2.0)
    assert [(each.location and each.location.line, each.what) for each in budget.consumers] == [
        (
            21,
            "all-gather over data in step: was 1000 bytes in 4 at train.py:20, now 2.93 KiB in 4"
            " at train.py:21",
        ),
        (40, "x in step: was ('data', None), now (None, None)"),
    ]


def test_what_is_gone_or_smaller_is_only_said() -> None:
    assert held(WAS, step(gather(10), array("x"))).notes == [
        "smaller: all-gather over data in step: was 1000 bytes in 4 at train.py:20, now 10 bytes"
        " in 4 at train.py:20"
    ]
    outcome = held(WAS, [])
    assert (outcome.status, len(outcome.notes)) == ("passed", 1)
    assert outcome.notes[0].startswith("gone: ")


def test_a_run_that_does_not_show_it_cannot_be_judged() -> None:
    outcome = held(WAS, None)
    assert outcome.status == "missing"
    assert [each.name for each in outcome.missing] == [CHANGES]


def test_a_budget_allows_some_changes() -> None:
    more = step(gather(3000), array("x"))
    assert held(WAS, more).status == "failed"
    assert held(WAS, more, max_sharding_changes=1).status == "passed"


def test_without_shardings_in_the_baseline_they_are_not_judged() -> None:
    assert held(None, WAS).budgets == []
    assert judge(ran(WAS), terms(baseline=Script(steps=40, findings=[]))).budgets == []


def test_an_update_without_evidence_keeps_them(tmp_path: Path) -> None:
    known = merged(EMPTY, "train.py", ran(WAS), [])
    assert merged(known, "train.py", ran(None), []).scripts == known.scripts
    assert merged(known, "train.py", ran([]), []).scripts["train.py"].shardings is None


def test_the_file_has_them_with_a_version_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    known = merged(EMPTY, "train.py", ran(WAS), [])
    write(path, known)
    assert json.loads(path.read_text())["schema_version"] == 2
    assert read(path).scripts == known.scripts
    write(path, merged(EMPTY, "train.py", ran([]), []))
    document = json.loads(path.read_text())
    assert (document["schema_version"], list(document["scripts"]["train.py"])) == (
        1,
        ["steps", "findings"],
    )


@pytest.mark.parametrize("name", ["max_resharded_bytes_per_step", "max_replicated_share"])
def test_programs_for_one_device_keep_budgets_of_several(name: str) -> None:
    for shardings, state in (([], "within"), (None, "unknown")):
        (budget,) = held(None, shardings, **{name: 0}).budgets
        assert (budget.name, budget.state) == (name, state)
