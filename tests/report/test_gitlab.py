"""GitLab's code quality report: the fields that it needs, each fingerprint once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings

from tests.report.diagnoses import GATED, SICK
from tests.report.formats import CASES, HOSTILE, hostile, rendered
from tests.support import finding
from xladoctor.report.interface import Report


def issues(*reports: Report) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads(rendered("gitlab", reports))
    return loaded


def check(report: list[dict[str, Any]]) -> None:
    """The format, as GitLab's documentation gives it."""
    for issue in report:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert all(issue[key] for key in ("description", "check_name", "fingerprint"))
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert not issue["location"]["path"].startswith(("/", "./"))
        assert issue["location"]["path"]
        assert issue["location"]["lines"]["begin"] >= 1
    fingerprints = [issue["fingerprint"] for issue in report]
    assert len(fingerprints) == len(set(fingerprints))


def test_output_has_the_format() -> None:
    report = issues(*CASES["gated"])
    check(report)
    check(issues(*CASES["several"]))
    severities = [issue["severity"] for issue in report]
    assert severities == ["critical"] * 3 + ["major"] * 2 + ["info"] * 5


@settings(max_examples=25, deadline=None)
@given(HOSTILE)
def test_output_has_the_format_whatever_the_program_says(text: str) -> None:
    assert len(issues(hostile(text))) == 5


def test_finding_without_a_line_is_on_the_main_script() -> None:
    nowhere = replace(SICK, findings=[finding(locations=[])])
    (issue,) = issues(Report(nowhere))
    assert issue["location"] == {"path": "train.py", "lines": {"begin": 1}}


def test_what_could_not_be_judged_is_on_the_script_of_its_program() -> None:
    other = replace(GATED, diagnosis=replace(SICK, run=replace(SICK.run, script="eval.py")))
    missing = [
        issue for issue in issues(Report(SICK), other) if "Could not" in issue["description"]
    ]
    assert missing
    assert {issue["location"]["path"] for issue in missing} == {"eval.py"}


def test_nothing_found_is_an_empty_array() -> None:
    assert rendered("gitlab", CASES["text"]) == "[]\n"
