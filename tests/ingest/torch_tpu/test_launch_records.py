"""Launches in the log of TORCH_TRACE, as torch_tpu 0.2.0 wrote it on a CPU; see the two logs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.doctor import load_evidence
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.recorded_elsewhere import read_elsewhere
from xladoctor.recording.bootstrap._xladoctor.torch_tpu.course import Course, Cycles
from xladoctor.recording.bootstrap._xladoctor.torch_tpu.executables import Place, executable
from xladoctor.recording.bootstrap._xladoctor.torch_tpu.grouping import Grouping

HERE = Path(__file__).parent
TRAINING = gzip.decompress((HERE / "training.log.gz").read_bytes()).decode()
SLICES = (HERE / "slices.log").read_text(encoding="utf-8")
TRAIN = "/home/ada/train.py"


def read(folder: Path, text: str) -> Ingested:
    (folder / "dedicated_log_torch_trace_x.log").write_text(text, encoding="utf-8")
    return read_elsewhere([folder])


def rows(ingested: Ingested, table: str, *names: str) -> list[tuple[Any, ...]]:
    columns = ingested.tables.get(table)
    return [*zip(*(columns[name] for name in names), strict=True)] if columns else []


def launch(name: str, graph: str = "", ts: int = 1, **args: Any) -> str:
    """The records of a launch, of a new executable if it has a graph."""
    said = {"cache_hit": not graph, "compile_failed": False, "reason": "debug_mode", **args}
    event = {"name": f"torchtpu_eager/{name}", "ph": "X", "ts": ts, "dur": 5, "args": said}
    kept = {"name": "torchtpu_eager_aten_graph", "op_name": f"torchtpu_eager/{name}", **said}
    return _record({"chromium_event": {}}, json.dumps(event)) + _record({"artifact": kept}, graph)


def _record(fields: dict[str, Any], payload: str) -> str:
    head = "V1127 14:31:00.000000 77 torch_tpu/_internal/tracing/__init__.py:54]"
    lines = "".join(f"\t{line}\n" for line in payload.splitlines())
    return f"{head} {json.dumps(fields)}\n{lines}"


def graph(operator: str, *shapes: str, at: str = "/home/ada/a.py:3 in f") -> str:
    inputs = "".join(f"%{n}: {shape} = input\n" for n, shape in enumerate(shapes))
    return f"# Graph: 1 ops\n{inputs}%9: f32[1] = {operator}(%0)    # {at}\nreturn %9\n"


def test_launches_are_counted_at_the_lines_of_their_operators(tmp_path: Path) -> None:
    ingested = read(tmp_path, TRAINING)

    assert rows(ingested, "launch", "count", "operations", "file", "line", "via") == [
        (18, True, TRAIN, 10, ""),
        (13, True, TRAIN, 17, ""),  # pow and mean; the first pow of a gradient, too
        (6, True, TRAIN, 19, ""),
        (41, True, TRAIN, 19, "backward"),
        (6, True, TRAIN, 20, ""),
    ]
    assert ingested.tables["process"]["frontend"] == ["torch_tpu"]
    assert ingested.tables["process"]["pid"] == [13884]


def test_changed_sizes_are_named(tmp_path: Path) -> None:
    ingested = read(tmp_path, TRAINING)

    assert rows(ingested, "key_change", "index", "against", "what", "argument", "was", "now") == [
        (5, 0, "shape", "input 0 of linear", "f32[2,4]", "f32[3,4]"),
        (6, 0, "shape", "input 0 of linear", "f32[2,4]", "f32[5,4]"),
    ]
    compiled = rows(ingested, "compilation", "line", "ordinal", "launches", "step", "duration_ns")
    assert compiled[5:] == [(10, 3, 6, None, None), (10, 4, 6, None, None)]


def test_the_log_is_of_no_time_and_says_so(tmp_path: Path) -> None:
    read(tmp_path, TRAINING)

    evidence = load_evidence(str(tmp_path))
    assert evidence.frontend == "torch_tpu"
    assert "step" not in evidence.available
    (note,) = evidence.notes
    assert "84 launches" in note
    assert "neither steps nor compile times" in note


def test_slices_of_one_shape_are_told_apart_by_their_place(tmp_path: Path) -> None:
    ingested = read(tmp_path, SLICES)

    assert (
        rows(ingested, "key_change", "what", "argument")
        == [("offset", "the slice that mul reads")] * 2
    )
    assert rows(ingested, "compilation", "line", "ordinal", "launches") == [
        (8, 0, 3),
        (8, 1, 3),
        (8, 2, 3),
    ]


def test_other_groups_of_deferred_operators_are_a_cause(tmp_path: Path) -> None:
    def chain(*operators: str) -> str:
        called = "".join(
            f"%{n}: f32[8,4] = {operator}(%0)    # /home/ada/a.py:3 in f\n"
            for n, operator in enumerate(operators, 1)
        )
        return f"# Graph\n%0: f32[8,4] = input\n{called}return %1\n"

    learnt, read_ = "repeated_op_heuristic", ".cpu()"
    step = launch("relu", graph("relu", "f32[1]", at="/home/ada/torch/optim/sgd.py:9 in step"))
    ingested = read(
        tmp_path,
        launch("tanh", chain("relu", "tanh", "relu", "tanh"), reason=learnt)
        + step
        + launch("tanh", chain("relu", "tanh"), reason=read_)
        + launch("relu")
        + launch("tanh", chain("relu", "tanh").replace("8,4", "7,4"), reason=read_)
        + launch("relu"),
    )

    assert rows(ingested, "key_change", "what", "argument", "was", "now") == [
        ("chain", "the chain that .cpu() ended", "relu, tanh, relu and 1 more", "relu, tanh"),
        ("shape", "input 0 of relu", "f32[8,4]", "f32[7,4]"),
    ]


def test_launches_of_compiled_functions_are_no_operators(tmp_path: Path) -> None:
    text = launch("f", reason="compile_mode_execution") * 3 + launch(
        "relu", graph("relu", "f32[2]")
    )
    ingested = read(tmp_path, text)

    assert rows(ingested, "launch", "count", "operations", "file") == [
        (1, True, "/home/ada/a.py"),
        (3, False, None),
    ]


def test_log_without_operators_is_known_by_its_graphs(tmp_path: Path) -> None:
    text = _record({"artifact": {"name": "torchtpu_stablehlo_graph"}}, "module @f {}")
    ingested = read(tmp_path, text)

    assert ingested.tables["process"]["frontend"] == ["torch_tpu"]
    assert "launch" not in ingested.tables


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (launch("relu", graph("relu", "f32[2]")[:-12]), "1 new executables have no text"),
        (launch("relu", cache_hit="maybe"), "none that TorchTPU writes"),
        (launch("relu", graph("relu", "f32[2]")) + launch("tanh"), "compiled for tanh is missing"),
    ],
)
def test_what_is_missing_is_a_loss(tmp_path: Path, text: str, note: str) -> None:
    ingested = read(tmp_path, launch("add", graph("add", "f32[2]")) + text)

    assert any(note in lost for lost in ingested.lost)
    assert "compilation" in ingested.cut


def test_what_is_not_known_and_what_failed_are_notes(tmp_path: Path) -> None:
    text = _record({"artifact": {"name": "torchtpu_of_tomorrow"}}, "x")
    text += launch("add", graph("add", "f32[2]"), compile_failed=True)
    ingested = read(tmp_path, text)

    notes = "\n".join(ingested.notes)
    assert "1 records torchtpu_of_tomorrow, which are not read" in notes
    assert "1 executables could not be compiled, the first of add" in notes
    assert not ingested.lost


def test_graph_whose_event_is_lost_counts(tmp_path: Path) -> None:
    text = launch("add", graph("add", "f32[2]"))
    ingested = read(tmp_path, text[text.index("V1127", 1) :])

    assert rows(ingested, "launch", "count", "line") == [(1, 3)]


def test_steps_are_counted_though_nothing_more_is_compiled() -> None:
    cycles = Cycles()
    new = {
        "relu": executable(graph("relu", "f32[2]"), "relu"),
        "mul": executable(graph("mul", "f32[2]", at="/e/torch/optim/sgd.py:4 in f"), "mul"),
    }
    first = [cycles.step_of(name, new[name]) for name in ("relu", "mul", "mul")]
    later = [cycles.step_of(name, None) for name in ("relu", "mul", "mul") * 3]

    assert first == [None, 0, 0]
    assert later == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert cycles.count == 4


def test_backward_passes_have_what_is_launched_between_their_new_executables() -> None:
    course = Course()
    for operator, line, whole in (("mul", 3, False), ("add", 4, False), ("neg", 9, True)):
        course.note(operator, line, whole)
    course.go(9, True)
    assert course.next_site("mul") == 3, "not known yet to be launched there, too"
    course.go(9, True)
    course.note("sign", 9, True)

    launched = ["mul", "add", "neg", "mul", "mul", "sign", "mul", "add", "mul"]
    assert [course.next_site(operator) for operator in launched] == [9, 4, 9, 9, 9, 9, 9, 4, 9]


def test_executables_of_an_operator_take_turns_at_their_lines() -> None:
    course = Course()
    for line in (3, 3, 5):
        course.note("mul", line, whole=False)

    assert [course.next_site("mul") for _ in range(6)] == [3, 3, 5] * 2
    assert course.next_site("add") is None


def test_what_a_read_compiles_is_at_the_line_that_reads() -> None:
    wrapper = "/lib/_xladoctor/pytorch/transfers.py:86 in read"
    cut = missed("as_strided", graph("as_strided", at=wrapper))
    grouping = Grouping(lambda file: file.startswith("/home"), _whole, print)
    for line in (5, 7):
        grouping.read = ("/home/ada/a.py", line, "f")
        grouping.add([missed("neg", graph("neg")), cut], now=line, last=False)
    later = grouping.add([cut], now=8, last=False)

    assert [group.site[1] for group in grouping.pending] == [3, 5, 3, 7]
    assert len(later) == 1, "without a read its line is not known yet"


def test_layers_of_one_line_are_compiled_for_the_same_new_size() -> None:
    grouping = Grouping(lambda file: True, _whole, print)
    for step, rows in ((0, 8), (3, 4)):
        layers = [missed("convolution", graph("convolution", f"f32[{rows}, 16]", "f32[16]"))] * 2
        grouping.add(layers, now=step, last=False)

    assert [(group.step, [*group.changes]) for group in grouping.pending] == [
        (0, []),
        (0, [("static", "a Python number given to convolution", "", "")]),
        (3, [("shape", "input 0 of convolution", "f32[8,16]", "f32[4,16]")]),
        (3, [("shape", "input 0 of convolution", "f32[8,16]", "f32[4,16]")]),
    ]


def test_what_is_made_for_each_parameter_has_not_changed() -> None:
    """The line that an optimizer makes its state at is not known."""
    grouping = Grouping(lambda file: False, _whole, print)
    for step, shape in ((1, "f32[64,64]"), (3, "f32[1,64]")):
        text = f"%0: {shape} = zeros_like()"
        grouping.add([missed("zeros_like", text)], now=step, last=True)

    assert [(group.changes, group.ordinal) for group in grouping.pending] == [((), 0), ((), 0)]


def test_lines_that_another_phase_compiles_again_are_one_change() -> None:
    grouping = Grouping(lambda file: True, _whole, print)
    for step, shape in ((0, "f32[8, 9, 16]"), (3, "f32[4, 7, 11]"), (4, "f32[2, 5, 13]")):
        layers = [
            missed("mul", graph("mul", shape, at=f"/home/ada/a.py:{line} in f")) for line in (3, 5)
        ]
        grouping.add(layers, now=step, last=False)

    assert [(each.step, each.site[1], each.executables) for each in grouping.pending] == [
        (0, 3, 1),
        (0, 5, 1),
        (3, 3, 2),
        (4, 3, 2),
    ]


def test_gradients_of_another_parameter_are_no_other_batch() -> None:
    def new(operator: str, shape: str, at: str) -> dict[str, Any]:
        return missed(operator, graph(operator, shape, shape, at=at))

    nowhere, layer = "nowhere", "/home/ada/a.py:3 in f"
    grouping = Grouping(lambda file: file.startswith("/home"), _whole, print)
    grouping.backward = "/home/ada/a.py", 9, "f"
    grouping.add([new("mul", "f32[8, 4]", layer), new("add", "f32[50304, 4]", nowhere)], 1, False)
    grouping.add([new("add", "f32[128, 4]", nowhere)], now=2, last=False)
    later = new("mul", "f32[6, 4]", layer), new("add", "f32[37728, 4]", nowhere)
    grouping.add([*later], now=3, last=False)

    groups = grouping.pending
    assert [(group.site[1], group.executables, len(group.changes)) for group in groups] == [
        (3, 1, 0),
        (9, 1, 0),
        (9, 1, 0),
        (3, 2, 2),
    ]


def missed(name: str, text: str) -> dict[str, Any]:
    """A launch of an operator that needed a new executable."""
    found = executable(text, name)
    times = {"step": None, "ts_us": 1, "dur_us": 1}
    return {"name": name, "executable": found, "reason": "debug_mode", **times}


def _whole(place: Place) -> Place:
    return place


_LINES = TRAINING.splitlines(keepends=True)


@given(st.lists(st.tuples(st.integers(0, len(_LINES)), st.integers(0, 40)), max_size=6))
def test_holes_lose_no_more_than_they_hold(
    tmp_path_factory: pytest.TempPathFactory, holes: list[tuple[int, int]]
) -> None:
    lines = [*_LINES]
    for begin, length in holes:
        lines[begin : begin + length] = [""] * len(lines[begin : begin + length])
    text = "".join(lines)
    if not text.startswith("V"):
        text = _LINES[0] + text
    ingested = read(tmp_path_factory.mktemp("log"), text)

    counted = sum(count for (count,) in rows(ingested, "launch", "count"))
    whole = text.count('{"artifact": {"name": "torchtpu_eager_aten_graph"')
    assert whole <= counted <= 84 + 1


@given(st.text())
def test_any_text_of_a_graph_is_read(text: str) -> None:
    found = executable(text, "relu.out")

    assert found.operator
    assert found.inputs <= len(found.shapes)
