"""What pages draw: steps that add up, stretches that lie in their step, claims, lines around."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

import pytest

from tests.support import evidence, step
from xladoctor import doctor
from xladoctor.diagnosis.examination import Extras
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.pictures import steps as module
from xladoctor.diagnosis.pictures.interface import Pictures
from xladoctor.diagnosis.pictures.lanes import step_pictures, thread_names
from xladoctor.diagnosis.pictures.processes import process_steps
from xladoctor.diagnosis.pictures.steps import step_series
from xladoctor.diagnosis.selection import Selection
from xladoctor.evidence.source import lines_around
from xladoctor.rule_cases.judge import defaults

pytestmark = pytest.mark.xdist_group("pictures")  # one worker makes each diagnosis once
SAMPLES = Path(__file__).parents[2] / "sample_traces"


@cache
def diagnosed(name: str) -> Diagnosis:
    selection = Selection(load_rules())
    return doctor.examine(str(SAMPLES / name), selection, extras=Extras(pictures=True)).diagnosis


def pictures(name: str) -> Pictures:
    made = diagnosed(name).pictures
    assert made is not None
    return made


def test_parts_of_steps_add_up_to_the_steps_and_to_the_account() -> None:
    for name in ("recompiling", "scalar_read", "launch_bound"):
        diagnosis = diagnosed(name)
        assert diagnosis.pictures
        assert diagnosis.time.parts
        series = diagnosis.pictures.steps
        assert series
        sums = [sum(told) for told in zip(*series.parts.values(), strict=True)]
        assert all(abs(a - b) < 10 for a, b in zip(sums, series.longest, strict=True))
        for part in ("compile", "read", "barrier", "dispatch", "input", "upload"):
            spent = sum(series.parts.get(part, [])) / 1e6
            assert spent == pytest.approx(
                getattr(diagnosis.time.parts, f"{part}_s"), rel=0.01, abs=1e-4
            ), (name, part)


def test_steps_that_the_capture_kept_together_keep_their_numbers() -> None:
    steps = [step(0), step(1, duration_ns=3_000_000), step(11, barriers=10, duration_ns=20_000_000)]
    series = step_series(evidence({"step": steps}))
    assert series
    assert (series.first, series.counts) == ([0, 1, 2], [1, 1, 10])
    assert series.longest == [1000, 3000, 2000]
    assert series.merged_from == 2


def test_very_many_rows_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 4)
    steps = [
        step(n, duration_ns=9_000_000 if n == 5 else 1_000_000, compilations=int(n == 5))
        for n in range(9)
    ]
    series = step_series(evidence({"step": steps}))
    assert series
    assert (series.first, series.counts) == ([0, 3, 6], [3, 3, 3])
    assert series.longest == [1000, 9000, 1000]
    assert series.compilations == [0, 1, 0]
    assert sum(series.parts["python"]) == 1000 + 3667 + 1000


def test_evidence_without_steps_has_no_picture_of_them() -> None:
    assert step_series(evidence({})) is None


@pytest.mark.parametrize("name", ["recompiling", "scalar_read", "launch_bound", "two_threads"])
def test_stretches_lie_in_their_step_one_after_the_other(name: str) -> None:
    shown = pictures(name).shown
    assert shown
    for picture in shown:
        for lane in picture.lanes:
            ends = [span.at_ns + span.duration_ns for span in lane.spans]
            assert all(span.at_ns >= 0 for span in lane.spans)
            assert all(end <= picture.duration_ns for end in ends)
            assert len(lane.spans) < 2000
            if lane.name == "loop's thread":
                assert sum(span.duration_ns for span in lane.spans) == picture.duration_ns
                assert ends[:-1] == [span.at_ns for span in lane.spans[1:]]


def test_finding_marks_what_its_fix_would_change() -> None:
    diagnosis = diagnosed("scalar_read")
    assert diagnosis.pictures
    typical = diagnosis.pictures.shown[0]
    assert typical.titles == ["a typical step"]
    (claim,) = [lane for lane in typical.lanes if lane.finding]
    assert claim.finding == diagnosis.findings[0].fingerprint
    assert {span.text.split(" and ")[0] for span in claim.spans} == {
        "read at programs/scalar_read.py:35"
    }
    marked = sum(span.duration_ns for span in claim.spans)
    assert 0 < marked < typical.duration_ns / 2
    of_compiling = pictures("recompiling").shown
    assert [bool([lane for lane in each.lanes if lane.finding]) for each in of_compiling] == [
        True,
        False,  # the first step compiles too, as every program does
    ]


def test_graphs_of_a_finding_name_the_line() -> None:
    made = pictures("recompiling")
    (difference,) = made.differences.values()
    assert (difference.a.index, difference.b.index) == (10, 11)
    assert difference.inputs[0].place.file == "programs/recompiling.py"
    assert made.compiled == len(made.compilations) == 12


def test_lines_around_are_those_that_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "train.py"
    file.write_text("a\nb\nc\npassword = 'hunter22'\ne\nf\n", encoding="utf-8")
    os.utime(file, (1, 1))
    monkeypatch.chdir(tmp_path)
    process = [{"process": 0, "host": socket.gethostname()}]
    of_now = evidence({"process": process}, began_ns=2 * 10**9, root=str(tmp_path))
    lines = lines_around(of_now, str(file), 3, 2)
    assert [number for number, _ in lines] == [1, 2, 3, 4, 5]
    assert "hunter22" not in str(lines)
    os.utime(file, (3, 3))
    assert lines_around(of_now, str(file), 3, 2) == []


def test_nothing_is_drawn_unless_a_format_draws() -> None:
    selection = Selection(load_rules())
    drawn = doctor.examine(str(SAMPLES / "scalar_read"), selection).diagnosis.pictures
    assert drawn == Pictures()  # but for lines around, which this machine does not have


def test_processes_are_side_by_side_where_there_are_several() -> None:
    rows = [
        step(n, process=process, duration_ns=2_000_000 * (process + 1), read_ns=500_000)
        for process in (0, 1)
        for n in range(10)
    ]
    named = [
        {"process": process, "host": f"tpu-{process}", "rank": 3 + process} for process in (0, 1)
    ]
    first, second = process_steps(evidence({"step": rows, "process": named}))
    assert (first.name, second.name) == ("process 0 (rank 3, tpu-0)", "process 1 (rank 4, tpu-1)")
    assert first.seconds == pytest.approx(0.002)
    assert second.parts == {"read": pytest.approx(0.0005), "python": pytest.approx(0.0035)}
    assert process_steps(evidence({"step": rows[:10]})) == []


def test_threads_of_a_process_are_processes_side_by_side_too() -> None:
    first, second = pictures("two_threads").processes
    assert first.name.startswith("process 0, thread ")  # both are of its rank
    assert first.name != second.name
    assert sum(first.parts.values()) == pytest.approx(first.seconds)


def test_threads_have_the_names_that_people_give_them() -> None:
    names = {1: "tf_XLAEigen/871", 2: "pt_autograd_0", 5: "tf_XLAEigen/-42", 7: None, 8: "python"}
    assert thread_names(names) == {
        1: "XLAEigen 1",
        2: "pt_autograd_0",
        5: "XLAEigen 2",
        7: "7",
        8: "python",
    }
    lanes = {lane.name for step in pictures("two_threads").shown for lane in step.lanes}
    assert {"thread pytorchxla 1", "thread pytorchxla 2", "thread python"} <= lanes


def test_steps_of_the_timeline_have_the_numbers_of_the_chart() -> None:
    """Of three barriers each, of which the timeline has the ninth to the twelfth."""
    rows = [step(index, begin_ns=1_000_000 * index) for index in range(15)]
    traced = [
        {
            **defaults("timeline_step"),
            "step": index,
            "joined": True,
            "begin_ns": 1_000_000 * index,
            "duration_ns": 1_000_000 + index,
            "compile_ns": 10 * (index >= 10),
        }
        for index in range(8, 12)
    ]
    period = {**defaults("step_period"), "barriers": 3}
    made = evidence({"step": rows, "timeline_step": traced, "step_period": [period]})
    shown = step_pictures(made, [])
    assert [(each.step, each.part, each.titles) for each in shown] == [
        (
            3,
            "barrier 3 of 3",
            ["a typical step in the timeline", "the slowest step in the timeline"],
        ),
        (3, "barrier 2 of 3", ["the first step in the timeline that compiled"]),
    ]
    without = evidence(
        {
            "step": rows[8:12],
            "timeline_step": [{**row, "joined": False, "step": row["step"] + 5} for row in traced],
        }
    )
    assert {each.step for each in step_pictures(without, [])} <= {8, 9, 10, 11}
