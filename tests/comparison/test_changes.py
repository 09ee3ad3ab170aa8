"""What becomes of findings and counts, and what is never said of what is not known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.comparison.runs import compared, told
from tests.support import finding, location
from xladoctor.comparison.interface import Comparison, CountChange, FindingChange
from xladoctor.diagnosis.finding import Finding, Ignored, NotChecked
from xladoctor.diagnosis.interface import CountName, Diagnosis
from xladoctor.diagnosis.rule import Severity


def change(a: Diagnosis, b: Diagnosis) -> FindingChange:
    (only,) = compared(a, b).findings
    return only


def count(comparison: Comparison, name: CountName) -> CountChange:
    return next(count for count in comparison.counts if count.name == name)


def bad(severity: Severity = "warning", **fields: Any) -> Finding:
    return finding(severity_by_counts=severity, **fields)


@pytest.mark.parametrize(
    ("a", "b", "state", "status"),
    [
        ([], [bad()], "new", 1),
        ([bad()], [], "fixed", 0),
        ([bad()], [bad()], "same", 0),
        ([bad()], [bad("error")], "worse", 1),
        ([bad("error")], [bad()], "better", 0),
        ([bad(count=40)], [bad(count=41)], "worse", 1),
        ([bad(count=41)], [bad(count=40)], "better", 0),
        ([], [bad("info")], "new", 0),
        ([bad("error", count=9)], [bad("info", count=99)], "better", 0),
    ],
)
def test_finding(a: list[Finding], b: list[Finding], state: str, status: int) -> None:
    comparison = compared(told(a), told(b))
    assert [finding.state for finding in comparison.findings] == [state]
    assert comparison.status == status


INFO = bad("info")


@pytest.mark.parametrize(
    ("a", "b", "compilations", "text"),
    [
        ([INFO], [], (3.0, 1.0), "B is better: XD201 is fixed; 2 fewer compilations after warm-up"),
        ([], [], (3.0, 1.0), "B is better: 2 fewer compilations after warm-up"),
        ([INFO], [], (1.0, 1.0), "B is better: XD201 is fixed"),
        ([], [], (1.0, 3.0), "B is like A: no finding is new, worse or gone; 2 more"),
        (
            [INFO],
            [],
            (1.0, 3.0),
            "B is like A: no warning or error of a rule that depends on counts",
        ),
        (
            [],
            [INFO],
            (3.0, 1.0),
            "B is like A: no warning or error of a rule that depends on counts",
        ),
        ([finding("XD501")], [], (1.0, 1.0), "B is like A: no warning or error of a rule"),
    ],
)
def test_information_and_counts_can_make_b_better(
    a: list[Finding], b: list[Finding], compilations: tuple[float, float], text: str
) -> None:
    runs = [
        told(found, counts={"compilations_after_warmup": number})
        for found, number in zip((a, b), compilations, strict=True)
    ]
    assert compared(*runs).verdict.text.startswith(text)


def test_finding_of_time_is_listed_and_never_fails() -> None:
    slow = finding("XD501", severity="error", severity_by_counts="error")
    comparison = compared(told(), told([slow]), fail_on="info")
    assert [
        (finding.state, finding.judged_by, finding.fails) for finding in comparison.findings
    ] == [("new", "time", False)]
    assert (comparison.verdict.outcome, comparison.status) == ("same", 0)


@pytest.mark.parametrize(
    ("fail_on", "severity", "status"),
    [
        ("error", "warning", 0),
        ("error", "error", 1),
        ("warning", "info", 0),
        ("info", "info", 1),
        ("never", "error", 0),
    ],
)
def test_fail_on(fail_on: str, severity: Severity, status: int) -> None:
    assert compared(told(), told([bad(severity)]), fail_on=fail_on).status == status


@pytest.mark.parametrize(
    ("rates", "steps", "state"),
    [
        ((1.0, 1.0), (40, 400), "same"),
        ((1.0, 1.05), (40, 400), "same"),
        ((1.0, 2.0), (40, 400), "worse"),
        ((2.0, 1.0), (400, 40), "better"),
        ((0.0, 0.1), (10, 20), "same"),
    ],
)
def test_runs_of_different_length_are_compared_a_step(
    rates: tuple[float, float], steps: tuple[int, int], state: str
) -> None:
    a, b = (
        told([bad(per_step=rate, count=int(rate * n) + 1)], steps=n)
        for rate, n in zip(rates, steps, strict=True)
    )
    assert change(a, b).state == state


@pytest.mark.parametrize(
    ("counts", "steps", "state"),
    [
        ((5, 50), (50, 500), "same"),
        ((5, 5), (500, 50), "same"),
        ((5, 5), (50, 500), "same"),
        ((5, 100), (50, 500), "worse"),
        ((100, 5), (500, 50), "better"),
    ],
)
def test_what_has_no_rate_changed_only_if_count_and_rate_did(
    counts: tuple[int, int], steps: tuple[int, int], state: str
) -> None:
    a, b = (
        told([bad(per_step=None, count=count)], steps=n)
        for count, n in zip(counts, steps, strict=True)
    )
    assert change(a, b).state == state


def test_how_often_is_not_compared_without_steps() -> None:
    became = change(told([bad(count=1)], steps=None), told([bad(count=99)], steps=None))
    assert became.state == "same"
    assert "number of steps is not known" in became.reason


# Unknown is neither new nor fixed


def test_rule_that_was_not_judged_in_b() -> None:
    comparison = compared(told([bad()]), told(not_checked=[NotChecked("XD201", "no counters")]))
    (finding,) = comparison.findings
    assert (finding.state, finding.reason) == ("unknown", "not judged in B: no counters")
    assert (comparison.verdict.outcome, comparison.status) == ("unclear", 3)


def test_rule_that_was_not_judged_in_a() -> None:
    comparison = compared(told(not_checked=[NotChecked("XD201", "no counters")]), told([bad()]))
    (finding,) = comparison.findings
    assert (finding.state, finding.fails) == ("unknown", False)
    assert comparison.status == 3


def test_rule_without_findings_that_was_judged_in_one_run_only() -> None:
    unjudged = told(not_checked=[NotChecked("XD201", "no counters")])
    comparison = compared(told(), unjudged)
    assert [skipped.rule for skipped in comparison.not_judged] == ["XD201"]
    assert comparison.status == 3
    assert compared(unjudged, told()).status == 0
    assert compared(unjudged, unjudged).status == 0


def test_rule_of_time_that_was_not_judged_is_no_matter() -> None:
    assert compared(told(), told(not_checked=[NotChecked("XD501", "no timeline")])).status == 0


def test_suppressed_finding_is_still_there() -> None:
    hushed = told(ignored=[Ignored("XD201", "train.py", 41, "on purpose", bad().fingerprint)])
    became = change(told([bad()]), hushed)
    assert (became.state, became.reason) == ("same", "ignored in B")
    assert change(hushed, told([bad()])).state == "same"
    other = told(ignored=[Ignored("XD201", "train.py", 43, "", "another")])
    assert change(told([bad()]), other).state == "fixed"
    assert change(other, told([bad()])).state == "new"


def test_which_of_several_lines_cannot_be_told() -> None:
    lines = told([bad(fingerprint="a"), bad(fingerprint="b", locations=[location(line=7)])])
    nowhere = told([bad(locations=[])])
    states = [(finding.state, finding.reason) for finding in compared(lines, nowhere).findings]
    assert states == [("unknown", "one of the runs names no line")] * 3
    assert compared(nowhere, lines).status == 3


def test_run_that_broke_off_earlier_tells_nothing_of_what_it_lacks() -> None:
    became = change(told([bad()], steps=40), told(steps=9, status=1))
    assert (became.state, became.reason) == ("unknown", "B stopped after 9 of 40 steps")
    assert change(told([bad()], steps=40), told(steps=40, status=1)).state == "fixed"
    assert change(told(steps=9, status=1), told([bad()], steps=40)).state == "unknown"


def test_run_that_broke_off_earlier_is_not_like_the_other() -> None:
    comparison = compared(told(steps=40), told(steps=9, status=1))
    assert (comparison.verdict.outcome, comparison.status) == ("unclear", 3)
    assert "B stopped after 9 of 40 steps" in comparison.verdict.text
    assert compared(told(steps=40), told(steps=None, status=1)).status == 3
    assert compared(told(steps=40), told(steps=40, status=1)).status == 0
    assert compared(told(steps=9, status=1), told(steps=40)).status == 0


def test_finding_worse_comes_before_one_better_and_errors_first() -> None:
    a = told([bad(fingerprint="gone")])
    b = told([finding("XD101", severity_by_counts="error"), finding("XD203")])
    order = [(finding.state, finding.rule) for finding in compared(a, b).findings]
    assert order == [("new", "XD101"), ("new", "XD203"), ("fixed", "XD201")]


# Counts


@pytest.mark.parametrize(
    ("name", "a", "b", "direction"),
    [
        ("compilations_after_warmup", 0, 1, "worse"),
        ("compilations_after_warmup", 3, 3, "same"),
        ("host_syncs_per_step", 1, 0.975, "better"),
        ("fallbacks_per_step", None, 1, "unknown"),
        ("barriers_per_step", 1, 2, "worse"),
        ("barriers_per_step", 1, 0, "unknown"),
        ("peak_memory", 1000, 1049, "same"),
        ("peak_memory", 1000, 1100, "worse"),
    ],
)
def test_count(name: CountName, a: float | None, b: float | None, direction: str) -> None:
    comparison = compared(told(counts={name: a}), told(counts={name: b}))
    assert count(comparison, name).direction == direction
    assert comparison.status == 0  # the findings decide


def test_counts_of_runs_of_different_length_are_rates() -> None:
    comparison = compared(
        told(steps=40, counts={"compilations_after_warmup": 4}),
        told(steps=400, counts={"compilations_after_warmup": 40}),
    )
    assert count(comparison, "compilations_after_warmup").direction == "same"
    unknown = compared(told(steps=None), told())
    assert count(unknown, "host_syncs_per_step").direction == "unknown"


def test_reason_of_an_unknown_count_names_the_run() -> None:
    name: CountName = "fallbacks_per_step"
    none, some = told(counts={name: None}), told(counts={name: 1.0})
    assert count(compared(none, some), name).reason == "A: no counters"
    assert count(compared(some, none), name).reason == "B: no counters"
    assert count(compared(none, none), name).reason == "A and B: no counters"
