"""What came of running a program and its moved copy, as text and as JSON."""

from __future__ import annotations

import io

import pytest

from xladoctor.move.proof.interface import Compared, Judgement, Outcome, Verification
from xladoctor.report.interface import Style
from xladoctor.report.text import write
from xladoctor.report.verification import parts, record

FIRST = Compared(2, "loss", "", 1, float("inf"), "", 1e-3, True, (1.0, float("nan")))


def verification(outcome: Outcome, reason: str = "") -> Verification:
    compared = (Compared(1, "loss", "", 1, 1e-7, "", 1e-3, True, (1.0, 1.0)), FIRST)
    judgement = Judgement(outcome, 2, compared, FIRST, reason, "Do this.", ("the rest",))
    return Verification("A", "B", 1e-3, judgement, (("launches", 1.0, None),))


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        ("agrees", "the first 2 steps agree within 0.1%"),
        ("differs", "differs: why"),
        ("not comparable", "not comparable: why"),
        ("fails", "fails: why"),
    ],
)
def test_first_line_is_the_verdict(outcome: Outcome, line: str) -> None:
    output = io.StringIO()
    write([*parts(verification(outcome, "why"), Style())], output, Style())
    lines = output.getvalue().splitlines()

    assert lines[0] == line
    assert [row.split() for row in lines if row[:3].strip().isdigit()] == [
        ["1", "1.0e-07"],
        ["2", "inf"],
    ]
    assert "  launches a step  1  unknown" in lines
    assert "  unproven: the rest" in lines


def test_json_has_nothing_that_is_no_number() -> None:
    first = record(verification("differs"))["judgement"]["first"]
    assert (first["largest"], first["values"]) == (None, [1.0, None])
