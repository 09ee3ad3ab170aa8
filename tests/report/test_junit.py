"""JUnit XML: a test case for each rule and budget, in the structure that readers agree on."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings

from tests.report.diagnoses import GATED
from tests.report.formats import CASES, HOSTILE, SICK_REPORT, hostile, rendered
from tests.report.outcomes import MISSING
from xladoctor.report.interface import Report

#: Elements and attributes of junit-10.xsd of Jenkins' xUnit plugin, as far as they are used.
ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "skipped": {"type", "message"},
    "system-out": set(),
}
REQUIRED = {"testsuite": {"name", "tests", "failures", "errors"}, "testcase": {"name"}}


def document(*reports: Report) -> ET.Element:
    root = ET.fromstring(rendered("junit", reports))
    for element in root.iter():
        assert set(element.attrib) <= ATTRIBUTES[element.tag]
        assert REQUIRED.get(element.tag, set()) <= set(element.attrib)
    for suite in root.iter("testsuite"):
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))
    return root


def test_what_was_not_seen_of_the_run_is_a_case_that_is_skipped() -> None:
    (case,) = [
        case_
        for case_ in document(MISSING).iter("testcase")
        if case_.attrib["classname"].endswith(".run")
    ]
    assert case.attrib["name"] == "capture"
    assert "process-42: the process was cut short" in case[0].attrib["message"]


def outcomes(report: Report) -> dict[str, str]:
    """Each case's name without the rule's, and how it came out."""
    return {
        case.attrib["name"].split()[0]: next(
            (child.tag for child in case if child.tag != "system-out"), "passed"
        )
        for case in document(report).iter("testcase")
    }


@pytest.mark.parametrize("case", CASES)
def test_output_has_the_structure(case: str) -> None:
    root = document(*CASES[case])
    assert len(root) == len(CASES[case])


def test_without_a_gate_what_is_a_warning_or_worse_fails() -> None:
    assert outcomes(SICK_REPORT) == {
        "XD101": "failure",
        "XD102": "passed",
        "XD201": "failure",
        "XD203": "passed",
        "XD301": "passed",
        "XD401": "skipped",
        "XD701": "failure",
    }


def test_with_a_gate_what_it_says_fails() -> None:
    assert outcomes(GATED) == {
        "XD101": "failure",
        "XD102": "passed",
        "XD201": "passed",
        "XD203": "passed",
        "XD301": "passed",
        "XD401": "skipped",
        "XD701": "failure",
        "max_compilations_after_warmup": "failure",
        "max_host_syncs_per_step": "passed",
        "max_fallbacks_per_step": "skipped",
        "max_peak_memory": "passed",
    }


def test_skipped_says_why_and_failures_where() -> None:
    root = document(SICK_REPORT)
    skipped, failure = root.find(".//skipped"), root.find(".//failure")
    assert skipped is not None
    assert failure is not None
    assert skipped.attrib["message"] == ("not evaluated: no counters (metrics report or step log)")
    assert (failure.text or "").startswith("train.py:41\n17 of 40 launches")
    assert root[0].attrib["time"] == "12.500"


@settings(max_examples=50, deadline=None)
@given(HOSTILE)
def test_output_is_well_formed_whatever_the_program_says(text: str) -> None:
    assert len(document(hostile(text))) == 1
