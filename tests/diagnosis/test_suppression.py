"""Comments in the source that suppress a finding."""

from __future__ import annotations

import pytest

from tests.support import finding, location
from xladoctor.diagnosis.interface import Ignored
from xladoctor.diagnosis.suppression import suppress


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("# xladoctor: ignore[XD201] logged on purpose", "logged on purpose"),
        ("# xladoctor: ignore[XD201]", ""),
        ("#xladoctor:ignore[XD201]   why  ", "why"),
        ("# xladoctor: ignore[XD101, XD201] both", "both"),
        ("# xladoctor: ignore[XD2] the family", "the family"),
        ("# noqa: E501  # xladoctor: ignore[XD201] why", "why"),
    ],
)
def test_comment_on_the_line_suppresses_its_finding(comment: str, reason: str) -> None:
    source = f"    total += loss.item()  {comment}"
    assert suppress([finding(locations=[location(source=source)])]) == ([], [
        Ignored("XD201", "train.py", 41, reason, "XD201-0", "train", source, 40, 1.0)
    ])  # fmt: skip


@pytest.mark.parametrize(
    "source",
    [
        None,
        "",
        "total += loss.item()",
        "total += loss.item()  # xladoctor: ignore[XD202] another rule",
        "total += loss.item()  # xladoctor: ignore[] none",
        "total += loss.item()  # xladoctor: ignore[,] none",
        "total += loss.item()  # xladoctor: ignore",
        "total += loss.item()  # ignore[XD201]",
        "print('xladoctor: ignore[XD201]', loss)",
        "print('# xladoctor: ignore[XD201]', loss)",
    ],
)
def test_line_that_does_not_ask_for_it_is_reported(source: str | None) -> None:
    suppressed = finding(locations=[location(source=source)])
    assert suppress([suppressed]) == ([suppressed], [])


@pytest.mark.parametrize(("role", "suppressed"), [("caller", 1), ("made", 0), ("compiled", 0)])
def test_only_the_guilty_line_and_its_caller_can_ask(role: str, suppressed: int) -> None:
    other = location("mine.py", 9, role=role, source="x()  # xladoctor: ignore[XD201] why")
    kept, ignored = suppress([finding(locations=[location(), other])])
    assert (len(kept), len(ignored)) == (1 - suppressed, suppressed)


def test_finding_without_a_line_is_reported() -> None:
    assert suppress([finding(locations=[])])[1] == []


def test_other_findings_keep_their_order() -> None:
    asked = location(source="x  # xladoctor: ignore[XD203]")
    findings = [finding("XD201"), finding("XD203", locations=[asked]), finding("XD202")]
    assert suppress(findings)[0] == [findings[0], findings[2]]
