"""SARIF: valid by the published schema, and as GitHub's code scanning needs it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.report.diagnoses import GATED, SICK
from tests.report.formats import CASES, HOSTILE, SICK_REPORT, hostile, many, rendered, sick_of
from tests.schemas import SARIF, problems
from tests.support import finding, location
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.report.interface import Report

SAMPLES = Path(__file__).parents[2] / "sample_traces"


def log(reports: Sequence[Report]) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(rendered("sarif", reports))
    return loaded


def run_of(report: Report) -> dict[str, Any]:
    run: dict[str, Any] = log([report])["runs"][0]
    return run


def result(report: Report, rule: str) -> dict[str, Any]:
    return next(entry for entry in run_of(report)["results"] if entry["ruleId"] == rule)


@pytest.mark.parametrize("case", CASES)
def test_output_is_valid_by_the_published_schema(case: str) -> None:
    assert problems(log(CASES[case]), SARIF) == []


def test_schema_is_applied() -> None:
    broken = log([SICK_REPORT])
    broken["runs"][0]["results"][0]["level"] = "loud"
    broken["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] = {
        "uri": "a b.py"
    }
    assert len(problems(broken, SARIF)) == 2


@settings(max_examples=25, deadline=None)
@given(HOSTILE)
def test_output_is_valid_whatever_the_program_says(text: str) -> None:
    written = log([hostile(text)])
    assert problems(written, SARIF) == []
    for entry in written["runs"][0]["results"]:
        links = entry["message"]["text"].count("](")
        assert links == entry["message"]["text"].count("]("), entry
        assert links <= len(entry.get("relatedLocations", ()))


def test_sample_with_every_rule_of_the_pack() -> None:
    rules = load_rules()
    report = Report(diagnose(load_evidence(str(SAMPLES / "recompiling")), rules))
    written = log([report])
    listed = written["runs"][0]["tool"]["driver"]["rules"]
    assert problems(written, SARIF) == []
    applying = [rule for rule in rules if rule.applies_to.to([])]
    of_program = [rule.id for rule in applying if "torch_xla" in rule.applies_to.frontends]
    assert [rule["id"] for rule in listed] == of_program
    for rule in listed:
        assert rule["shortDescription"]["text"]
        assert rule["properties"]["precision"] in ("high", "medium", "low")
        assert rule["properties"]["tags"][0] == "performance"
        assert rule["properties"]["outcome"] in ("fired", "clear", "not evaluated")
    explained = [rule for rule in listed if "help" in rule]
    assert [rule["id"] for rule in explained] == ["XD101"]
    assert 0 < len(explained[0]["fullDescription"]["text"]) <= 1024
    assert explained[0]["help"]["text"]
    assert "## Fix" in explained[0]["help"]["markdown"]


def test_rules_that_did_not_fire_are_listed_and_the_unjudged_give_their_reason() -> None:
    run = run_of(SICK_REPORT)
    outcomes = {r["id"]: r["properties"]["outcome"] for r in run["tool"]["driver"]["rules"]}
    assert outcomes == {
        "XD101": "fired",
        "XD102": "clear",
        "XD201": "fired",
        "XD203": "fired",
        "XD301": "clear",
        "XD401": "not evaluated",
        "XD701": "fired",
    }
    (skipped,) = run["invocations"][0]["toolConfigurationNotifications"]
    assert skipped["associatedRule"]["id"] == "XD401"
    assert "no counters" in skipped["message"]["text"]


@pytest.mark.parametrize("case", CASES)
def test_indices_point_at_the_rules(case: str) -> None:
    for run in log(CASES[case])["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        for entry in run["results"]:
            assert rules[entry["ruleIndex"]] == entry["ruleId"]
        for said in run["invocations"][0]["toolConfigurationNotifications"]:
            assert rules[said["associatedRule"]["index"]] == said["associatedRule"]["id"]


def test_every_result_has_a_relative_path_in_the_repository() -> None:
    for run in log(CASES["several"])["runs"]:
        for entry in run["results"]:
            (place,) = entry["locations"]
            artifact = place["physicalLocation"]["artifactLocation"]
            assert artifact["uriBaseId"] == "%SRCROOT%"
            assert not artifact["uri"].startswith(("/", ".", "file:"))
            assert place["physicalLocation"]["region"]["startLine"] >= 1


def test_finding_without_any_file_is_a_notification_since_github_would_refuse_the_file() -> None:
    nowhere = replace(SICK, run=replace(SICK.run, script=None), findings=[finding(locations=[])])
    run = run_of(Report(nowhere))
    assert run["results"] == []
    said = run["invocations"][0]["toolExecutionNotifications"][0]
    assert said["level"] == "warning"
    assert said["message"]["text"].startswith("Scalar read from the device in the step loop. ")


def test_flow_leads_from_the_cause_to_the_consequence() -> None:
    places = [location(), location("data.py", 7, role="made"), location(line=60, role="compiled")]
    entry = result(sick_of(finding(locations=places)), "XD201")
    steps = entry["codeFlows"][0]["threadFlows"][0]["locations"]
    lines = [s["location"]["physicalLocation"]["region"]["startLine"] for s in steps]
    assert lines == [7, 41, 60]
    assert all(step["location"]["message"]["text"] for step in steps)
    assert "[made at data.py:7](1), [compiled at train.py:60](2)" in entry["message"]["text"]
    assert [place["id"] for place in entry["relatedLocations"]] == [1, 2]


def test_line_of_a_library_is_related_and_the_users_is_primary() -> None:
    entry = result(SICK_REPORT, "XD201")
    at = entry["locations"][0]["physicalLocation"]
    related = entry["relatedLocations"][0]["physicalLocation"]["artifactLocation"]
    assert (at["artifactLocation"]["uri"], at["region"]["startLine"]) == ("train.py", 44)
    assert related == {"uri": "some_library/with_a_long_name/core.py", "uriBaseId": "PACKAGES"}


def test_message_begins_with_the_title_and_the_fingerprint_is_the_findings() -> None:
    entry = result(SICK_REPORT, "XD101")
    assert entry["message"]["text"].startswith("Graph compiled again after warm-up. 17 of 40 ")
    assert entry["partialFingerprints"]["primaryLocationLineHash"] == "XD101-0"
    assert entry["rank"] == 61


def test_decision_of_the_gate() -> None:
    states = {
        entry["ruleId"]: (
            entry["level"],
            entry.get("baselineState"),
            bool(entry.get("suppressions")),
        )
        for entry in run_of(GATED)["results"]
    }
    assert states == {
        "XD101": ("error", "new", False),
        "XD701": ("error", "updated", False),
        "XD201": ("note", "unchanged", False),
        "XD203": ("note", None, False),
        "XD102": ("note", None, True),
        "XD903": ("note", None, False),
        "max_compilations_after_warmup": ("error", None, False),
        "max_host_syncs_per_step": ("note", None, False),
    }


def test_without_a_baseline_nothing_is_said_of_one() -> None:
    assert GATED.outcome is not None
    bare = replace(GATED, outcome=replace(GATED.outcome, baseline=None))
    assert not [entry for entry in run_of(bare)["results"] if "baselineState" in entry]


def test_each_program_is_a_run_of_its_own() -> None:
    runs = log(CASES["several"])["runs"]
    ids = [run["automationDetails"]["id"] for run in runs]
    assert ids == ["xladoctor/train.py/", "xladoctor/report.txt/", "xladoctor/train.py (2)/"]


def test_findings_of_a_rule_outside_the_pack() -> None:
    run = run_of(sick_of(finding("XD999", name="of-our-own")))
    assert run["tool"]["driver"]["rules"][-1]["id"] == "XD999"
    assert problems(log([sick_of(*many(3))]), SARIF) == []
