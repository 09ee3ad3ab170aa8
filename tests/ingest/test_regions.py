"""Labels that a program puts around its parts: how they nest, and what ran meanwhile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.loop_trace import Trace, loop
from tests.ingest.test_records import compiled, evidence_of
from tests.support import Row
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.ingest.xplane.nesting import innermost, nest


def labelled(*labels: tuple[str, float, float], trace: Trace | None = None) -> Trace:
    """A loop of three steps with labels: name, begin, end."""
    trace = trace or loop(3)
    for name, begin, end in labels:
        trace.python.event(name, begin, end - begin)
    return trace


def regions(trace: Trace, folder: Path) -> list[Row]:
    return evidence_of(trace, folder).database.rows(
        "SELECT path, step, duration_ns / 1e3 AS us, self_ns / 1e3 AS own, launches,"
        " device_ns / 1e3 AS device, idle_ns / 1e3 AS idle FROM region ORDER BY region"
    )


def test_labels_nest_and_tell_the_time_without_inner_ones(tmp_path: Path) -> None:
    trace = labelled(
        ("step", 200, 1000), ("forward", 300, 500), ("block", 310, 400), ("forward", 1300, 1400)
    )
    rows = regions(trace, tmp_path)
    assert [(r["path"], r["step"], r["us"], r["own"]) for r in rows] == [
        ("step", 1, 800, 600),
        ("step > forward", 1, 200, 110),
        ("step > forward > block", 1, 90, 90),
        ("forward", 2, 100, 100),
    ]


def test_a_label_tells_what_it_launched_and_how_long_the_device_was_idle(tmp_path: Path) -> None:
    """The graph of the barrier at 1100 runs from 1150 to 1650."""
    (row,) = regions(labelled(("train", 1050, 1850)), tmp_path)
    assert (row["launches"], row["device"], row["idle"]) == (1, 500, 300)


def test_what_the_runtime_does_is_no_label(tmp_path: Path) -> None:
    trace = labelled(
        ("tuple-simplifier", 1106, 1107),
        ("$train.py:4 step", 200, 300),
        ("PjRtBuffer::Delete", 400, 410),
        ("SetTensorData", 420, 430),
        ("instant", 500, 500),
        trace=compiled(loop(2), 1105, "step"),
    )
    assert regions(trace, tmp_path) == []


def test_passes_of_a_compilation_that_the_timeline_cuts_off_are_no_labels(tmp_path: Path) -> None:
    trace = labelled(
        ("train", 200, 300),
        ("simplification", 400, 600),
        ("dce", 410, 500),
        ("RunInvariantCheckers", 420, 430),
        ("scheduling", 610, 620),
        ("fusion", 700, 800),
        ("RunInvariantCheckers", 750, 760),
        ("Canonicalizer", 810, 820),
        ("evaluate", 1500, 1600),
    )
    assert [row["path"] for row in regions(trace, tmp_path)] == ["train", "evaluate"]


def test_nor_are_those_of_one_that_had_begun_before(tmp_path: Path) -> None:
    trace = labelled(
        ("simplification", 1, 20),
        ("RunInvariantCheckers", 5, 6),
        ("scheduling", 22, 30),
        ("emit", 31, 40),
        ("log", 990, 1200),
        ("evaluate", 1500, 1600),
    )
    assert [row["path"] for row in regions(trace, tmp_path)] == ["log", "evaluate"]


def test_operations_of_a_graph_that_the_timeline_cuts_off_are_no_labels(tmp_path: Path) -> None:
    trace = labelled(("train", 200, 300), ("evaluate", 1500, 1600))
    trace.python.event("multiply_fusion", 310, 5, hlo_op="multiply_fusion", hlo_module="jit_step")
    assert [row["path"] for row in regions(trace, tmp_path)] == ["train", "evaluate"]


def test_labels_inside_a_wait_for_input_are_the_programs(tmp_path: Path) -> None:
    trace = labelled(("decode", 310, 390), trace=loop(2).call("input", 300, 400))
    assert [row["path"] for row in regions(trace, tmp_path)] == ["decode"]


def test_many_labels_that_differ_in_a_number_are_shown_as_one(tmp_path: Path) -> None:
    many = [(f"step {at}", 200.0 + 10 * at, 205.0 + 10 * at) for at in range(9)]
    few = [(f"layer{at}", 1300.0 + 10 * at, 1305.0 + 10 * at) for at in range(8)]
    paths = {row["path"] for row in regions(labelled(*many, *few), tmp_path)}
    assert paths == {"step N", *(name for name, _, _ in few)}


@pytest.mark.parametrize(
    ("begin", "numbered", "said"),
    [
        (1090.0, {}, True),
        (1090.0, {"step_num": 3}, False),
        (1090.0, {"_r": 1}, False),
        (1110.0, {}, False),
    ],
)
def test_a_label_around_a_barrier_is_reported_unless_it_is_a_steps(
    begin: float, numbered: dict[str, int], said: bool, tmp_path: Path
) -> None:
    trace = loop(3)
    trace.python.event("update", begin, 60, **numbered)
    found = diagnose(evidence_of(trace, tmp_path), load_rules()).findings
    assert ("XD308" in {finding.rule for finding in found}) == said


def test_a_finding_without_lines_is_placed_by_the_label_it_happened_in(tmp_path: Path) -> None:
    """Reads in each of ten steps, eight of them within a label."""
    trace = loop(10)
    for step in range(1, 10):
        at = 1000 * step - 200
        trace.graph(at).transfer("From", at + 25, at + 60)
        if step > 1:
            labelled(("log", at - 10, at + 70), trace=trace)
    diagnosis = diagnose(evidence_of(trace, tmp_path), load_rules())
    (finding,) = [finding for finding in diagnosis.findings if finding.rule == "XD201"]
    assert (finding.locations, finding.place) == ([], 'within your label "log" (89% of it)')
    assert [(label.path, label.count) for label in diagnosis.labels] == [("log", 8)]


@given(spans=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12))), at=st.integers(-1, 45))
def test_the_innermost_label_of_an_instant(spans: list[tuple[int, int]], at: int) -> None:
    """As told by looking at all labels, cut as their enclosing ones are."""
    spans = sorted(spans, key=lambda span: (span[0], -span[1]))
    begin = np.array([start for start, _ in spans], np.int64)
    lasted = np.array([length for _, length in spans], np.int64)
    _, _, parent = nest(begin, lasted)
    end = begin + lasted
    for number in range(len(end)):
        if parent[number] >= 0:
            end[number] = min(end[number], end[parent[number]])
    inside = [number for number in range(len(end)) if begin[number] <= at < end[number]]
    found = innermost(begin, end, parent, np.array([at]))
    assert found[0] == (inside[-1] if inside else -1)
