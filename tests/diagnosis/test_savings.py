"""Savings of findings: an estimate or a bound, never more than the loop, and what remains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.support import PACK, complete, finding
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.finding import Claim, Cost, Finding, Saving
from xladoctor.diagnosis.interface import Steps, TimeSpent
from xladoctor.diagnosis.ranking import ranked
from xladoctor.diagnosis.savings import Savings
from xladoctor.diagnosis.whatif import Estimate, Fix, WhatIf
from xladoctor.evidence.database import Database

LOOP = TimeSpent(20.0, 10.0, None, 2.0)
NO_LOOP = TimeSpent(None, None, None, None)
STEPS = Steps(40, 3, 5.0)
COST = Cost(4.0, 0.5, "measured")
DEAR = Cost(100.0, 1.0, "measured")
READ = Claim("remove", "read", "train.py", 41)
FIX = Fix(3, [READ], count=40)


class KnownEstimates(WhatIf):
    """Returns given estimates, without a timeline."""

    def __init__(
        self,
        predicted: Estimate | None = None,
        step_s: float | None = 0.2,
        remaining: Sequence[float | None] = (),
    ) -> None:
        super().__init__(Database())
        self.predicted, self.of_step, self.remaining = predicted, step_s, list(remaining)
        self.asked: list[Fix | None] = []

    def estimate(self, fix: Fix) -> Estimate | None:
        return self.predicted

    def step_s(self, process: int) -> float | None:
        return self.of_step

    def in_order(self, fixes: Sequence[Fix | None]) -> tuple[list[float | None], str | None]:
        self.asked = list(fixes)
        return self.remaining, "device"


def savings(
    whatif: WhatIf,
    time: TimeSpent = LOOP,
    steps: Steps | None = STEPS,
    total_steps: int | None = None,
) -> Savings:
    return Savings(whatif, time, steps, total_steps)


def estimated(
    steady: float = 1.0,
    late: float = 0.0,
    warmup: float = 0.0,
    *,
    fix: Fix = FIX,
    step_s: float | None = 0.2,
    cost: Cost = DEAR,
    **options: Any,
) -> Saving:
    whatif = KnownEstimates(Estimate(steady, late, warmup, "input"), step_s)
    return savings(whatif, **options).saving(cost, fix)


# One finding


def test_estimate_says_what_a_step_takes_now_and_after() -> None:
    assert estimated(1.0, 2.0, 1.0) == Saving(
        seconds=4.0,
        per_step_ms=100.0,
        share=0.2,
        basis="estimate",
        now_ms=200.0,
        after_ms=125.0,  # compiling in warm-up is not part of a step
        limited_by="input",
        next_1000_s=75.0,
        process=3,
        assumes=[READ],
    )


def test_fix_gives_back_no_more_than_the_loop_and_no_less_than_nothing() -> None:
    most = estimated(99.0)
    assert (most.seconds, most.share, most.after_ms) == (10.0, 0.5, 0.0)
    least = estimated(-1.0)
    assert (least.seconds, least.share) == (0.0, 0.0)


def test_fix_gives_back_no_more_than_the_defect_costs() -> None:
    capped = estimated(4.0, 2.0, 2.0, cost=COST)
    assert (capped.seconds, capped.after_ms) == (4.0, 125.0)  # of 8 s, 6 s of them of steps
    assert estimated(4.0, 2.0, 2.0, cost=replace(COST, basis="least")).seconds == 8.0


def test_what_is_over_loses_nothing_more() -> None:
    over = Fix(3, [READ], 40, settled=True)
    kept = savings(KnownEstimates(Estimate(1.0, 2.0, 1.0, "input"), 0.2))
    assert kept.saving(COST, over).next_1000_s == 25.0  # of the steady state alone
    assert savings(KnownEstimates()).saving(COST, over).next_1000_s == 0.0


def test_estimate_without_a_loop_has_no_share() -> None:
    saving = estimated(99.0, time=NO_LOOP)
    assert (saving.seconds, saving.share, saving.basis) == (99.0, None, "estimate")


def test_estimate_without_steps_is_of_the_run_alone() -> None:
    saving = estimated(1.0, step_s=None, steps=None, total_steps=100)
    assert saving.seconds == 1.0
    assert (saving.per_step_ms, saving.now_ms, saving.after_ms) == (None, None, None)
    assert saving.projected_s is None


def test_without_an_estimate_the_cost_is_a_bound() -> None:
    bound = Saving(4.0, 100.0, 0.5, "bound", next_1000_s=100.0, assumes=list(FIX.claims))
    assert savings(KnownEstimates()).saving(COST, FIX) == bound
    unclaimed = savings(KnownEstimates(Estimate(1.0, 0.0, 0.0, "input"))).saving(
        COST, Fix(0, [], 40)
    )
    assert unclaimed == replace(bound, assumes=[])


def test_estimated_cost_of_a_rule_that_claims_nothing_is_an_estimate_of_the_saving() -> None:
    about = replace(COST, basis="estimate")
    saving = savings(KnownEstimates()).saving(about, Fix(0, [], 40))
    assert (saving.seconds, saving.basis) == (4.0, "estimate")
    assert (saving.now_ms, saving.after_ms, saving.process) == (200.0, 100.0, None)
    assert savings(KnownEstimates()).saving(about, FIX).basis == "bound"  # it could be replayed


@pytest.mark.parametrize("cost", [Cost(None, None, "none"), Cost(4.0, 0.5, "least")])
def test_without_a_whole_cost_there_is_no_saving(cost: Cost) -> None:
    assert savings(KnownEstimates()).saving(cost, FIX) == Saving(None, None, None, "none")


def test_findings_without_a_saving_come_last_by_count() -> None:
    unknown = [finding(count=count, saving=Saving(None, None, None, "none")) for count in (7, 90)]
    least = finding(count=1, saving=Saving(0.1, 1.0, 0.01, "estimate"))
    assert [each.count for each in ranked([*unknown, least])] == [1, 90, 7]


# A longer run


def test_one_compilation_is_no_rate() -> None:
    kept = savings(KnownEstimates(Estimate(0.0, 2.0, 0.0, "input")))
    once = Fix(3, [READ], 1)
    assert kept.saving(COST, once).next_1000_s is None
    assert kept.saving(COST, replace(once, count=2)).next_1000_s is not None
    assert kept.saving(COST, replace(once, settled=True)).next_1000_s is not None


def test_saving_is_projected_on_a_longer_run() -> None:
    assert estimated(1.0, 2.0, 4.0).projected_s is None
    assert estimated(1.0, 2.0, 4.0, total_steps=400).projected_s == 10 + 20 + 4


@pytest.mark.parametrize(
    ("fields", "late"),
    [
        ({"settled": True}, 2.0),
        ({"at_most": 120}, 6.0),
        ({"at_most": 40}, 2.0),
        ({"at_most": 10**6}, 20.0),
        ({"settled": True, "at_most": 120}, 2.0),
    ],
    ids=str,
)
def test_projected_compiling_ends_where_the_graphs_do(fields: dict[str, Any], late: float) -> None:
    saving = estimated(0.0, 2.0, fix=Fix(3, [READ], count=40, **fields), total_steps=400)
    assert saving.projected_s == late


def test_projected_saving_is_not_below_nothing() -> None:
    assert estimated(-1.0, total_steps=400).projected_s == 0.0


# All findings in order


def saves(seconds: float | None, process: int | None = 3) -> Finding:
    assumed = [] if process is None else [READ]
    return finding(
        cost=DEAR, saving=Saving(seconds, None, None, "estimate", process=process, assumes=assumed)
    )


def remaining(given: Sequence[float | None], *findings: Finding) -> list[float | None]:
    ordered, _ = savings(KnownEstimates(remaining=given)).in_order(findings)
    return [each.saving.remaining_s for each in ordered]


def test_what_remains_may_be_more_than_alone_but_never_less_than_nothing() -> None:
    given = [3.0, 2.0, -1.0]
    assert remaining(given, saves(2.5), saves(2.5), saves(2.5)) == [3.0, 2.0, 0.0]
    cheap = replace(saves(2.5), cost=Cost(2.6, None, "measured"))
    assert remaining([3.0], cheap) == [2.6]


def test_finding_without_a_replay_has_no_remainder() -> None:
    whatif = KnownEstimates(remaining=[1.0, None])
    ordered, limit = savings(whatif).in_order([saves(2.0), saves(5.0, process=None)])
    assert [each.saving.remaining_s for each in ordered] == [1.0, None]
    assert whatif.asked == [FIX, None]
    assert limit == "device"


def test_no_findings_have_no_remainders() -> None:
    assert Savings(WhatIf(Database()), LOOP, None).in_order([]) == ([], None)


def test_a_metrics_report_does_not_say_that_compiling_is_over() -> None:
    metrics = [
        {"process": 0, "name": "CompileTime", "samples": 2, "accumulator": 98e9, "p99": 98e9},
        {"process": 0, "name": "ExecuteTime", "samples": 3, "accumulator": 3e9},
    ]
    (found,) = diagnose(complete({"metric": metrics}), [PACK["XD111"]]).findings
    assert found.saving.next_1000_s is None
