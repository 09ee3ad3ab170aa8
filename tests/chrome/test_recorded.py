"""Profiles as PyTorch's guide to torch.compile takes them: three steps after a warm-up, on the CPU.

Recorded by the oldest and the newest release of torch (``recorded/record.py``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence

RECORDED = Path(__file__).with_name("recorded")
PROGRAM = (RECORDED / "record.py").read_text(encoding="utf-8").splitlines()
releases = pytest.mark.parametrize("release", ["2.9", "2.13"])


def judged(name: str, release: str) -> Diagnosis:
    return diagnose(load_evidence(str(RECORDED / f"{name}-{release}.json.gz")), load_rules())


def by_rule(diagnosis: Diagnosis) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in diagnosis.findings:
        found.setdefault(finding.rule, []).append(finding)
    return found


def steps(diagnosis: Diagnosis) -> tuple[int, int]:
    assert diagnosis.steps is not None
    return diagnosis.steps.count, diagnosis.steps.warmup


@releases
@pytest.mark.parametrize("name", ["whole", "small-operators"])
def test_a_profile_has_all_of_its_steps_and_no_warm_up(name: str, release: str) -> None:
    diagnosis = judged(name, release)

    assert steps(diagnosis) == (3, 0)
    assert diagnosis.findings == []


@releases
def test_graph_breaks_show_in_a_profile_without_stacks(release: str) -> None:
    diagnosis = judged("broken", release)

    assert steps(diagnosis) == (3, 0)
    ((finding,),) = by_rule(diagnosis).values()
    assert (finding.rule, finding.severity, finding.count) == ("XD314", "warning", 3)
    assert finding.locations == []
    assert "4 compiled parts (0/0 > 1/0 > 2/0 > 3/0)" in finding.message
    assert "each called from an earlier one: 3 graph breaks, or fewer" in finding.message
    assert "TORCH_LOGS=graph_breaks" in finding.message


@releases
def test_graph_breaks_have_their_lines_where_python_functions_are_recorded(release: str) -> None:
    found = by_rule(judged("broken-with-stacks", release))["XD314"]

    lines = [finding.locations[0].line for finding in found]
    assert [PROGRAM[line - 1].strip() for line in lines if line] == [
        "torch._dynamo.graph_break()"
    ] * 3
    assert {finding.locations[0].function for finding in found} == {"forward"}
    assert len(set(lines)) == 3


@releases
def test_versions_of_a_function_show_by_their_numbers(release: str) -> None:
    ((finding,),) = by_rule(judged("modes", release)).values()

    assert (finding.rule, finding.severity, finding.count) == ("XD110", "info", 2)
    assert "9 calls in the timeline ran 3 versions" in finding.message


@releases
def test_functions_that_follow_one_another_may_be_parts_of_one(release: str) -> None:
    diagnosis = judged("one-by-one", release)

    assert diagnosis.findings == []
    assert any(
        "compiled functions 0, 1 follow one another 3 times: 1 graph break, or 2 functions that are"
        " compiled one by one; TORCH_LOGS=graph_breaks shows which" in note
        for note in diagnosis.warnings
    )


@releases
def test_a_function_that_is_called_in_a_row_may_be_a_loop_with_a_graph_break(release: str) -> None:
    diagnosis = judged("broken-in-a-loop", release)

    assert steps(diagnosis) == (3, 0)
    (note,) = [note for note in diagnosis.warnings if "in a row" in note]
    assert "is called 4 times in a row, 3 times: a separately compiled part" in note
    assert "TORCH_LOGS=graph_breaks shows which" in note


@releases
def test_a_profile_of_a_first_call_tells_what_compiling_took(release: str) -> None:
    diagnosis = judged("first-call", release)

    assert diagnosis.run.frontend == "torch"
    (finding,) = by_rule(diagnosis)["XD117"]
    assert finding.severity == "info"
    phases: list[dict[str, Any]] = finding.cause["phases"]
    assert {"dynamo", "aot", "inductor", "triton"} >= {part["phase"] for part in phases}
    assert {label.path for label in diagnosis.labels} == {"another function", "the model"}
