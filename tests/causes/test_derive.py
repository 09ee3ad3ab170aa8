"""Why a call site compiled again: what is compared with what, and what is said of it."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import Row, complete
from xladoctor.evidence.schema import TABLES
from xladoctor.rule_cases.graphs import module, tables_of

TRAIN = "/home/ada/train.py"
BATCH = "@data.py:88 sent"
FALLBACK = {"process": 0, "op": "aten::nonzero", "count": 2, "file": "data.py", "line": 88}


def compiled(index: int, graph: str | None, line: int = 40, **columns: Any) -> Row:
    return {
        "process": 0,
        "thread": 1,
        "index": index,
        "step": index,
        "graph_hash": graph,
        "file": TRAIN,
        "line": line,
        "via": "",
        "cause": "user torch_xla.sync",
        "inputs": None,
        "outputs": None,
        "end_ns": None,
        "duration_ns": None,
        **columns,
    }


def sent(step: int, shape: list[int], kind: str = "f32", **columns: Any) -> Row:
    return {
        "process": 0,
        "thread": 1,
        "step": step,
        "direction": "to_device",
        "shape": shape,
        "dtype": kind,
        "file": "data.py",
        "line": 88,
        "function": "load",
        **columns,
    }


TWICE = [compiled(0, "a"), compiled(1, "b")]


class Explained(NamedTuple):
    """The rows of ``recompilation`` and of ``graph_change``."""

    rows: list[Row]
    changes: list[Row]


def explain(
    compilations: list[Row], modules: list[Row] | None = None, **tables: list[Row]
) -> Explained:
    filled = tables_of(modules) if modules else {}
    database = complete({"compilation": compilations, **filled, **tables}).database
    return Explained(
        database.rows("SELECT * FROM recompilation"), database.rows("SELECT * FROM graph_change")
    )


def in_turn(modules: list[Row], **tables: list[Row]) -> Explained:
    """Of graphs that one call site compiled one after the other."""
    compilations = [compiled(index, each["hash"]) for index, each in enumerate(modules)]
    return explain(compilations, modules, **tables)


def why(before: Row, after: Row, **tables: list[Row]) -> Row:
    """Why ``after`` was compiled; both are columns of a module."""
    (row,) = in_turn([{"hash": "a", **before}, {"hash": "b", **after}], **tables).rows
    return row


def without(row: Row, *names: str) -> Row:
    """The values that are known."""
    return {key: value for key, value in row.items() if value is not None and key not in names}


def of(row: Row, wanted: Row) -> Row:
    return {key: row[key] for key in wanted}


def inputs(*texts: str) -> Row:
    return {"inputs": texts}


def lines(*texts: str, **columns: Any) -> Row:
    return {"instructions": texts, **columns}


# Inputs


def test_row_of_an_input_whose_shape_changed() -> None:
    row = why(inputs("f32[4,4]", f"f32[16,64] {BATCH}"), inputs("f32[4,4]", f"f32[17,64] {BATCH}"))
    assert row.keys() == TABLES["recompilation"].columns.keys()
    assert without(row) == {
        "process": 0,
        "index": 1,
        "against": 0,
        "kind": "input_shape",
        "basis": "hlo",
        "parameter": 1,
        "was": "f32[16,64]",
        "now": "f32[17,64]",
        "dimension": 0,
        "value": 17,
        "role": "made",
        "file": "data.py",
        "line": 88,
        "function": "train",
        "seen": 2,
        "possible": 2,
    }


@pytest.mark.parametrize(
    ("was", "now", "kind", "dimension", "value", "role"),
    [
        ("f32[16,64] @d.py:8", "f32[16,65] @d.py:8", "input_shape", 1, 65, "used"),
        ("f32[16,64] @d.py:8", "f32[17,65] @d.py:8 sent", "input_shape", 0, 17, "made"),
        ("f32[16,64] @d.py:8", "f32[16] @d.py:8", "input_shape", None, None, "used"),
        ("f32[] @d.py:8", "f32[16] @d.py:8", "input_shape", None, None, "used"),
        ("f32[16,64]", "f32[16,65]", "input_shape", 1, 65, "used"),
        ("f32[16,64] @d.py:8", "bf16[16,64] @d.py:8 sent", "input_type", None, None, "made"),
        ("f32[]", "f64[]", "input_type", None, None, "used"),
        ("f32[16,64] @d.py:8", "bf16[8,64] @d.py:8", "input_shape", 0, 8, "used"),
        ("f32[16,64]{1,0} @d.py:8", "f32[16,64]{0,1} @d.py:8", "input_type", None, None, "used"),
    ],
    ids=[
        "second dimension",
        "both dimensions",
        "fewer dimensions",
        "no longer a scalar",
        "without a line",
        "type",
        "type without a line",
        "type and shape",
        "layout",
    ],
)
def test_kind_of_input(
    was: str, now: str, kind: str, dimension: int | None, value: int | None, role: str
) -> None:
    row = why(inputs("f32[3]", was), inputs("f32[3]", now))
    assert (row["kind"], row["dimension"], row["value"], row["role"]) == (
        kind,
        dimension,
        value,
        role,
    )
    assert (row["was"], row["now"]) == (was.partition(" ")[0], now.partition(" ")[0])
    assert row["parameter"] == 1


@pytest.mark.parametrize(
    "layouts",
    [("{1,0}", "{1,0}"), ("", "{0,1}"), ("{1,0}", "")],
    ids=["equal", "unknown before", "unknown after"],
)
def test_layout_that_tells_nothing(layouts: tuple[str, str]) -> None:
    was, now = (f"f32[16,64]{layout}" for layout in layouts)
    assert why(inputs(was), inputs(now))["kind"] == "unknown"


def test_line_of_the_first_use_alone_is_no_change() -> None:
    row = why(inputs("f32[16] @train.py:7"), inputs("f32[16] @train.py:9"))
    assert row["kind"] == "unknown"


@pytest.mark.parametrize(
    ("changing", "parameter"),
    [
        (["f32[{}]", "f32[{}] @model.py:5", f"f32[{{}}] {BATCH}"], 2),
        (["f32[{}]", "f32[{}] @model.py:5", "f32[{}] @model.py:6"], 1),
        (["f32[{}]", "f32[1,{}]", "f32[2,{}]"], 0),
    ],
    ids=["sent", "with a line", "any"],
)
def test_input_that_is_named(changing: list[str], parameter: int) -> None:
    before, after = ([text.format(size) for text in changing] for size in (3, 4))
    assert why(inputs(*before), inputs(*after))["parameter"] == parameter


def test_user_s_line_behind_a_library_s() -> None:
    row = explain(
        TWICE,
        hlo_module=[
            {"process": 0, "program_id": n, "graph_hash": "ab"[n], "name": "G"} for n in range(2)
        ],
        hlo_parameter=[
            {
                "process": 0,
                "program_id": n,
                "graph_hash": "ab"[n],
                "number": 0,
                "shape": [4 + n],
                "type": "f32",
                "file": "lib.py",
                "line": 3,
                "function": "put",
                "user_file": TRAIN,
                "user_line": 12,
                "user_function": "main",
                "sent": None,
            }
            for n in range(2)
        ],
    ).rows[0]
    wanted = {
        "role": "used",
        "file": "lib.py",
        "line": 3,
        "function": "put",
        "user_file": TRAIN,
        "user_line": 12,
        "user_function": "main",
    }
    assert of(row, wanted) == wanted


@pytest.mark.parametrize(
    ("was", "now", "fallbacks", "kind"),
    [
        ("f32[3] @data.py:88", "f32[5] @data.py:88", [FALLBACK], "data_dependent_shape"),
        ("f32[3]", "f32[5]", [FALLBACK], "data_dependent_shape"),
        ("f32[3] @data.py:88", "f32[5] @data.py:88", [{**FALLBACK, "line": 7}], "input_shape"),
        ("f32[3] @data.py:88", "f32[5] @data.py:88", [{**FALLBACK, "process": 1}], "input_shape"),
        ("f32[3] @data.py:88", "bf16[3] @data.py:88", [FALLBACK], "input_type"),
        ("f32[3] @data.py:88", "f32[5] @data.py:88", [], "input_shape"),
    ],
    ids=["its line", "no line", "another line", "another process", "type", "none"],
)
def test_shape_behind_a_fallback(was: str, now: str, fallbacks: list[Row], kind: str) -> None:
    assert why(inputs(was), inputs(now), fallback=fallbacks)["kind"] == kind


def test_sent_input_is_named_before_one_behind_a_fallback() -> None:
    before, after = (inputs(f"f32[{n}] @data.py:88", f"f32[{n}] @data.py:90 sent") for n in (3, 4))
    row = why(before, after, fallback=[FALLBACK])
    assert (row["kind"], row["line"]) == ("input_shape", 90)


# Tensors made on the device, and constants


@pytest.mark.parametrize(
    ("was", "now", "wanted"),
    [
        (
            "f32[4] broadcast",
            "f32[5] broadcast",
            {"was": "f32[4]", "now": "f32[5]", "dimension": 0, "value": 5},
        ),
        (
            "f32[2,4] iota dimensions={1}",
            "f32[2,6] iota dimensions={1}",
            {"was": "f32[2,4]", "now": "f32[2,6]", "dimension": 1, "value": 6},
        ),
        ("f32[4] broadcast", "f32[5,5] broadcast", {"dimension": None, "value": None}),
    ],
    ids=["one dimension", "second dimension", "more dimensions"],
)
def test_created_tensor_of_another_size(was: str, now: str, wanted: Row) -> None:
    row = why(*(lines(f"aten::full {text} @model.py:5") for text in (was, now)))
    wanted = {
        "kind": "input_shape",
        "basis": "hlo",
        "role": "made",
        "op": "aten::full",
        "parameter": None,
        "file": "model.py",
        "line": 5,
        **wanted,
    }
    assert of(row, wanted) == wanted


def test_number_that_follows_from_a_size_is_not_the_cause() -> None:
    before, after = (
        lines(
            f"aten::mean f32[] constant({1 / n}) @model.py:3",
            f"aten::arange f32[{n}] iota @model.py:4",
        )
        for n in (4, 5)
    )
    row = why(before, after)
    assert (row["kind"], row["op"], row["line"]) == ("input_shape", "aten::arange", 4)


@pytest.mark.parametrize(
    ("was", "now", "op", "texts"),
    [
        ("aten::pow f32[] constant(2)", "aten::pow f32[] constant(3)", "aten::pow", ("2", "3")),
        (
            "aten::pow f32[2] constant({1, 2})",
            "aten::pow f32[2] constant({1, 3})",
            "aten::pow",
            ("{1, 2}", "{1, 3}"),
        ),
        (
            "aten::slice f32[4] slice slice={[0:4]}",
            "aten::slice f32[4] slice slice={[1:5]}",
            "aten::slice",
            ("slice={[0:4]}", "slice={[1:5]}"),
        ),
        (
            "aten::slice f32[4] slice slice={[0:4]}",
            "aten::slice f32[5] slice slice={[0:5]}",
            "aten::slice",
            ("slice={[0:4]}", "slice={[0:5]}"),
        ),
        (
            "aten::pad f32[6] pad padding=1_1",
            "aten::pad f32[7] pad padding=1_2",
            "aten::pad",
            ("padding=1_1", "padding=1_2"),
        ),
        (
            "aten::flip f32[4,4] reverse dimensions={0}",
            "aten::flip f32[4,4] reverse dimensions={1}",
            "aten::flip",
            ("dimensions={0}", "dimensions={1}"),
        ),
        ("aten::pow f32[4] multiply", "aten::pow f32[4] power", "aten::pow", ("multiply", "power")),
    ],
    ids=[
        "literal",
        "several",
        "attribute",
        "bounds of another size",
        "padding",
        "dimension",
        "simplified",
    ],
)
def test_constant_that_changed(was: str, now: str, op: str, texts: tuple[str, str]) -> None:
    row = why(
        *(lines(f"{text} @train.py:9", "aten::add f32[4] add @train.py:10") for text in (was, now))
    )
    wanted = {
        "kind": "constant",
        "basis": "hlo",
        "op": op,
        "was": texts[0],
        "now": texts[1],
        "role": "used",
        "file": "train.py",
        "line": 9,
        "dimension": None,
    }
    assert of(row, wanted) == wanted


def test_number_without_an_operation_is_named_by_its_user() -> None:
    before, after = (
        lines(f"prim::Constant f32[] constant({n}) @train.py:9", "aten::mul f32[4] multiply")
        for n in (2, 3)
    )
    tables = tables_of([module("a", **before), module("b", **after)])
    for row in tables["hlo_instruction"]:
        row |= {"computation": "main", "operands": [0] if row["id"] else []}
    (row,) = explain(TWICE, **tables).rows
    assert (row["kind"], row["op"], row["was"], row["now"]) == ("constant", "aten::mul", "2", "3")


def test_constant_that_was_lowered_first_is_named() -> None:
    before, after = (
        lines(*(f"aten::pow f32[] constant({n}) @train.py:{line}" for line in (30, 20, 10)))
        for n in (2, 3)
    )
    assert why(before, after)["line"] == 30


@pytest.mark.parametrize("swapped", [False, True], ids=["to a constant", "to an input"])
@pytest.mark.parametrize("sizes", [(10, 9), (10, 10), (10, 12)], ids=str)
def test_special_number_is_an_input_at_times(swapped: bool, sizes: tuple[int, int]) -> None:
    baked = lines("aten::relu f32[4] maximum @train.py:8", inputs=["f32[4]"], name=f"G.{sizes[0]}")
    as_input = lines(
        "aten::relu f32[4] maximum @train.py:8",
        "aten::mul f32[4] multiply @train.py:9",
        inputs=["f32[] @train.py:9", "f32[4]"],
        name=f"G.{sizes[1]}",
    )
    pair, texts = (as_input, baked), ("input", "constant")
    row = why(*(pair[::-1] if swapped else pair))
    wanted = {
        "kind": "constant",
        "role": "used",
        "file": "train.py",
        "line": 9,
        "was": texts[swapped],
        "now": texts[not swapped],
    }
    assert of(row, wanted) == wanted


def test_graph_that_shrinks_with_its_number_before_optimization_has_other_operations() -> None:
    before = lines(
        "aten::relu f32[4] maximum @train.py:8",
        "aten::mul f32[4] multiply @train.py:9",
        inputs=["f32[] @train.py:9", "f32[4]"],
        name="G.20",
    )
    after = lines("aten::relu f32[4] maximum @train.py:8", inputs=["f32[4]"], name="G.10")
    row = why(before, after)
    assert (row["kind"], row["op"], row["line"]) == ("operations", "aten::mul", 9)


def test_equal_numbers_share_an_input() -> None:
    shared = ["aten::mul f32[4] multiply @train.py:8", "aten::mul f32[4] multiply @train.py:9"]
    apart = lines(*shared, inputs=["f32[] @train.py:8", "f32[] @train.py:9"], name="G.9")
    merged = lines(*shared, inputs=["f32[] @train.py:8"], name="G.8")
    row = why(apart, merged)
    assert (row["kind"], row["line"], row["was"]) == ("constant", 9, "input")


def test_operation_that_a_number_made_trivial() -> None:
    whole = ["aten::rsub f32[4] subtract @train.py:9", "aten::sum f32[] reduce @train.py:10"]
    row = why(lines(*whole, name="G.12"), lines(whole[1], name="G.12"))
    wanted = {"kind": "constant", "op": "aten::rsub", "line": 9, "was": None, "now": None}
    assert of(row, wanted) == wanted


def test_constant_without_a_line() -> None:
    row = why(lines("aten::pow f32[] constant(2)"), lines("aten::pow f32[] constant(3)"))
    wanted = {"kind": "constant", "op": "aten::pow", "was": "2", "now": "3", "file": None}
    assert of(row, wanted) == wanted


# Operations


SUM = "aten::sum f32[] reduce dimensions={0} @train.py:9"


@pytest.mark.parametrize(
    ("was", "now", "wanted"),
    [
        (
            [SUM],
            [SUM, "aten::relu f32[4] maximum @train.py:5"],
            {"op": "aten::relu", "was": None, "now": "f32[4] maximum", "line": 5},
        ),
        (
            ["aten::relu f32[4] maximum @train.py:5", SUM],
            [SUM],
            {"op": "aten::relu", "was": "f32[4] maximum", "now": None, "line": 5},
        ),
        (
            ["aten::tanh f32[4] tanh @train.py:4", SUM],
            [
                SUM,
                "aten::relu f32[4] maximum @train.py:5",
                "aten::exp f32[4] exponential @train.py:5",
            ],
            {"op": "aten::tanh", "was": "f32[4] tanh", "now": None, "line": 4},
        ),
        (
            ["2 * aten::tanh f32[4] tanh @train.py:4", SUM],
            ["5 * aten::tanh f32[4] tanh @train.py:4", SUM],
            {"op": "aten::tanh", "was": "2 instructions", "now": "5 instructions", "line": 4},
        ),
        (
            ["aten::tanh f32[4] tanh @train.py:4", SUM],
            [
                "2 * aten::tanh f32[4] tanh @train.py:4",
                "2 * aten::exp f32[4] exponential @train.py:6",
                SUM,
            ],
            {"op": "aten::exp", "now": "f32[4] exponential", "line": 6},
        ),
    ],
    ids=["added", "removed", "replaced", "count", "added before count"],
)
def test_operation_that_changed(was: list[str], now: list[str], wanted: Row) -> None:
    sizes = (10, 10 + 10 * (len(now) - len(was) or 1))
    row = why(lines(*was, name=f"G.{sizes[0]}"), lines(*now, name=f"G.{sizes[1]}"))
    wanted = {"kind": "operations", "basis": "hlo", "role": "used", "file": "train.py", **wanted}
    assert of(row, wanted) == wanted


def test_operation_without_a_line() -> None:
    row = why(lines(SUM), lines(SUM, "aten::tanh f32[4] tanh"))
    wanted = {
        "kind": "operations",
        "op": "aten::tanh",
        "now": "f32[4] tanh",
        "file": None,
        "role": None,
    }
    assert of(row, wanted) == wanted


@pytest.mark.parametrize("op", ["aten::view", "aten::expand", "xla::cast", "aten::transpose"])
def test_operation_that_the_optimization_moves_about_tells_nothing(op: str) -> None:
    row = why(lines(SUM), lines(SUM, f"{op} f32[4] bitcast-convert @train.py:4"))
    assert row["kind"] == "unknown"


@pytest.mark.parametrize("opcode", ["fusion", "copy", "tuple", "bitcast", "get-tuple-element"])
def test_instruction_of_the_optimization_alone_tells_nothing(opcode: str) -> None:
    row = why(lines(SUM), lines(SUM, f"aten::relu f32[4] {opcode} @train.py:4"))
    assert row["kind"] == "unknown"


def layer(size: int) -> str:
    return f"aten::addmm f32[{size},{size}] dot @model.py:7"


def weights(*sizes: int) -> Row:
    """Layers, each of another size, that one line runs."""
    return lines(
        *map(layer, sizes),
        inputs=[f"f32[{n},{n}] @model.py:7" for n in sizes],
        name=f"G.{10 * len(sizes)}",
    )


def test_layers_that_come_and_go_are_not_inputs_that_changed() -> None:
    rows = in_turn(
        [
            module("both", **weights(4, 5)),
            module("first", **weights(4)),
            module("second", **weights(5)),
        ]
    ).rows
    assert [(row["kind"], row["op"], row["line"]) for row in rows] == [
        ("operations", "aten::addmm", 7)
    ] * 2


def test_layers_of_another_call_site_do_not_count() -> None:
    modules = [
        module("both", **weights(4, 5)),
        module("first", **weights(4)),
        module("second", **weights(5)),
    ]
    elsewhere = [compiled(0, "both", line=90), compiled(1, "first"), compiled(2, "second")]
    (row,) = explain(elsewhere, modules).rows
    assert (row["kind"], row["was"], row["now"]) == ("input_shape", "f32[4,4]", "f32[5,5]")


def test_sent_tensor_of_two_shapes_seen_together_did_change() -> None:
    batches = [f"f32[{size}] {BATCH}" for size in (4, 5)]
    rows = in_turn(
        [
            module("both", batches, [SUM]),
            module("first", batches[:1]),
            module("second", batches[1:]),
        ]
    ).rows
    assert [row["kind"] for row in rows] == ["operations", "input_shape"]


def test_changes_of_operations_are_kept_in_the_order_of_lowering() -> None:
    before = lines(
        SUM, "aten::pow f32[] constant(2) @train.py:4", "2 * aten::tanh f32[4] tanh @train.py:5"
    )
    after = lines(
        SUM,
        "aten::pow f32[] constant(3) @train.py:4",
        "3 * aten::tanh f32[4] tanh @train.py:5",
        "aten::relu f32[4] maximum @train.py:6",
    )
    changes = in_turn([module("a", **before), module("b", **after)]).changes
    assert changes[0].keys() == TABLES["graph_change"].columns.keys()
    assert [without(change, "process", "index", "file", "function") for change in changes] == [
        {
            "nth": 0,
            "nature": "value",
            "line": 4,
            "op": "aten::pow",
            "was": "f32[] constant(2)",
            "now": "f32[] constant(3)",
            "was_count": 1,
            "now_count": 1,
        },
        {
            "nth": 1,
            "nature": "count",
            "line": 5,
            "op": "aten::tanh",
            "now": "f32[4] tanh",
            "was_count": 2,
            "now_count": 3,
        },
        {
            "nth": 2,
            "nature": "added",
            "line": 6,
            "op": "aten::relu",
            "now": "f32[4] maximum",
            "was_count": 0,
            "now_count": 1,
        },
    ]


def test_forty_changes_are_kept() -> None:
    many = lines(*(f"aten::relu f32[4] maximum @train.py:{n}" for n in range(1, 60)))
    changes = in_turn([module("a"), module("b", **many)]).changes
    assert [change["line"] for change in changes] == list(range(1, 41))


# Numbers of inputs and outputs


def test_input_that_came_has_its_line() -> None:
    modules = [module("a", ["f32[4]"]), module("b", ["f32[4]", "f32[4] @train.py:12"])]
    compilations = [compiled(0, "a", inputs=1, outputs=1), compiled(1, "b", inputs=2, outputs=1)]
    (row,) = explain(compilations, modules).rows
    assert without(row, "process", "index", "function") == {
        "against": 0,
        "kind": "input_count",
        "basis": "hlo",
        "was": "1 input, 1 output",
        "now": "2 inputs, 1 output",
        "role": "used",
        "file": "train.py",
        "line": 12,
    }


def test_outputs_alone() -> None:
    modules = [module("a", ["f32[4]"]), module("b", ["f32[4]"])]
    compilations = [compiled(0, "a", inputs=1, outputs=1), compiled(1, "b", inputs=1, outputs=3)]
    (row,) = explain(compilations, modules).rows
    assert (row["kind"], row["was"], row["now"]) == (
        "input_count",
        "1 input, 1 output",
        "1 input, 3 outputs",
    )


def test_numbers_of_inputs_are_unknown_without_the_log() -> None:
    row = why(inputs("f32[4]"), inputs("f32[4]", "f32[4]"))
    assert (row["kind"], row["was"], row["now"]) == ("input_count", None, None)


@pytest.mark.parametrize(
    ("numbers", "kinds"),
    [
        ([(2, 1), (3, 1)], ["input_count"]),
        ([(2, 1), (2, 2)], ["input_count"]),
        ([(2, 1), (2, 1)], ["unknown"]),
        ([(2, 1), (3, 1), (2, 1)], ["input_count", "unknown"]),
        ([(2, 1), (None, 1)], ["unknown"]),
        ([(None, None), (3, 1)], ["unknown"]),
        ([(2, 1), (None, None), (3, 1)], ["unknown", "unknown"]),
    ],
    ids=["inputs", "outputs", "same", "seen before", "unknown", "unknown before", "gap"],
)
def test_numbers_of_the_log(numbers: list[tuple[int | None, int | None]], kinds: list[str]) -> None:
    rows = explain(
        [
            compiled(index, f"g{index}", inputs=ins, outputs=outs)
            for index, (ins, outs) in enumerate(numbers)
        ]
    ).rows
    assert [row["kind"] for row in rows] == kinds
    assert {row["basis"] for row in rows if row["kind"] == "input_count"} <= {"log"}


# Growth


def growing(count: int, times: int, step: int) -> list[Row]:
    return [
        module(
            f"g{n}",
            ["f32[4]"],
            [SUM, f"{1 + n * times} * aten::add f32[4] add @train.py:7"],
            name=f"G.{10 + n * step}",
        )
        for n in range(count)
    ]


def test_graph_that_grows_has_the_line_of_what_there_is_more_of() -> None:
    rows = in_turn(growing(5, 10, 20)).rows
    wanted = {
        "kind": "growing",
        "pattern": "grows",
        "op": "aten::add",
        "role": "used",
        "file": "train.py",
        "line": 7,
    }
    assert [of(row, wanted) for row in rows] == [wanted] * 4


@pytest.mark.parametrize(
    "sizes",
    [[10, 30, 50], [10, 12, 14, 16], [10, 30, 50, 90], [70, 50, 30, 10], [10, 30, 30, 50]],
    ids=["twice", "a little", "by more", "shrinks", "halts"],
)
def test_graph_that_does_not_grow_steadily(sizes: list[int]) -> None:
    rows = in_turn(
        [
            module(
                f"g{n}",
                ["f32[4]"],
                [SUM, f"aten::add f32[4] add @train.py:{n + 20}"],
                name=f"G.{size}",
            )
            for n, size in enumerate(sizes)
        ]
    ).rows
    assert "growing" not in {row["kind"] for row in rows}


def test_growth_by_nearly_the_same_amount() -> None:
    sizes = [100, 200, 305, 405]
    modules = [
        module(
            f"g{n}", ["f32[4]"], [f"{1 + n} * aten::add f32[4] add @train.py:7"], name=f"G.{size}"
        )
        for n, size in enumerate(sizes)
    ]
    assert [row["kind"] for row in in_turn(modules).rows] == ["growing"] * 3


def test_one_input_more_each_time() -> None:
    modules = [module(f"g{n}", ["f32[4]"] * (n + 1), name=f"G.{10 + n}") for n in range(5)]
    compilations = [compiled(n, f"g{n}", inputs=n + 1, outputs=1) for n in range(5)]
    rows = explain(compilations, modules).rows
    assert [(row["kind"], row["pattern"], row["was"], row["now"]) for row in rows] == [
        ("input_count", "grows", f"{n} input{'s'[: n - 1]}, 1 output", f"{n + 1} inputs, 1 output")
        for n in range(1, 5)
    ]


def test_two_outputs_more_each_time_by_the_log_alone() -> None:
    rows = explain([compiled(n, f"g{n}", inputs=1, outputs=1 + 2 * n) for n in range(4)]).rows
    assert [(row["kind"], row["basis"], row["pattern"]) for row in rows] == [
        ("input_count", "log", "grows")
    ] * 3


# Placement, eviction, and what is not known


@pytest.mark.parametrize(
    ("was", "now", "wanted"),
    [
        ({"donated": []}, {"donated": [0, 2]}, ("donated", "none", "0, 2")),
        ({"donated": [1]}, {"donated": [0]}, ("donated", "1", "0")),
        ({"devices": [0]}, {"devices": [1]}, ("devices", "0", "1")),
        ({"sharding": None}, {"sharding": "cafe"}, ("sharding", "none", "cafe")),
        (
            {"donated": [0], "devices": [0]},
            {"donated": [], "devices": [1]},
            ("donated", "0", "none"),
        ),
    ],
    ids=["donated", "another donated", "devices", "sharding", "two of them"],
)
def test_placement(was: Row, now: Row, wanted: tuple[str, str, str]) -> None:
    graph = {**inputs("f32[4]"), **lines(SUM)}
    row = why({**graph, **was}, {**graph, **now})
    assert (row["kind"], row["basis"]) == ("placement", "hlo")
    assert (row["op"], row["was"], row["now"]) == wanted


def test_operations_go_before_placement() -> None:
    more = "aten::relu f32[4] maximum @train.py:5"
    row = why(lines(SUM, name="G.10", donated=[0]), lines(SUM, more, name="G.20", donated=[]))
    assert row["kind"] == "operations"


def test_sharding_goes_before_inputs_as_each_device_has_a_part_of_them() -> None:
    row = why(inputs("f32[8] @train.py:5"), {**inputs("f32[4] @train.py:5"), "sharding": "cafe"})
    assert (row["kind"], row["op"]) == ("placement", "sharding")


def test_same_graph_again_was_evicted() -> None:
    rows = explain([compiled(0, "a"), compiled(1, "b"), compiled(2, "a"), compiled(3, "a")]).rows
    assert [(row["kind"], row["basis"], row["against"]) for row in rows[1:]] == [
        ("evicted", "hash", 0),
        ("evicted", "hash", 2),
    ]


def test_graph_of_another_call_site_was_evicted_too() -> None:
    (row,) = explain([compiled(0, "a"), compiled(5, "a", line=90)]).rows
    assert (row["kind"], row["against"]) == ("evicted", 0)


def test_same_graph_in_another_process_is_its_first() -> None:
    assert explain([compiled(0, "a"), compiled(0, "a", process=1)]).rows == []


SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"step": 0, "end_ns": 5 * SECOND, "duration_ns": 10}, "placement"),
        ({"step": 0, "end_ns": 9 * SECOND, "duration_ns": 5 * SECOND}, "placement"),
        ({"step": 0, "end_ns": None}, "placement"),
        ({"step": 0, "end_ns": 9 * SECOND, "duration_ns": 10}, "placement"),
        ({"step": 0, "end_ns": 9 * SECOND, "duration_ns": 10, "thread": 1}, "evicted"),
        ({"step": 1, "end_ns": 5 * SECOND, "duration_ns": 10}, "evicted"),
    ],
    ids=[
        "at once",
        "while it took",
        "times unknown",
        "later on a thread of its own",
        "later on the same thread",
        "another step",
    ],
)
def test_threads_that_compile_a_graph_side_by_side(columns: Row, kind: str) -> None:
    first = compiled(0, "a", end_ns=5 * SECOND, duration_ns=10)
    (row,) = explain([first, compiled(1, "a", **{"thread": 2, **columns})]).rows
    assert (row["kind"], row["basis"]) == (kind, "hash")
    assert row["op"] == ("thread" if kind == "placement" else None)


def test_graphs_that_are_the_same_after_optimization() -> None:
    graph = {**inputs("f32[4]"), **lines(SUM)}
    assert without(why(graph, graph)) == {
        "process": 0,
        "index": 1,
        "against": 0,
        "kind": "unknown",
        "basis": "hlo",
    }


def test_graph_that_other_lines_built_is_the_same() -> None:
    graph = ["aten::relu f32[4] maximum @train.py:{}", "2 * aten::exp f32[4] exponential @m.py:{}"]
    before, after = (lines(*(text.format(line) for text in graph)) for line in (5, 6))
    explained = in_turn([module("a", **before), module("b", **after)])
    assert explained.rows[0]["kind"] == "unknown"
    assert len(explained.changes) == 4


def test_same_instructions_wired_in_another_way() -> None:
    tables = tables_of(
        [
            module(
                name,
                ["f32[4]"],
                ["2 * aten::exp f32[4] exponential @m.py:5", "aten::add f32[4] add @m.py:6"],
            )
            for name in "ab"
        ]
    )
    for row in tables["hlo_instruction"]:
        wired = [0, row["program_id"]] if row["opcode"] == "add" else []
        row |= {"computation": "main", "operands": wired}
    (row,) = explain(TWICE, **tables).rows
    assert (row["kind"], row["was"], row["now"]) == (
        "unknown",
        "f32[4] add(-2, -2)",
        "f32[4] add(-2, -1)",
    )


@pytest.mark.parametrize("graph", ["b", None], ids=["another hash", "no hash"])
def test_nothing_is_known(graph: str | None) -> None:
    (row,) = explain([compiled(0, "a"), compiled(1, graph)]).rows
    assert without(row) == {"process": 0, "index": 1, "kind": "unknown"}


# Which graphs are compared


def test_first_compilation_of_a_call_site_needs_no_reason() -> None:
    assert explain([compiled(0, "a")]).rows == []
    assert explain([]).rows == []


@pytest.mark.parametrize(
    "other",
    [{"line": 41}, {"file": "data.py"}, {"via": "step"}, {"cause": "read"}, {"process": 1}],
    ids=str,
)
def test_other_call_sites_are_not_compared(other: Row) -> None:
    modules = [module("a", ["f32[3]"]), module("b", ["f32[5]"], process=other.get("process", 0))]
    assert explain([compiled(0, "a"), compiled(1, "b", **other)], modules).rows == []


@pytest.mark.parametrize(
    ("graphs", "against"),
    [
        (
            [inputs("f32[8]", "f32[4]"), inputs("f32[9]", "f32[5]"), inputs("f32[7]", "f32[4]")],
            [0, 0],
        ),
        ([inputs("f32[8]"), inputs("f32[9]"), inputs("f32[7]")], [0, 1]),
        (
            [
                lines(SUM),
                lines(SUM, "aten::relu f32[4] maximum @train.py:5"),
                lines("aten::relu f32[4] maximum @train.py:5"),
                lines("2 * " + SUM),
            ],
            [0, 1, 0],
        ),
        ([inputs("f32[8]"), lines(SUM, inputs=["f32[9]"]), inputs("f32[9]")], [0, 0]),
    ],
    ids=["inputs", "the latest of equals", "operations", "operations before inputs"],
)
def test_most_similar_graph_is_compared(graphs: list[Row], against: list[int]) -> None:
    rows = in_turn([{"hash": f"g{n}", **graph} for n, graph in enumerate(graphs)]).rows
    assert [row["against"] for row in rows] == against


def test_graph_without_a_module_is_passed_over() -> None:
    compilations = [compiled(0, "a"), compiled(1, "lost"), compiled(2, "b")]
    rows = explain(compilations, [module("a", ["f32[3]"]), module("b", ["f32[5]"])]).rows
    assert [(row["index"], row["kind"], row["against"]) for row in rows] == [
        (1, "unknown", None),
        (2, "input_shape", 0),
    ]


def test_processes_are_explained_apart() -> None:
    modules = [
        module("a", ["f32[3]"]),
        module("b", ["f32[5]"]),
        module("a", ["f32[3]"], process=1),
        module("b", ["bf16[3]"], process=1),
    ]
    compilations = [compiled(n, "ab"[n], process=process) for process in (1, 0) for n in range(2)]
    rows = explain(compilations, modules).rows
    assert [row["process"] for row in rows] == [0, 1]
    assert [row["kind"] for row in rows] == ["input_shape", "input_type"]


# Without modules to compare


def test_shape_sent_for_the_first_time_in_the_step_that_compiled() -> None:
    (row,) = explain(TWICE, transfer=[sent(0, [16, 64]), sent(1, [17, 64])]).rows
    assert without(row) == {
        "process": 0,
        "index": 1,
        "kind": "input_shape",
        "basis": "upload",
        "was": "f32[16,64]",
        "now": "f32[17,64]",
        "dimension": 0,
        "value": 17,
        "role": "made",
        "file": "data.py",
        "line": 88,
        "function": "load",
        "seen": 2,
        "possible": 2,
    }


@pytest.mark.parametrize(
    ("batches", "kind"), [(5, "input_shape"), (8, "input_shape"), (4, "unknown"), (20, "unknown")]
)
def test_shapes_that_a_loaders_thread_sends_ahead_go_by_their_order(
    batches: int, kind: str
) -> None:
    compilations = [compiled(step, f"g{step}") for step in range(5)]
    transfers = [sent(0, [16 + 3 * n, 8], thread=2) for n in range(batches)]
    rows = explain(compilations, transfer=transfers).rows
    assert {row["kind"] for row in rows} == {kind}
    if kind != "unknown":
        assert (rows[-1]["was"], rows[-1]["now"]) == ("f32[25,8]", "f32[28,8]")
        assert {row["basis"] for row in rows} == {"upload"}


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
        [sent(0, [16, 64], direction="to_host"), sent(1, [17, 64], direction="to_host")],
    ],
    ids=[
        "nothing",
        "first of its site",
        "another step",
        "same step",
        "other dimensions",
        "other type",
        "other line",
        "other thread",
        "to the host",
    ],
)
def test_sent_shape_that_explains_nothing(transfers: list[Row]) -> None:
    (row,) = explain(TWICE, transfer=transfers).rows
    assert without(row) == {"process": 0, "index": 1, "kind": "unknown"}


def test_modules_are_believed_before_sent_shapes() -> None:
    modules = [module("a", ["f32[3]"]), module("b", ["bf16[3]"])]
    (row,) = explain(TWICE, modules, transfer=[sent(0, [16]), sent(1, [17])]).rows
    assert (row["kind"], row["basis"]) == ("input_type", "hlo")


def test_sent_shapes_are_believed_before_numbers_of_the_log() -> None:
    compilations = [compiled(0, "a", inputs=1, outputs=1), compiled(1, "b", inputs=2, outputs=1)]
    (row,) = explain(compilations, transfer=[sent(0, [16]), sent(1, [17])]).rows
    assert row["basis"] == "upload"


@pytest.mark.parametrize("known", ["a", "b"])
def test_module_outside_the_window_leaves_the_sent_shapes(known: str) -> None:
    transfers = [sent(0, [16]), sent(1, [17])]
    (row,) = explain(TWICE, [module(known, ["f32[3]"])], transfer=transfers).rows
    assert row["basis"] == "upload"


def test_upload_that_brings_new_shapes_without_compiling_is_not_blamed() -> None:
    transfers = [sent(step, [16 + step]) for step in range(9)]
    compilations = [compiled(0, "a"), compiled(1, "b", step=8, ordinal=8)]
    (row,) = explain(compilations, transfer=transfers).rows
    assert row["kind"] == "unknown"


def test_weight_that_was_sent_long_before_is_another_input_not_a_changed_one() -> None:
    modules = [
        module(
            graph, ["f32[16]", f"f32[{n},4] @model.py:5"], [f"aten::mm f32[{n}] dot @model.py:5"]
        )
        for graph, n in (("a", 8), ("b", 9))
    ]
    compilations = [compiled(0, "a", step=4), compiled(1, "b", step=5)]
    weights = [sent(0, [8, 4], line=2), sent(0, [9, 4], line=2)]
    (row,) = explain(compilations, modules, transfer=weights).rows
    assert (row["kind"], row["op"], row["line"]) == ("operations", "aten::mm", 5)
    (row,) = explain(compilations, modules).rows
    assert row["kind"] == "input_shape"


@pytest.mark.parametrize(("every", "kind"), [(1, "growing"), (6, "operations")])
def test_graph_that_grows_now_and_then_does_not_grow_from_step_to_step(
    every: int, kind: str
) -> None:
    modules = [
        module(
            f"g{n}",
            ["f32[4]"],
            [f"{n + 1} * aten::add f32[4] add @train.py:7"],
            name=f"G.{100 + 20 * n}",
        )
        for n in range(5)
    ]
    compilations = [compiled(n, f"g{n}", step=every * n, ordinal=every * n) for n in range(5)]
    assert {row["kind"] for row in explain(compilations, modules).rows} == {kind}


def test_operation_that_makes_the_size_is_named_before_those_that_take_it() -> None:
    modules = [
        {
            **module(
                graph,
                ["f32[4,64]"],
                [
                    f"aten::softmax f32[4,{k}] divide @train.py:11",
                    f"aten::topk f32[4,{k}] sort @train.py:9",
                ],
            ),
            "name": "G.10",
        }
        for graph, k in (("a", 6), ("b", 7))
    ]
    tables = tables_of(modules)
    for row in tables["hlo_instruction"]:  # topk of the input, softmax of its result
        row["computation"], row["operands"] = "main", [100 if row["op_type"] == "aten__topk" else 1]
    source = tables["hlo_instruction"][0] | {
        "id": 100,
        "op_type": None,
        "opcode": "parameter",
        "shape": [4, 64],
        "operands": [],
        "line": 1,
    }
    tables["hlo_instruction"] += [source, source | {"program_id": 1, "graph_hash": "b"}]
    database = complete({"compilation": TWICE, **tables}).database
    (row,) = database.rows("FROM recompilation")
    assert (row["kind"], row["op"], row["line"]) == ("constant", "aten::topk", 9)


# Any evidence


shapes = st.lists(st.integers(0, 4), max_size=3).map(lambda sizes: ",".join(map(str, sizes)))
places = st.sampled_from(["", " @train.py:5", " @train.py:6", " @data.py:88"])
types = st.sampled_from(["f32", "bf16", "tuple"])
parameters = st.builds("{}[{}]{}{}".format, types, shapes, places, st.sampled_from(["", " sent"]))
instructions = st.builds(
    "{} * {}{}[{}] {}{}".format,
    st.integers(1, 12),
    st.sampled_from(["", "aten::pow ", "aten::slice ", "aten::view ", "prim::Constant "]),
    types,
    shapes,
    st.sampled_from(
        [
            "constant(2)",
            "constant(3)",
            "constant",
            "power",
            "broadcast",
            "fusion",
            "slice slice={[0:4]}",
            "slice slice={[1:5]}",
            "custom-call target=a b",
        ]
    ),
    places,
)
graphs = st.fixed_dictionaries(
    {
        "inputs": st.lists(parameters, max_size=4),
        "instructions": st.lists(instructions, max_size=4),
    },
    optional={
        "name": st.none() | st.sampled_from(["", "G", "G.10", "G.30", "G.x.7"]),
        "donated": st.none() | st.lists(st.integers(0, 3), max_size=2),
        "devices": st.none() | st.lists(st.integers(0, 3), max_size=2),
        "sharding": st.none() | st.just("cafe"),
    },
)
some_compilations = st.lists(
    st.fixed_dictionaries(
        {
            "graph_hash": st.none() | st.sampled_from("abcdef"),
            "line": st.integers(1, 2),
            "process": st.integers(0, 1),
            "step": st.none() | st.integers(0, 3),
            "inputs": st.none() | st.integers(0, 3),
            "outputs": st.none() | st.integers(0, 3),
            "end_ns": st.none() | st.integers(0, 3 * SECOND),
            "duration_ns": st.none() | st.integers(0, 3 * SECOND),
        }
    ),
    max_size=8,
)
KINDS = {
    "input_shape",
    "input_type",
    "input_count",
    "constant",
    "operations",
    "growing",
    "placement",
    "evicted",
    "unknown",
}


@settings(max_examples=30, deadline=None)
@given(given=some_compilations, modules=st.lists(graphs, max_size=6))
def test_any_rows_have_a_reason(given: list[Row], modules: list[Row]) -> None:
    compilations = [{**compiled(index, None), **each} for index, each in enumerate(given)]
    named = [{"hash": name, **graph} for name, graph in zip("abcdef", modules, strict=False)]
    rows = explain(compilations, named).rows
    numbers = [(row["process"], row["index"]) for row in rows]
    assert numbers == sorted(set(numbers))
    assert {row["kind"] for row in rows} <= KINDS
    sites = {(row["process"], row["line"]) for row in compilations}
    assert len(compilations) - len(sites) <= len(rows) <= len(compilations)


def in_processes(pairs: list[tuple[Row, Row]]) -> tuple[list[Row], list[Row]]:
    """Compilations and modules: each pair is compiled in a process of its own."""
    modules = [
        module(name, **graph, process=process)
        for process, pair in enumerate(pairs)
        for name, graph in zip("ab", pair, strict=True)
    ]
    return [
        compiled(ord(each["hash"]) - ord("a"), each["hash"], process=each["process"])
        for each in modules
    ], modules


@settings(max_examples=10, deadline=None)
@given(given=st.lists(graphs, min_size=1, max_size=10))
def test_graph_against_itself_has_no_change(given: list[Row]) -> None:
    explained = explain(*in_processes([(graph, graph) for graph in given]))
    assert explained.changes == []
    assert [without(row, "process") for row in explained.rows] == [
        {"index": 1, "against": 0, "kind": "unknown", "basis": "hlo"}
    ] * len(given)


@settings(max_examples=10, deadline=None)
@given(
    pairs=st.lists(st.tuples(graphs, graphs), min_size=1, max_size=10),
    random=st.randoms(use_true_random=False),
)
def test_order_of_the_rows_of_instructions_does_not_matter(
    pairs: list[tuple[Row, Row]], random: Random
) -> None:
    compilations, modules = in_processes(pairs)
    tables = tables_of(modules)
    straight = explain(compilations, **tables)
    random.shuffle(tables["hlo_instruction"])
    shuffled = explain(compilations, **tables)
    assert shuffled.changes == straight.changes
    assert [row["kind"] for row in shuffled.rows] == [row["kind"] for row in straight.rows]
    for row, other in zip(shuffled.rows, straight.rows, strict=True):
        assert row == other or row["kind"] == "unknown"  # which shows the first that differs


@settings(max_examples=10, deadline=None)
@given(pairs=st.lists(st.tuples(graphs, graphs), min_size=1, max_size=10))
def test_number_of_the_program_does_not_matter(pairs: list[tuple[Row, Row]]) -> None:
    compilations, modules = in_processes(pairs)
    assert explain(compilations, modules[::-1]) == explain(compilations, modules)


NAMELESS = ["f32[16,8] dot", "f32[16,8] add"]  # as in a trace of a program without IR debugging


def test_without_any_line_a_graph_of_another_size_is_control_flow() -> None:
    row = why(lines(*NAMELESS), lines(*NAMELESS, "9 * f32[16,8] dot"))
    assert without(row, "process", "index", "against", "basis") == {
        "kind": "operations",
        "was": "2 instructions",
        "now": "11 instructions",
    }


def test_without_any_line_one_more_input_with_little_work_is_an_input() -> None:
    more = why(
        {**inputs("f32[]"), **lines(*NAMELESS)},
        {**inputs("f32[]", "f32[]"), **lines(*NAMELESS, "f32[] add")},
    )
    assert more["kind"] == "input_count"


def test_without_any_line_another_literal_is_a_number() -> None:
    row = why(lines(*NAMELESS, "f32[] constant(2.5)"), lines(*NAMELESS, "f32[] constant(2.25)"))
    assert of(row, {"kind": 0, "was": 0, "now": 0}) == {
        "kind": "constant",
        "was": "2.5",
        "now": "2.25",
    }


def test_where_lines_are_known_a_nameless_literal_says_nothing() -> None:
    line = "aten::mm f32[16,8] dot @train.py:30"
    row = why(lines(line, "f32[] constant(2.5)"), lines(line, "f32[] constant(2.25)"))
    assert row["kind"] == "unknown"
