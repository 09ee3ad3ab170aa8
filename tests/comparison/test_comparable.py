"""In what two runs differ, what that forbids, and what their step times then say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.comparison.runs import COUNTS, captured, compared, told
from tests.support import finding
from xladoctor.comparison.interface import Comparison, Difference
from xladoctor.diagnosis.interface import Diagnosis


def times(median: float, seed: int = 0) -> list[float]:
    return [float(t) for t in median * np.exp(np.random.default_rng(seed).normal(0, 0.05, 40))]


def differing(a: Diagnosis, b: Diagnosis, **demand: Any) -> dict[str, Difference]:
    return {difference.what: difference for difference in compared(a, b, **demand).differences}


def test_runs_alike_differ_in_nothing() -> None:
    comparison = compared(captured(times(10, 1)), captured(times(10, 2)))
    assert comparison.differences == []
    assert (comparison.verdict.outcome, comparison.status) == ("same", 0)
    assert comparison.step.verdict == "no_difference"


@pytest.mark.parametrize(
    ("what", "changed"),
    [
        ("device", {"process": {"device_kind": "TPU"}}),
        ("devices", {"process": {"devices": 4}}),
        ("host", {"process": {"host": "bob"}}),
        ("torch", {"versions": {"torch": "2.8.0"}}),
        ("torch_xla", {"versions": {"torch_xla": "2.8.0"}}),
        ("python", {"versions": {"python": "3.12.1"}}),
        ("xladoctor", {"tool": {"name": "xladoctor", "version": "0.2.0"}}),
        ("settings", {"settings": {"XLA_IR_DEBUG": "1"}}),
        ("shapes", {"shapes": ["f32[32,64]"]}),
        ("profiler", {"traced": True}),
    ],
)
def test_difference_forbids_judging_times(what: str, changed: dict[str, Any]) -> None:
    a, b = captured(times(10)), captured(times(20), **changed)
    comparison = compared(a, b)
    assert [
        difference.what for difference in comparison.differences if difference.forbids == "times"
    ] == [what]
    assert comparison.step.verdict == "not_judged"
    assert what in comparison.step.statement
    assert comparison.step.a_ms == pytest.approx(10, rel=0.05)
    assert comparison.step.b_ms == pytest.approx(20, rel=0.05)
    assert comparison.status == 0
    assert compared(a, b, max_slowdown=0.1).status == 3
    despite = compared(a, b, despite=frozenset([what]), max_slowdown=0.1)
    assert (despite.step.verdict, despite.status) == ("slower", 1)


def test_other_device_than_the_cpu_is_alike_on_any_machine() -> None:
    by_name = differing(
        captured(process={"host": "ada", "device_kind": "TPU"}),
        captured(process={"host": "bob", "device_kind": "TPU"}),
    )
    assert by_name["host"].forbids == "nothing"


def test_small_release_of_python_is_worth_knowing() -> None:
    by_name = differing(captured(), captured(versions={"python": "3.11.9"}))
    assert by_name["python"] == Difference("python", "3.11.7", "3.11.9", "nothing")


def test_shapes_and_settings_name_what_differs_shortened() -> None:
    a = captured(shapes=[f"f32[16,{n}]" for n in range(1, 6)], settings={"XLA_USE_BF16": "1"})
    by_name = differing(a, captured(shapes=["f32[16,1]"]))
    assert by_name["shapes"].a == (
        "f32[16,2] in train, f32[16,3] in train, f32[16,4] in train and 1 more"
    )
    assert by_name["shapes"].b == "none of its own"
    assert (by_name["settings"].a, by_name["settings"].b) == ("XLA_USE_BF16=1", "none of its own")


def test_setting_of_the_device_and_path_of_a_file_are_no_difference() -> None:
    a = captured(settings={"PJRT_DEVICE": "CPU", "XLA_METRICS_FILE": "/tmp/a"})
    b = captured(settings={"XLA_METRICS_FILE": "/tmp/b", "CPU_NUM_DEVICES": "1"})
    assert differing(a, b) == {}


def test_what_set_up_sends_is_no_shape_of_the_loop() -> None:
    assert differing(captured(at_first=["f32[7]"]), captured()) == {}


def test_runs_of_different_programs_are_not_judged() -> None:
    other = captured(script="other.py", process={"main": "/home/ada/other.py"})
    comparison = compared(captured(), other)
    assert (comparison.verdict.outcome, comparison.status) == ("unclear", 3)
    assert "train.py and other.py" in comparison.verdict.text
    a = told([finding()], counts={"peak_memory": 5e6})
    b = replace(told(), run=other.run, traits=other.traits)
    apart = compared(a, b)
    assert {change.state for change in apart.findings} == {"unknown"}
    assert {count.direction for count in apart.counts} == {"unknown"}
    assert compared(captured(), other, despite=frozenset(["script"])).status == 0


def test_remarks_forbid_nothing() -> None:
    a = captured(times(10), command=["python", "train.py", "--epochs", "1"])
    b = captured(
        times(10)[:30],
        command=["python", "train.py"],
        options={"trace_steps": 9},
        ended={"status": 3, "signal": None, "seconds": 1},
    )
    by_name = differing(a, b)
    assert {difference.forbids for difference in by_name.values()} == {"nothing"}
    assert (by_name["arguments"].a, by_name["arguments"].b) == ("--epochs 1", "none")
    assert (by_name["ending"].a, by_name["ending"].b) == ("normal", "exit status 3")
    assert (by_name["steps"].a, by_name["steps"].b) == ("43", "33")


def test_program_that_never_ended_was_cut_short() -> None:
    assert differing(captured(), captured(ended=None))["ending"].b == "cut short"


def test_what_neither_run_knows_is_said() -> None:
    unknown: dict[str, Any] = {"process": {"host": None}, "versions": {"torch": ""}}
    by_name = differing(captured(**unknown), captured(**unknown))
    assert by_name["unknown"].a == "host, torch"
    assert differing(captured(**unknown), captured())["torch"].forbids == "times"


# The step's time


def steps(comparison: Comparison) -> tuple[str, bool, int]:
    return comparison.step.verdict, comparison.step.fails, comparison.status


def test_slower_step_fails_only_when_asked() -> None:
    a, b = captured(times(10, 1)), captured(times(14, 2))
    assert steps(compared(a, b)) == ("slower", False, 0)
    assert steps(compared(a, b, max_slowdown=0.2)) == ("slower", True, 1)
    assert steps(compared(a, b, max_slowdown=0.5)) == ("no_difference", False, 0)
    assert steps(compared(b, a, max_slowdown=0.2)) == ("faster", False, 0)
    assert compared(a, b).verdict.outcome == "same"
    assert compared(a, b, max_slowdown=0.2).verdict.outcome == "worse"


def test_small_change_is_none_however_certain() -> None:
    assert steps(compared(captured(times(10, 1)), captured(times(10.6, 2))))[0] == "no_difference"


def test_few_steps_tell_nothing() -> None:
    few = captured(times(10)[:5])
    assert steps(compared(few, captured(times(30)))) == ("too_few", False, 0)
    assert compared(few, captured(times(30)), max_slowdown=0.1).status == 3
    assert compared(captured([]), captured(times(30))).step.verdict == "unknown"


def test_what_two_frameworks_count_differently_decides_nothing() -> None:
    b = told(counts={**COUNTS, "barriers_per_step": 3.0, "host_syncs_per_step": 2.0})
    b = replace(b, traits=replace(b.traits, frontend="torch_tpu"))
    found = compared(told(counts=COUNTS), b)

    assert [each.what for each in found.differences] == ["framework"]
    assert found.step.verdict != "slower"
    directions = {each.name: each.direction for each in found.counts}
    assert directions["host_syncs_per_step"] == "worse"
    assert directions["barriers_per_step"] == "unknown"


def test_rule_that_is_not_about_the_other_framework_has_no_new_finding() -> None:
    a, b = told(), told([finding()])
    rule = finding().rule
    elsewhere = replace(b, traits=replace(b.traits, frontend="torch_tpu"))
    unasked = replace(a, rules=replace(a.rules, clear=[r for r in a.rules.clear if r != rule]))

    assert [each.state for each in compared(a, elsewhere).findings] == ["new"]
    assert [each.state for each in compared(unasked, elsewhere).findings] == ["unknown"]
