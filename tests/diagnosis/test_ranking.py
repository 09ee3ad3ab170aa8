"""Severity at its limits, and the order of findings."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.support import finding, location
from xladoctor.diagnosis.finding import Cost, Finding, Saving, SavingBasis
from xladoctor.diagnosis.ranking import ranked, severity
from xladoctor.diagnosis.rule import Severity


@pytest.mark.parametrize(
    ("share", "stalls", "unbounded", "expected"),
    [
        (0.20, False, False, "error"),
        (0.1999, False, False, "warning"),
        (0.02, False, False, "warning"),
        (0.0199, False, False, "info"),
        (0.0, True, False, "warning"),
        (0.5, True, False, "error"),
        (None, False, False, "info"),
        (None, True, False, "warning"),
        (None, False, True, "error"),
        (0.0, True, True, "error"),
    ],
)
def test_severity(share: float | None, stalls: bool, unbounded: bool, expected: Severity) -> None:
    def judged(ceiling: Severity = "error", **state: bool) -> Severity:
        calm = {"stalls": stalls, "unbounded": unbounded, "healthy": False, "settled": False}
        return severity(share, ceiling=ceiling, **{**calm, **state})

    assert judged() == expected
    assert judged(healthy=True) == "info"
    assert judged("info") == "info"
    unknown = share is None and expected == "error"
    assert judged(settled=True) == ("warning" if unknown else expected)


@pytest.mark.parametrize(
    ("avoidable", "ceiling", "expected"),
    [(0.1, "error", "warning"), (0.0999, "error", "info"), (0.9, "info", "info")],
)
def test_what_costs_a_tenth_of_the_run_and_can_be_avoided_is_a_warning(
    avoidable: float, ceiling: Severity, expected: Severity
) -> None:
    state = {"stalls": False, "unbounded": False, "healthy": True, "settled": False}
    assert severity(0.9, ceiling=ceiling, avoidable=avoidable, **state) == expected


def test_severity_stays_below_that_of_the_rule() -> None:
    level = severity(
        0.9, stalls=True, unbounded=True, healthy=False, settled=False, ceiling="warning"
    )
    assert level == "warning"


def saves(seconds: float | None, level: Severity = "warning", **fields: Any) -> Finding:
    basis: SavingBasis = "none" if seconds is None else "bound"
    return finding(
        severity=level,
        cost=Cost(seconds, None, "measured"),
        saving=Saving(seconds, None, None, basis),
        **fields,
    )


ORDERED = [
    saves(None, "error", fingerprint="wrong results", about="results"),
    saves(4.0, "error", fingerprint="saves most, an error, which may be the cause of the next"),
    saves(None, "error", fingerprint="unknown cost, error"),
    saves(0.5, fingerprint="saves less"),
    saves(0.5, count=39, fingerprint="the same, less often"),
    saves(0.1, "error", fingerprint="saves still less, though an error"),
    saves(0.1, fingerprint="a warning"),
    saves(None, fingerprint="unknown cost, warning", rule="XD201"),
    saves(None, fingerprint="the same, later rule", rule="XD202"),
    saves(None, fingerprint="the same, later line", rule="XD202", locations=[location(line=42)]),
    finding("XD201", saving=Saving(0.01, None, 0.001, "estimate"), fingerprint="next to nothing"),
    saves(3.0, "info", fingerprint="only information, which saves most"),
    saves(None, "info", fingerprint="unknown cost, information"),
]


@pytest.mark.parametrize("seed", range(20))
def test_order_does_not_depend_on_the_order_before(seed: int) -> None:
    shuffled = random.Random(seed).sample(ORDERED, len(ORDERED))
    assert [f.fingerprint for f in ranked(shuffled)] == [f.fingerprint for f in ORDERED]
