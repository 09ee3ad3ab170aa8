"""What a finding counts as, with and without the gate's decision."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import finding
from xladoctor.gate.interface import Judgement
from xladoctor.report.levels import level


@pytest.mark.parametrize(
    ("severity", "expected"), [("error", "error"), ("warning", "warning"), ("info", "note")]
)
def test_without_a_gate_the_severity_counts(severity: Any, expected: str) -> None:
    assert level(finding(severity=severity), None) == expected


@pytest.mark.parametrize(
    ("state", "fails", "by_counts", "expected"),
    [
        ("new", True, "info", "error"),
        ("worse", True, "warning", "error"),
        ("known", False, "error", "note"),
        ("acknowledged", False, "error", "note"),
        ("tolerated", False, "error", "warning"),
        ("tolerated", False, "warning", "warning"),
        ("tolerated", False, "info", "note"),
        ("not_judged", False, "info", "note"),
    ],
)
def test_with_a_gate_only_what_fails_is_an_error(
    state: Any, fails: bool, by_counts: Any, expected: str
) -> None:
    judgement = Judgement("XD201-0", "XD201", fails, state, "because")
    assert level(finding(severity_by_counts=by_counts), judgement) == expected
