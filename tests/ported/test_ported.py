"""Programs ported by nothing but another device: the report holds against what is true of them.

Truths were made without xladoctor: by reading the program, and by measuring it and its fixed twin
bare (``measure.py``).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.live.harness import LIVE, Captured, Captures
from tests.ported.truths import PROGRAMS, lines_of, names, truth_of
from xladoctor.diagnosis.pack import load_rules

pytestmark = LIVE

#: The others are thorough; journeys and recorded programs show their like.
TYPICAL = {"sampler"}
#: How much more than the measured saving may be predicted, as a share of the program's time, and
#: how much of it has to be. Compiling in warm-up counts as expected, so that less is predicted.
TOLERANCE = 0.25
LEAST = 0.33
SICK = [name for name in names() if truth_of(name).wrong]
WELL_PORTED = [name for name in names() if not truth_of(name).wrong]


def marked(programs: list[str]) -> pytest.MarkDecorator:
    """Parametrize ``name`` by these programs; tests that share a capture are in one group."""
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(
                name,
                marks=[
                    pytest.mark.xdist_group(f"ported-{name}"),
                    *[pytest.mark.thorough] * (name not in TYPICAL),
                ],
            )
            for name in programs
        ],
    )


@pytest.fixture
def ported(name: str, captured: Captures) -> Captured:
    """A captured run of the program."""
    return captured(PROGRAMS / f"{name}.py")


def serious(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings above info, in the report's order."""
    return [finding for finding in report["findings"] if finding["severity"] != "info"]


def own_lines(finding: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """File name and line of a finding, by role."""
    return {
        place["role"]: (place["file"].rsplit("/")[-1], place["line"])
        for place in finding["locations"]
    }


def test_every_program_has_a_truth_about_lines_it_has() -> None:
    rules = {rule.id for rule in load_rules()}
    assert {path.stem for path in (PROGRAMS.parent / "truths").glob("*.yaml")} == set(names())
    for name in names():
        truth = truth_of(name)
        assert (PROGRAMS / f"{name}_fixed.py").exists() == bool(truth.wrong)
        assert bool(truth.fix) == bool(truth.wrong)
        for defect in truth.wrong:
            assert set(defect.rules) & rules
            assert lines_of(name, defect)


@marked(SICK)
def test_first_finding_is_what_costs_most(name: str, ported: Captured) -> None:
    defect = truth_of(name).wrong[0]
    findings = serious(ported.report)
    assert findings, ported.report["verdict"]["text"]
    assert findings[0]["rule"] in defect.rules


@marked(SICK)
def test_first_finding_names_the_guilty_line(name: str, ported: Captured) -> None:
    defect = truth_of(name).wrong[0]
    finding = next(f for f in ported.report["findings"] if f["rule"] in defect.rules)
    places = own_lines(finding)
    assert places.get("caller", places["guilty"]) in [
        (f"{name}.py", number) for number in lines_of(name, defect)
    ]


@marked(SICK)
def test_verdict_of_a_sick_program_has_something_to_fix(name: str, ported: Captured) -> None:
    assert "nothing to fix" not in ported.report["verdict"]["text"]


@marked(SICK)
def test_predicted_saving_is_most_of_the_measured_one_and_not_more(
    name: str, ported: Captured
) -> None:
    report = ported.report
    savings = [finding["saving"] for finding in report["findings"]]
    estimates = [s["remaining_s"] for s in savings if s["remaining_s"] is not None]
    bounds = [s["seconds"] for s in savings if s["seconds"] is not None]
    if not bounds:
        pytest.skip("this evidence gives no saving")
    predicted = sum(estimates) if estimates else max(bounds)
    share = predicted / report["time"]["loop_s"]
    measured = truth_of(name).saving
    assert LEAST * measured <= share <= measured + TOLERANCE


@marked([name for name in names() if truth_of(name).must_not_say])
def test_report_does_not_say_what_is_false(name: str, ported: Captured) -> None:
    report = ported.report
    forbidden = set(truth_of(name).must_not_say)
    rules = {rule.id for rule in load_rules()}
    assert not {finding["rule"] for finding in serious(report)} & forbidden
    assert not [phrase for phrase in forbidden - rules if phrase in json.dumps(report)]


@marked(WELL_PORTED)
def test_well_ported_program_has_nothing_to_fix(name: str, ported: Captured) -> None:
    assert serious(ported.report) == []
    text = ported.report["verdict"]["text"]
    assert "; nothing to fix." in text or "; no rule has a fix for it" in text


@pytest.mark.thorough
@marked(SICK)
def test_fixed_twin_no_longer_has_the_defect(name: str, captured: Captures) -> None:
    fixed = captured(PROGRAMS / f"{name}_fixed.py").report
    assert not {finding["rule"] for finding in serious(fixed)} & set(truth_of(name).wrong[0].rules)
