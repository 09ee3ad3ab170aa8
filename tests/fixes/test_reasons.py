from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixes.harness import case
from xladoctor.fixes import plan, registry
from xladoctor.fixes.files import Files
from xladoctor.fixes.interface import Change, Edit, Patch, Plan, Position, Refused, Unsuited


def test_a_patch_that_two_findings_ask_for_is_made_once() -> None:
    finding = case("x = 1  #!").finding
    change = Change("title", (Edit(Position(1, 0), Position(1, 1), "y"),))
    patches = [Patch(finding, kind, Path("/p/train.py"), "", change) for kind in ("a", "b")]
    made = plan._without_conflicts(Plan(Path("/p"), patches))
    assert made.patches == patches[:1]
    assert [skip.reason for skip in made.skips] == ["the patch of XD000 is for it too"]


@pytest.mark.parametrize(
    ("refusals", "reason"),
    [
        ([Unsuited("only JAX"), Refused("it is changed")], "it is changed"),
        ([Refused("first"), Refused("second", "by hand")], "second"),
        ([Refused("first"), Refused("second")], "first"),
        ([Unsuited("first"), Unsuited("second")], "first"),
    ],
)
def test_the_reason_of_a_kind_that_serves_the_finding_is_given(
    refusals: list[Refused], reason: str
) -> None:
    assert plan.most_telling(refusals).reason == reason


def test_a_kind_that_fails_is_a_reason_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "kind", lambda _: lambda _: 1 // 0)
    files = Files(Path("/project"), lambda _: True)
    with pytest.raises(Refused, match="without_print failed: ZeroDivisionError"):
        plan._patch_by("without_print", case("x = 1  #!"), files)
