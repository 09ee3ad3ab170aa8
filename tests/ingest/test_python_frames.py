"""Python functions that a profiler's tracer recorded: places for what they enclose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.loop_trace import Trace, loop
from tests.ingest.test_records import compiled, evidence_of, queried
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.ingest.timeline.python_frames import paths_by_name

_THREAD = 1  # of the loop, as the trace numbers it


def traced(trace: Trace, *calls: tuple[str, float, float]) -> Trace:
    """With the events of a Python tracer: name, begin, end."""
    for name, begin, end in calls:
        trace.python.event(name, begin, end - begin)
    return trace


def reading(steps: int) -> Trace:
    """A read in each step but the first, in a function of the program's own and in array.py."""
    trace = Trace()
    for step in range(steps):
        at = 1000 * step + 100
        trace.barrier(at).run(at + 50, at + 550)
        if step:
            trace.graph(at + 600).transfer("From", at + 625, at + 675)
            traced(
                trace,
                ("$train.py:41 log", at + 590, at + 690),
                ("$contextlib.py:9 __enter__", at + 592, at + 680),
                ("$array.py:298 __float__", at + 595, at + 680),
                ("$<unknown> get", at + 596, at + 679),
                ("$builtins float", at + 597, at + 679),
            )
    return trace


def test_reads_are_in_the_programs_innermost_function(tmp_path: Path) -> None:
    rows = queried(
        evidence_of(reading(3), tmp_path), "SELECT file, line, function, count FROM host_sync"
    )
    assert [tuple(row.values()) for row in rows] == [("train.py", 41, "log", 1)] * 2


def test_a_finding_has_the_function_and_a_note_says_what_its_line_is(tmp_path: Path) -> None:
    diagnosis = diagnose(evidence_of(reading(20), tmp_path), load_rules())
    (finding,) = [finding for finding in diagnosis.findings if finding.rule == "XD201"]
    (place,) = finding.locations
    assert (place.file, place.line, place.function) == ("train.py", 41, "log")
    assert "in log" in finding.message
    assert any("lines are those at which functions begin" in note for note in diagnosis.warnings)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("$model.py:7 forward", ("model.py", 7, "forward")),
        ("src/model.py(7): forward", ("src/model.py", 7, "forward")),
        ("torch/nn/modules/module.py(1773): _call_impl", (None, None, None)),
        ("$<string>:2 __init__", (None, None, None)),
        ("$model.py:99999999999999999999 forward", (None, None, None)),
    ],
)
def test_compilations_of_barriers_and_reads_have_their_function(
    name: str, place: tuple[str | None, int | None, str | None], tmp_path: Path
) -> None:
    trace = traced(compiled(loop(2), 1105, "graph"), (name, 1090, 1140))
    (row,) = queried(
        evidence_of(trace, tmp_path), "SELECT file, line, function, via FROM compilation"
    )
    assert (row["file"], row["line"], row["function"]) == place
    assert row["via"] == ("" if place[0] else "barrier")


def test_functions_may_be_in_a_plane_of_their_own(tmp_path: Path) -> None:
    """As older releases of XProf write them: the same thread, another plane."""
    trace = compiled(loop(2), 1105, "graph")
    line = trace.space.plane("/host:python-tracer").line("python", id=_THREAD)
    line.event("$train.py:3 main", 1000, 500)
    (row,) = queried(evidence_of(trace, tmp_path), "SELECT file, line FROM compilation")
    assert (row["file"], row["line"]) == ("train.py", 3)


def test_a_name_without_folders_is_that_of_the_only_file_with_it() -> None:
    site = "/lib/python3.11/site-packages"
    files = [
        f"{site}/flax/nnx/compilation.py",
        "/home/ada/train.py",
        None,
        "/home/ada/core.py",
        "/home/ada/model.py",
        f"{site}/flax/nnx/model.py",
    ]
    assert paths_by_name(files) == {
        "compilation.py": f"{site}/flax/nnx/compilation.py", "train.py": "/home/ada/train.py",
    }  # fmt: skip  # core.py may be JAX's, model.py either's
