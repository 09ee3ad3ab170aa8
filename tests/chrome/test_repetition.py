"""Steps of loops that nothing marks; equal layers of one model are none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.chrome.builder import BACKWARD, Trace
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence

LAYER = ("aten::layer_norm", "aten::linear", "aten::relu")
MODEL = ("aten::embedding", *(LAYER * 4), "aten::linear")
REGION = "Torch-Compiled Region: 0/0"
BATCH = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
READ, PASS, GRAPH = "aten::item", "autograd::engine::evaluate_function: MmBackward0", "graph"


def traced(*names: str) -> Trace:
    """Events one after another, 100 µs each; a graph is launched, of whatever is in it."""
    trace = Trace()
    for place, name in enumerate(names):
        at = 100.0 * place
        if name == GRAPH:
            trace.launch("gemm", at, at + 10, 50, by="cudaGraphLaunch")
        elif name == PASS:
            trace.event(name, at, 90, thread=BACKWARD)
        elif name.startswith("label"):
            trace.label(name, at, 90)
        else:
            trace.event(name, at, 90)
    return trace


def steps(folder: Path, trace: Trace) -> tuple[object, ...]:
    """What steps are from, how many and how long; nothing where all of it is taken as one."""
    evidence = load_evidence(str(trace.write(folder / "trace.json")))
    (found,) = evidence.database.table(
        "SELECT nullif(any_value(steps_from), 'span'), count(s.step),"
        " (median(s.duration_ns) / 1000)::INTEGER"
        " FROM timeline t LEFT JOIN divided_step s USING (process)"
    )[1]
    notes = [note for note in evidence.notes if "nothing marks steps" in note]
    assert len(notes) == 1
    return found


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((*MODEL, READ) * 5, ("repetition", 5, 1500)),
        ((*MODEL, READ) * 2, (None, 0, None)),
        ((*MODEL, PASS) * 6, ("repetition", 6, 1500)),
        (
            ("aten::randn", "aten::randn", *((*MODEL, READ) * 5), *MODEL[:3]),
            ("repetition", 5, 1500),
        ),
        ((*((*MODEL, READ) * 5), "aten::mean"), (None, 0, None)),
        (MODEL * 5, (None, 0, None)),
        (LAYER * 12, (None, 0, None)),
        ((*MODEL[:1], *((*LAYER, READ) * 12), *MODEL[-1:]), (None, 0, None)),
        (("label 1", "label 2", "label 3"), ("repetition", 3, 100)),
        (
            (
                "label of layer 1",
                "aten::linear",
                "label of layer 2",
                "aten::linear",
                "label of layer 3",
                "aten::linear",
                "aten::softmax",
            ),
            (None, 0, None),
        ),
        (("aten::embedding", *(("aten::attention", GRAPH) * 6), "aten::softmax"), (None, 0, None)),
        ((GRAPH, "aten::argmax") * 5, ("repetition", 5, 200)),
        ((BATCH, *MODEL) * 4, ("batches", 4, 1500)),
        ((*((BATCH, *MODEL) * 4), BATCH, *((BATCH, *MODEL) * 4), BATCH), ("batches", 8, 1500)),
    ],
)
def test_what_repeats(tmp_path: Path, names: Sequence[str], expected: tuple[object, ...]) -> None:
    assert steps(tmp_path, traced(*names)) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((REGION,) * 5, ("executions", 5, 100)),
        ((REGION, "aten::mean", READ) * 5, ("executions", 5, 300)),
        (("aten::embedding", *((REGION,) * 4), "aten::softmax") * 5, ("repetition", 5, 600)),
        (("aten::embedding", *((REGION,) * 4), "aten::softmax"), (None, 0, None)),
        ((*((REGION,) * 4), "Optimizer.step#SGD.step", "aten::mean") * 4, ("executions", 4, 600)),
    ],
)
def test_a_compiled_function_that_is_called_several_times_a_step(
    tmp_path: Path, names: Sequence[str], expected: tuple[object, ...]
) -> None:
    assert steps(tmp_path, traced(*names)) == expected


@pytest.mark.parametrize(
    ("names", "each"),
    [
        (("label 1", "label 2", "label 3"), "label 1"),
        ((BATCH, *MODEL) * 4, "one batch"),
        (
            (*MODEL, READ) * 5,
            "one repetition of 15 operators, labels and launches, the first aten::embedding,",
        ),
    ],
)
def test_a_note_says_what_steps_are(tmp_path: Path, names: Sequence[str], each: str) -> None:
    path = traced(*names).write(tmp_path / "trace.json")
    assert load_evidence(str(path)).notes == (
        f"{path}: nothing marks steps; they are taken to go from {each} to the next",
    )


def test_a_mark_around_an_epoch_is_no_step(tmp_path: Path) -> None:
    trace = Trace().step(2, 0, 80_000)
    for number in range(8):
        at = number * 10_000.0
        trace.label("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 6_000)
        trace.event("<string>(1): <module>", at, 9_000, "python_function")
        trace.event("aten::mm", at + 6_100, 50).launch("gemm", at + 6_110, at + 6_120, 3_800)
    evidence = load_evidence(str(trace.write(tmp_path / "trace.json")))
    assert evidence.database.table(
        "SELECT steps_from, count(*), count(*) FILTER (steady) FROM timeline"
        " JOIN timeline_step USING (process) GROUP BY ALL"
    )[1] == [("batches", 8, 8)]
    assert any(
        note.endswith(
            ": ProfilerStep marks 1 step, in which more is repeated; steps are taken to go from one"
            " batch to the next"
        )
        for note in evidence.notes
    )
    assert {finding.rule for finding in diagnose(evidence, load_rules()).findings} == {"XD501"}


@pytest.mark.parametrize(
    ("updates", "expected"), [(1, ("ProfilerStep", 2)), (4, ("executions", 8))]
)
def test_batches_whose_gradients_are_added_up_are_no_steps(
    tmp_path: Path, updates: int, expected: tuple[str, int]
) -> None:
    trace = Trace()
    for number in range(16):
        at = number * 10_000.0
        if number % 8 == 0:
            trace.step(number // 8, at, 80_000)
        trace.label("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 100)
        trace.event("aten::mm", at + 6_100, 50).launch("gemm", at + 6_110, at + 6_120, 3_800)
        if (number + 1) % (8 // updates) == 0:
            trace.label("Optimizer.step#SGD.step", at + 7_000, 100)
    evidence = load_evidence(str(trace.write(tmp_path / "trace.json")))
    assert evidence.database.table(
        "SELECT steps_from, count(*) FROM timeline JOIN timeline_step USING (process) GROUP BY ALL"
    )[1] == [expected]


def test_two_marks_with_one_batch_each_are_steps(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(2):
        at = number * 10_000.0
        trace.step(number + 5, at, 10_000)
        trace.label("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 100)
        trace.event("aten::mm", at + 6_100, 50).launch("gemm", at + 6_110, at + 6_120, 3_800)
    evidence = load_evidence(str(trace.write(tmp_path / "trace.json")))
    assert evidence.database.scalar("SELECT steps_from FROM timeline") == "ProfilerStep"
