"""Hand-made decisions of the gate that show everything a report can show of one."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from tests.report.diagnoses import SICK
from tests.support import finding, location
from xladoctor.diagnosis.finding import NotChecked
from xladoctor.diagnosis.interface import Consumer, RuleOutcomes
from xladoctor.gate.interface import (
    BudgetOutcome,
    GateOutcome,
    Judgement,
    Missing,
    Repeated,
    StaleEntry,
)
from xladoctor.report.interface import Report

State = Literal["new", "worse", "known", "acknowledged", "tolerated", "not_judged"]
FINDINGS = [
    finding(fingerprint=f"{number}f2a9c5d11e07b4", locations=[location(line=40 + number)])
    for number in range(6)
]
HEALED = replace(
    SICK,
    findings=[],
    rules=RuleOutcomes([], ["XD101", "XD201"], []),
    not_checked=[],
    ignored=[],
    warnings=[],
)


def judgement(number: int, state: State, reason: str) -> Judgement:
    """Of one of the findings."""
    new = state in ("new", "worse")
    return Judgement(FINDINGS[number].fingerprint, "XD201", new, state, reason)


LONG = "some_package_with_a_long_name/training/loop.py"
FAILED = Report(
    replace(SICK, findings=FINDINGS),
    GateOutcome(
        status="failed",
        script="größe/train.py",
        fail_on="warning",
        baseline=".xladoctor/baseline.json",
        judgements=[
            judgement(0, "new", "not in the baseline"),
            judgement(1, "worse", "40 times, in the baseline 12 times in 90 steps"),
            judgement(2, "known", "in the baseline, there 60 times"),
            judgement(3, "acknowledged", "logged on purpose — until #12; until 2027-03-01"),
            judgement(4, "tolerated", "info, below warning"),
            judgement(5, "not_judged", "judged by time, which was not asked for"),
        ],
        budgets=[
            BudgetOutcome(
                "max_compilations_after_warmup", "compilations_after_warmup", 0, 0.0, "within"
            ),
            BudgetOutcome(
                "max_host_syncs_per_step",
                "host_syncs_per_step",
                0.1,
                1.0,
                "over",
                "",
                [
                    Consumer(
                        location(source="    total  +=  loss.item()  # größe"), 0.75, 30, "item"
                    ),
                    Consumer(location(LONG, 1234), 0.25, 10, "bool, item"),
                    Consumer(None, 0.00003, 1, "item"),
                ],
            ),
            BudgetOutcome(
                "max_step_ms",
                "step_ms",
                5.0,
                12.1,
                "acknowledged",
                "a slow machine; up to 13, until 2027-03-01",
            ),
            BudgetOutcome(
                "max_barriers_per_step",
                "barriers_per_step",
                1.0,
                2.0,
                "over",
                "acknowledged up to 1.5 only",
            ),
            BudgetOutcome(
                "max_peak_memory",
                "peak_memory",
                2.0**31,
                None,
                "unknown",
                "torch_xla's log does not say how much memory graphs take",
            ),
            BudgetOutcome(
                "max_sharding_changes",
                "sharding_changes",
                0.0,
                1.0,
                "over",
                "",
                [Consumer(location(), 1.0, 1, "all-gather over data in step: was none, now 8")],
            ),
        ],
        missing=[Missing("XD401", "no counters"), Missing("max_peak_memory", "not in the log")],
        gone=[
            StaleEntry("aa", "XD101", "data.py", "x.to(device)", True),
            StaleEntry("bb", "XD401", None, "", False),
        ],
        notes=["the acknowledgement of 0f2a9c5d11e07b4 expired on 2026-01-01: logged"],
        runs=[
            Repeated("step_ms", [12.1, None, 11.9], 12.0),
            Repeated("peak_memory", [None, None, None], None),
        ],
    ),
)
PASSED = Report(
    HEALED,
    GateOutcome(
        "passed",
        "train.py",
        "error",
        None,
        [],
        [],
        [],
        [StaleEntry("aa", "XD101", "data.py", "x.to(device)", True)],
        [],
    ),
)
MISSING = Report(
    replace(HEALED, not_checked=[NotChecked("XD401", "no counters")]),
    GateOutcome(
        "missing",
        "train.py",
        "warning",
        None,
        [],
        [],
        [
            Missing("capture", "process-42: the process was cut short"),
            Missing("XD401", "no counters"),
        ],
        [],
        [],
    ),
)
