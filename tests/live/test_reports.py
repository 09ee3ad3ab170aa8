"""What must hold of the JSON report of any run."""

from __future__ import annotations

import json
from dataclasses import fields

import jsonschema
import pytest

from tests.live.harness import LIVE, Captured
from xladoctor.diagnosis.interface import TimeParts
from xladoctor.report.json import schema

pytestmark = LIVE
#: Findings about no line: the timeline saw no turn; the capture took long, as on a busy machine.
OF_THE_RECORDING = {"XD901", "XD905"}


def test_report_has_the_published_form(example: Captured) -> None:
    jsonschema.validate(example.report, schema())


def test_program_ended_well_and_capture_had_no_fault(example: Captured) -> None:
    assert example.finished.status == 0
    assert example.report["run"]["status"] == 0
    warnings = example.notes
    # torch_xla writes its log without a lock: two threads that compile at once can tear a block,
    # and without it the module's compilation is not known
    if "two_threads" in str(example.report["run"]["command"]) and any(
        "torn by threads that wrote at once" in text for text in warnings
    ):
        warnings = [text for text in warnings if "torn" not in text and "told apart" not in text]
    assert warnings == []
    assert list(example.directory.glob("process-*/faults.log")) == []


def test_parts_add_up_to_the_run_in_which_the_loop_lies(example: Captured) -> None:
    time = example.report["time"]

    assert set(time["parts"]) == {part.name for part in fields(TimeParts)}
    assert sum(time["parts"].values()) == pytest.approx(time["total_s"])
    assert min(time["parts"].values()) >= 0
    assert 0 < time["loop_s"] < time["total_s"]
    assert 0 <= time["parts"]["warmup_compile_s"] == time["warmup_compile_s"]


def test_shares_are_of_the_run_and_no_cost_exceeds_it(example: Captured) -> None:
    total_s = example.report["time"]["total_s"]
    for finding in example.report["findings"]:
        for amount in (finding["cost"], finding["saving"]):
            if amount["seconds"] is None:
                assert (amount["share"], amount["basis"]) == (None, "none")
            else:
                assert 0 <= amount["seconds"] <= total_s
                assert amount["share"] == pytest.approx(amount["seconds"] / total_s)


def test_findings_are_distinct_and_say_what_to_do(example: Captured) -> None:
    findings = example.report["findings"]

    fingerprints = [finding["fingerprint"] for finding in findings]
    assert len(set(fingerprints)) == len(fingerprints)
    for finding in findings:
        roles = [place["role"] for place in finding["locations"]]
        line = [] if finding["rule"] in OF_THE_RECORDING else ["guilty"]
        assert roles[:1] == line, finding
        assert all(place["source"].strip() for place in finding["locations"])
        assert min(len(finding[key]) for key in ("message", "why", "fix", "example")) > 20


def test_timeline_lies_where_profile_viewers_look(example: Captured) -> None:
    pids = [
        json.loads(file.read_text())["pid"] for file in example.directory.glob("*/process.json")
    ]
    files = example.directory.glob("plugins/profile/*/*.xplane.pb")

    assert any(file.name.endswith(f"_{pid}.xplane.pb") for file in files for pid in pids)
