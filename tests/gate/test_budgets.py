"""Budgets: which apply to a program, and when one is over."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gate.made import accepted, configuration, counted, diagnosis, terms
from tests.support import location
from xladoctor.configuration.interface import Gate
from xladoctor.diagnosis.interface import Consumer, Count
from xladoctor.gate.budgets import limits
from xladoctor.gate.interface import BudgetOutcome, GateOutcome
from xladoctor.gate.judge import judge
from xladoctor.repository import matches

OF_OTHER_NAMES = {
    "graphs_too_large": {"must_fit": True},
    "cache_misses": {"max_compilations_second_start": 1},
}
LINES = [Consumer(location(line=line), 0.1, 4, "item") for line in range(1, 8)]


@pytest.mark.parametrize(
    ("glob", "script", "meant"),
    [
        ("train.py", "train.py", True),
        ("train.py", "src/train.py", True),
        ("src/train.py", "src/train.py", True),
        ("src/train.py", "project/src/train.py", True),  # as seen from the configuration's folder
        ("src/*.py", "src/train.py", True),
        ("*.py", "src/train.py", True),
        ("train_*.py", "src/train.py", False),
        ("rain.py", "src/train.py", False),
        ("Train.py", "src/train.py", False),
        ("src", "src/train.py", False),
        ("tests/train.py", "src/train.py", False),
        ("[st]rain.py", "train.py", True),
        ("**/train.py", "train.py", True),
        ("**/train.py", "src/lib/train.py", True),
        ("**/src/*.py", "train.py", False),
    ],
)
def test_program_is_meant_by_a_glob_of_its_path_or_of_the_end_of_it(
    glob: str, script: str, meant: bool
) -> None:
    assert matches(glob, script) is meant


def test_budgets_for_a_program_go_before_those_for_all_and_the_last_one_counts() -> None:
    gate = Gate.model_validate(
        {
            "budgets": {"max_step_ms": 1, "max_host_syncs_per_step": 1, "max_barriers_per_step": 1},
            "scripts": {
                "src/*": {"max_step_ms": 2, "max_barriers_per_step": 2},
                "train.py": {"max_step_ms": 3},
                "other.py": {"max_step_ms": 4},
            },
        }
    )
    assert limits(gate, "src/train.py") == {
        "max_step_ms": 3.0,
        "max_host_syncs_per_step": 1.0,
        "max_barriers_per_step": 2.0,
    }
    assert limits(gate, "x/other.py")["max_step_ms"] == 4.0


def judged(count: Count, limit: float, **content: Any) -> tuple[GateOutcome, BudgetOutcome]:
    budgets = {f"max_{count.name}": limit}
    diagnosed = diagnosis(counts=counted(**{count.name: count}))
    by = terms(configuration({"budgets": budgets}), acknowledged=accepted(**content))
    outcome = judge(diagnosed, by)
    (budget,) = outcome.budgets
    assert budget.name == f"max_{count.name}"
    return outcome, budget


@pytest.mark.parametrize(
    ("value", "limit", "state", "status"),
    [
        (0.0, 0, "within", "passed"),
        (0.5, 0.5, "within", "passed"),
        (0.1 + 0.2, 0.3, "within", "passed"),
        (0.5001, 0.5, "over", "failed"),
        (0.00003, 0, "over", "failed"),
        (None, 0, "unknown", "missing"),
        (None, 1e9, "unknown", "missing"),
    ],
)
def test_budget_is_kept_over_or_unknown(
    value: float | None, limit: float, state: str, status: str
) -> None:
    count = Count("host_syncs_per_step", value, "no record" if value is None else None, LINES)
    outcome, kept = judged(count, limit)
    assert (kept.state, outcome.status, kept.found) == (state, status, value)
    assert kept.consumers == (LINES[:5] if state == "over" else [])
    assert [missing.name for missing in outcome.missing] == (
        ["max_host_syncs_per_step"] if state == "unknown" else []
    )


def test_budget_that_is_kept_by_the_part_that_is_known_is_unknown() -> None:
    count = Count("peak_memory", 100.0, "of 1 graph it is not known")
    outcome, kept = judged(count, 200)
    assert (kept.state, kept.found, outcome.status) == ("unknown", 100.0, "missing")
    outcome, kept = judged(count, 50)
    assert (kept.state, outcome.status) == ("over", "failed")


@pytest.mark.parametrize("name", [count.name for count in counted()])
def test_every_count_has_a_budget(name: str) -> None:
    diagnosed = diagnosis(counts=counted(**{name: 2.0}))
    budget = OF_OTHER_NAMES.get(name) or {f"max_{name}": 1}
    outcome = judge(diagnosed, terms(configuration({"budgets": budget})))
    assert [(budget.count, budget.state) for budget in outcome.budgets] == [(name, "over")]


@pytest.mark.parametrize(
    ("up_to", "expires", "state"),
    [(1.0, "2026-05-04", "acknowledged"), (0.9, "2026-05-04", "over"), (1.0, "2026-05-03", "over")],
)
def test_overrun_is_acknowledged_up_to_a_value_and_a_day(
    up_to: float, expires: str, state: str
) -> None:
    hand = {"up_to": up_to, "reason": "until the loader is new", "expires": expires}
    outcome, kept = judged(
        Count("host_syncs_per_step", 1.0),
        0.0,
        budgets={"train.py": {"max_host_syncs_per_step": hand}},
    )
    assert kept.state == state
    assert outcome.status == ("passed" if state == "acknowledged" else "failed")
    if up_to < 1:
        assert kept.reason == "acknowledged up to 0.9 only"
    elif state == "over":
        assert outcome.notes == [
            "the acknowledgement of max_host_syncs_per_step expired on"
            " 2026-05-03: until the loader is new"
        ]
    else:
        assert kept.reason == "until the loader is new; up to 1, until 2026-05-04"


def test_overrun_of_another_program_or_budget_is_not_acknowledged_with_it() -> None:
    hand = {"up_to": 9, "reason": "because", "expires": "2030-01-01"}
    for budgets in (
        {"other.py": {"max_host_syncs_per_step": hand}},
        {"train.py": {"max_barriers_per_step": hand}},
    ):
        outcome, kept = judged(Count("host_syncs_per_step", 1.0), 0.0, budgets=budgets)
        assert (kept.state, outcome.status) == ("over", "failed")
