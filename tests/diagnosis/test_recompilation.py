"""Why a call site compiled again: what is compared with what, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Row, evidence
from xladoctor.diagnosis.recompilation import causes, shape_text

TRAIN, DATA = "/home/ada/train.py", "/home/ada/data.py"
UNKNOWN = {"basis": None, "parameter": None, "from_shape": None, "to_shape": None,
           "dimension": None, "value": None, "made_role": None, "made_file": None,
           "made_line": None,
           "made_function": None}  # fmt: skip


def compiled(index: int, graph: str, line: int = 40, **columns: Any) -> Row:
    return {"process": 0, "thread": 1, "index": index, "step": index, "graph_hash": graph,
            "file": TRAIN, "line": line, "via": "", "cause": "user torch_xla.sync",
            **columns}  # fmt: skip


def parameter(graph: str, number: int, shape: list[int], kind: str = "f32", **site: Any) -> Row:
    place = {"file": DATA, "line": 88, "function": "load", **site}
    return {"process": 0, "program_id": 1, "graph_hash": graph, "number": number, "shape": shape,
            "type": kind, **place}  # fmt: skip


def sent(step: int, shape: list[int], kind: str = "f32", **columns: Any) -> Row:
    return {"process": 0, "thread": 1, "step": step, "direction": "to_device", "shape": shape,
            "dtype": kind, "file": DATA, "line": 88, "function": "load", **columns}  # fmt: skip


def found(compilations: list[Row], **tables: list[Row]) -> list[Row]:
    columns = causes(evidence({"compilation": compilations, **tables}).database)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def why(compilations: list[Row], **tables: list[Row]) -> Row:
    (row,) = found(compilations, **tables)
    return row


TWICE = [compiled(0, "a"), compiled(1, "b")]


def test_parameter_whose_shape_changed() -> None:
    cause = why(TWICE, hlo_parameter=[
        parameter("a", 0, [4, 4]), parameter("a", 1, [16, 64]),
        parameter("b", 0, [4, 4]), parameter("b", 1, [17, 64]),
    ])  # fmt: skip
    assert cause == {
        "process": 0, "index": 1, "kind": "input_shape", "basis": "hlo", "parameter": 1,
        "from_shape": "f32[16,64]", "to_shape": "f32[17,64]", "dimension": 0, "value": 17,
        "made_role": "used", "made_file": DATA, "made_line": 88, "made_function": "load",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("new", "kind", "dimension", "value"),
    [
        (parameter("b", 0, [16, 65]), "input_shape", 1, 65),
        (parameter("b", 0, [16]), "input_shape", None, None),
        (parameter("b", 0, [16, 64], "bf16"), "input_type", None, None),
        (parameter("b", 0, [8, 64], "bf16"), "input_type", 0, 8),
        (parameter("b", 0, [16, 64], line=90), "graph", None, None),
    ],
    ids=["second dimension", "fewer dimensions", "type", "type and shape", "another line"],
)
def test_kind_of_change(new: Row, kind: str, dimension: int | None, value: int | None) -> None:
    cause = why(TWICE, hlo_parameter=[parameter("a", 0, [16, 64]), new])
    assert (cause["kind"], cause["dimension"], cause["value"]) == (kind, dimension, value)


def test_number_of_inputs_changed() -> None:
    cause = why(TWICE, hlo_parameter=[
        parameter("a", 0, [4]), parameter("b", 0, [4]), parameter("b", 1, [4]),
    ])  # fmt: skip
    assert cause == {"process": 0, "index": 1, "kind": "input_count", **UNKNOWN, "basis": "hlo",
                     "from_shape": "1 inputs", "to_shape": "2 inputs"}  # fmt: skip


def test_earlier_graph_that_is_most_alike_is_compared() -> None:
    compilations = [compiled(0, "a"), compiled(1, "b"), compiled(2, "c")]
    shapes = {"a": ([8], [4]), "b": ([9], [5]), "c": ([7], [4])}
    parameters = [parameter(graph, n, shape) for graph, pair in shapes.items()
                  for n, shape in enumerate(pair)]  # fmt: skip
    assert [row["from_shape"] for row in found(compilations, hlo_parameter=parameters)] == [
        "f32[8]", "f32[8]",
    ]  # fmt: skip


def test_parameter_with_a_line_is_named_before_one_of_the_backward_pass() -> None:
    cause = why(TWICE, hlo_parameter=[
        parameter("a", 0, [1], file=None), parameter("a", 1, [2]),
        parameter("b", 0, [3], file=None), parameter("b", 1, [4]),
    ])  # fmt: skip
    assert cause["parameter"] == 1


def test_shape_that_comes_from_a_fallback_depends_on_the_data() -> None:
    tables = {
        "hlo_parameter": [parameter("a", 0, [3]), parameter("b", 0, [5])],
        "fallback": [{"process": 0, "op": "aten::nonzero", "count": 2, "file": DATA, "line": 88}],
    }
    assert why(TWICE, **tables)["kind"] == "data_dependent_shape"
    tables["fallback"][0]["line"] = 87
    assert why(TWICE, **tables)["kind"] == "input_shape"


@pytest.mark.parametrize(
    "other",
    [{"line": 41}, {"file": DATA}, {"via": "step"}, {"cause": "read"}, {"process": 1}],
    ids=str,
)
def test_other_call_sites_are_not_compared(other: Row) -> None:
    parameters = [parameter("a", 0, [3]), parameter("b", 0, [5])]
    assert found([compiled(0, "a"), compiled(1, "b", **other)], hlo_parameter=parameters) == []


def test_first_compilation_of_a_call_site_needs_no_reason() -> None:
    assert found([compiled(0, "a")]) == []


# Without modules to compare


def test_shape_sent_for_the_first_time_in_the_step_that_compiled() -> None:
    cause = why(TWICE, transfer=[sent(0, [16, 64]), sent(1, [17, 64])])
    assert cause == {
        "process": 0, "index": 1, "kind": "input_shape", "basis": "upload", "parameter": None,
        "from_shape": "f32[16,64]", "to_shape": "f32[17,64]", "dimension": 0, "value": 17,
        "made_role": "made", "made_file": DATA, "made_line": 88, "made_function": "load",
    }  # fmt: skip


@pytest.mark.parametrize(
    "transfers",
    [
        [],
        [sent(1, [17, 64])],
        [sent(0, [16, 64]), sent(2, [17, 64])],
        [sent(1, [16, 64]), sent(1, [17, 64])],
        [sent(0, [16]), sent(1, [17, 64])],
        [sent(0, [16, 64], "s64"), sent(1, [17, 64])],
        [sent(0, [16, 64], line=7), sent(1, [17, 64])],
        [sent(0, [16, 64], thread=2), sent(1, [17, 64], thread=2)],
    ],
    ids=["nothing", "first of its site", "another step", "same step", "other dimensions",
         "other type", "other line", "other thread"],
)  # fmt: skip
def test_sent_shape_that_explains_nothing(transfers: list[Row]) -> None:
    assert why(TWICE, transfer=transfers) == {
        "process": 0, "index": 1, "kind": "unknown", **UNKNOWN,
    }  # fmt: skip


def test_modules_are_believed_before_sent_shapes() -> None:
    cause = why(TWICE, transfer=[sent(0, [16]), sent(1, [17])],
                hlo_parameter=[parameter("a", 0, [3]), parameter("b", 0, [3])])  # fmt: skip
    assert (cause["kind"], cause["basis"]) == ("graph", "hlo")


def test_module_outside_the_window_leaves_the_sent_shapes() -> None:
    cause = why(TWICE, transfer=[sent(0, [16]), sent(1, [17])],
                hlo_parameter=[parameter("b", 0, [3])])  # fmt: skip
    assert cause["basis"] == "upload"


@pytest.mark.parametrize(("shape", "text"), [([], "f32[]"), ([2], "f32[2]"), ([2, 3], "f32[2,3]")])
def test_shape_text(shape: list[int], text: str) -> None:
    assert shape_text("f32", shape) == text
