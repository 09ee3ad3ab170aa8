"""The list of compilations, and two graphs compared."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.report.snapshots import assert_as_before
from tests.report.test_terminal import columns
from tests.support import Row, evidence
from xladoctor.causes.compilations import call_sites, explained
from xladoctor.causes.difference import difference
from xladoctor.causes.graph_difference import Difference, OperationChange
from xladoctor.doctor import load_evidence
from xladoctor.errors import XladoctorError
from xladoctor.evidence.interface import Evidence
from xladoctor.report import compilations, graph_diff
from xladoctor.report.interface import Style

pytestmark = pytest.mark.xdist_group("compilations")  # one worker reads each sample once
SAMPLES = Path(__file__).parents[2] / "sample_traces"
SNAPSHOTS = Path(__file__).parent / "compilation_snapshots"
CONTROL = re.compile(r"\x1b\[[0-9;]*m")
STYLES = {
    "80": Style(80),
    "120": Style(120),
    "50": Style(50),
    "80-ascii": Style(80, unicode=False),
    "120-color": Style(120, color=True),
}
#: By name: the sample, the two to compare if any, the style.
CASES: dict[str, tuple[str, tuple[int, int] | None, Style]] = {
    **{f"list-{name}": ("recompiling", None, style) for name, style in STYLES.items()},
    **{f"diff-{name}": ("recompiling", (0, 3), style) for name, style in STYLES.items()},
    "list-fallback-80": ("dynamic_shape", None, STYLES["80"]),
    "list-threads-80": ("two_threads", None, STYLES["80"]),
    "same-80": ("two_threads", (0, 1), STYLES["80"]),
}
TRAIN, MODEL = "/home/ada/train.py", "/home/ada/model.py"


def shown(of: Evidence, style: Style = STYLES["80"], limit: int = 40) -> str:
    output = io.StringIO()
    rows, sites = explained(of), call_sites(of)
    compilations.render(rows, limit, sites, output, style)
    return output.getvalue()


def compared(
    of: Evidence, pair: tuple[int, int], style: Style = STYLES["80"], limit: int = 40
) -> str:
    output = io.StringIO()
    graph_diff.render(difference(of.database, 0, *pair), of, limit, output, style)
    return output.getvalue()


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """The text of each case; a sample is read once."""
    samples = {case[0]: load_evidence(str(SAMPLES / case[0])) for case in CASES.values()}
    return {
        name: compared(samples[sample], pair, style) if pair else shown(samples[sample], style)
        for name, (sample, pair, style) in CASES.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_output_is_as_it_was(written: dict[str, str], name: str) -> None:
    assert_as_before(SNAPSHOTS / f"{name}.txt", written[name])


def test_every_snapshot_is_of_a_case() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_lines_are_within_the_width_and_end_without_blanks(
    written: dict[str, str], name: str
) -> None:
    style = CASES[name][2]
    text = written[name]
    lines = text.splitlines()
    assert [line for line in lines if columns(line) > style.width] == []
    assert style.color or [line for line in lines if line != line.rstrip()] == []
    assert style.unicode or text.isascii()


@pytest.mark.parametrize("what", ["list", "diff"])
def test_colours_change_nothing_but_colours(written: dict[str, str], what: str) -> None:
    lines = CONTROL.sub("", written[f"{what}-120-color"]).splitlines()
    assert [line.rstrip() for line in lines] == written[f"{what}-120"].splitlines()


# The list, by hand


def compiled(index: int, graph: str, **fields: Any) -> Row:
    return {
        "process": 0,
        "thread": 1,
        "index": index,
        "step": index,
        "ordinal": index,
        "launches": 9,
        "graph_hash": graph,
        "cause": "user torch_xla.sync",
        "inputs": 1,
        "outputs": 1,
        "duration_ns": 250_000_000,
        "file": TRAIN,
        "line": 41,
        "function": "train",
        "via": "sync",
        **fields,
    }


def cause(index: int = 1, **fields: Any) -> Row:
    return {"process": 0, "index": index, "against": 0, "kind": "unknown", **fields}


def phrase(**fields: Any) -> str:
    tables = {
        "compilation": [compiled(0, "a"), compiled(1, "b")],
        "recompilation": [cause(**fields)],
    }
    recompiled = explained(evidence(tables))[1]["cause"]
    return compilations.phrase(recompiled)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"kind": "input_shape", "was": "f32[16,64]", "now": "f32[17,64]"},
            "input shape f32[16,64] → f32[17,64]",
        ),
        (
            {"kind": "input_shape", "op": "aten::zeros", "was": "f32[3]", "now": "f32[4]"},
            "shape of aten::zeros f32[3] → f32[4]",
        ),
        ({"kind": "input_type", "was": "f32[4]", "now": "bf16[4]"}, "input type f32[4] → bf16[4]"),
        (
            {"kind": "data_dependent_shape", "was": "s64[3]", "now": "s64[5]"},
            "data-dependent shape s64[3] → s64[5]",
        ),
        (
            {"kind": "constant", "op": "aten::pow", "was": "1.5", "now": "1.75"},
            "number 1.5 → 1.75 of aten::pow",
        ),
        ({"kind": "constant", "was": "input", "now": "constant"}, "number, input → constant"),
        ({"kind": "constant", "op": "aten::mul"}, "number of aten::mul, simplified by XLA"),
        (
            {"kind": "operations", "op": "aten::relu", "now": "f32[2] maximum"},
            "operations: aten::relu is new",
        ),
        (
            {"kind": "operations", "op": "aten::relu", "was": "f32[2] maximum"},
            "operations: aten::relu is gone",
        ),
        (
            {
                "kind": "operations",
                "op": "aten::add",
                "was": "2 instructions",
                "now": "1 instruction",
            },
            "operations: aten::add, 2 instructions → 1 instruction",
        ),
        ({"kind": "operations", "op": "aten::addmm"}, "operations: aten::addmm with other sizes"),
        (
            {"kind": "input_count", "was": "9 inputs, 2 outputs", "now": "10 inputs, 2 outputs"},
            "9 inputs → 10 inputs",
        ),
        ({"kind": "input_count"}, "number of inputs or outputs"),
        ({"kind": "growing", "op": "aten::tanh"}, "grows: aten::tanh"),
        (
            {"kind": "placement", "op": "donated", "was": "2", "now": "none"},
            "placement: donated inputs 2 → none",
        ),
        ({"kind": "placement", "op": "thread"}, "placement: two threads compiled it at once"),
        ({"kind": "evicted", "against": 3}, "evicted: same graph as 3"),
        ({"kind": "unknown", "basis": "hlo"}, "unknown: same after optimization"),
        ({"kind": "unknown"}, "unknown: not in the timeline"),
        ({"kind": "constant", "was": "x" * 50, "now": "1"}, f"number {'x' * 40}… → 1"),
        ({"kind": "kind_to_come"}, "kind_to_come"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_cause_in_words(fields: Row, words: str) -> None:
    assert phrase(**fields) == words


def test_line_of_the_cause_is_beside_it_or_below() -> None:
    rows = [compiled(0, "a"), compiled(1, "b")]
    why = cause(kind="constant", op="aten::pow", was="1", now="2", file=MODEL, line=12)
    recompiled = evidence({"compilation": rows, "recompilation": [why]}, cwd="/home/ada")
    assert "number 1 → 2 of aten::pow (model.py:12)" in shown(recompiled)
    assert [line.strip() for line in shown(recompiled, Style(68)).splitlines()][4:6] == [
        "1     1    0.250  w      b   0  number 1 → 2 of aten::pow",
        "model.py:12",
    ]


def test_library_line_has_the_user_line_with_it() -> None:
    library: Row = {
        "file": "/venv/lib/python3.11/site-packages/nets/deep/block.py",
        "line": 7,
        "user_file": MODEL,
        "user_line": 3,
    }
    why = cause(kind="growing", op="aten::add", **library)
    tables = {"compilation": [compiled(0, "a"), compiled(1, "b")], "recompilation": [why]}
    text = " ".join(shown(evidence(tables, cwd="/home/ada")).split())
    assert "grows: aten::add nets/deep/block.py:7, called from model.py:3" in text


def test_call_sites_have_sums_and_kinds() -> None:
    rows = [
        compiled(0, "a"),
        compiled(1, "b", file=MODEL, line=3, ordinal=0),
        *(compiled(n, "ab"[n % 2], ordinal=n) for n in (4, 5)),
    ]
    causes = [cause(n, kind="evicted", basis="hash") for n in (4, 5)]
    first, other = call_sites(evidence({"compilation": rows, "recompilation": causes}))
    assert (first["compilations"], first["graphs"]) == (3, 2)
    assert (first["seconds"], first["seconds_after_warmup"]) == (0.75, 0.5)
    assert first["kinds"] == {"evicted": 2, "first": 1}
    assert (other["file"], other["line"], other["kinds"]) == (MODEL, 3, {"first": 1})


def test_warm_up_is_by_turns_where_a_step_has_several_barriers() -> None:
    tables = {
        "compilation": [compiled(5, "a"), compiled(6, "b")],
        "step_period": [{"process": 0, "thread": 1, "barriers": 2}],
    }
    assert [row["warmup"] for row in explained(evidence(tables))] == [True, False]


def test_what_is_not_known_is_a_question_mark() -> None:
    nothing = {"duration_ns": None, "step": None, "file": None, "line": None, "graph_hash": None}
    text = shown(evidence({"compilation": [compiled(0, "a", **nothing)]})).splitlines()
    assert text[0] == "1 compilation at 1 call site"
    assert text[3].split() == [*"0??w?", "first", "at", "an", "unknown", "line"]


def test_processes_are_told_apart() -> None:
    rows = [compiled(0, "a"), compiled(0, "b", process=1)]
    text = shown(evidence({"compilation": rows})).splitlines()
    assert text[0].startswith("2 compilations at 2 call sites")
    assert [line.split()[0] for line in text[2:5]] == ["process", "0", "1"]


def test_only_so_many_are_listed_and_all_are_summed() -> None:
    text = shown(evidence({"compilation": [compiled(n, "a") for n in range(9)]}), limit=2)
    assert len(re.findall("first at", text)) == 2
    assert "       9       1    2.250          1.500  /home/ada/train.py:41 (sync)" in text


@pytest.mark.parametrize(
    ("fields", "hint"),
    [({}, True), ({"graph_hash": "c"}, False), ({"graph_hash": "a"}, False)],
    ids=["two graphs", "one outside the window", "one graph"],
)
def test_comparison_is_pointed_to_where_there_are_two_graphs(fields: Row, hint: bool) -> None:
    tables = {
        "compilation": [compiled(0, "a"), compiled(1, "b", **fields)],
        "hlo_module": [module("a", 1), module("b", 2)],
        "recompilation": [cause()],
    }
    assert shown(evidence(tables)).endswith("\ntwo graphs side by side: --diff 0 1\n") == hint


@pytest.mark.parametrize("style", [Style(20), Style(50), Style(80, unicode=False)], ids=str)
def test_program_text_is_shown_and_not_obeyed(style: Style) -> None:
    rows = [compiled(0, "a", file="/a\x1b[2J\n数据/train.py", via="\x07")]
    text = shown(evidence({"compilation": rows}), style)
    assert not set(text) & set("\x1b\x07")
    assert all(columns(line) <= style.width for line in text.splitlines())
    assert style.unicode or text.isascii()


# Two graphs, by hand


def module(graph: str, program: int, **fields: Any) -> Row:
    return {
        "process": 0,
        "program_id": program,
        "name": f"SyncTensorsGraph.{program}",
        "graph_hash": graph,
        "instructions": 9,
        "donated": [],
        "devices": [0],
        **fields,
    }


def instruction(graph: str, program: int, opcode: str = "power", **fields: Any) -> Row:
    return {
        "process": 0,
        "program_id": program,
        "graph_hash": graph,
        "computation": "main",
        "id": 1,
        "opcode": opcode,
        "type": "f32",
        "shape": [2],
        "op_type": "aten__pow",
        "frame": 1,
        "file": MODEL,
        "line": 12,
        "function": "loss",
        **fields,
    }


def parameter(graph: str, program: int, number: int, shape: list[int], **fields: Any) -> Row:
    return {
        "process": 0,
        "program_id": program,
        "graph_hash": graph,
        "number": number,
        "shape": shape,
        "type": "f32",
        "sent": False,
        "file": MODEL,
        "line": 12,
        "function": "loss",
        **fields,
    }


def two(
    instructions: list[Row], parameters: list[Row] | None = None, after: Row | None = None
) -> Evidence:
    tables = {
        "compilation": [compiled(0, "a"), compiled(1, "b", **(after or {}))],
        "hlo_module": [module("a", 1), module("b", 2)],
        "hlo_instruction": instructions,
        "hlo_parameter": parameters or [],
        "source_line": [{"file": MODEL, "line": 12, "text": "    return x ** gamma"}],
    }
    return evidence(tables, cwd="/home/ada")


def differing(of: Evidence) -> Difference:
    return difference(of.database, 0, 0, 1)


def test_number_that_differs() -> None:
    number = {"op_type": "prim__Constant", "shape": []}
    of = two(
        [
            instruction("a", 1, "constant", literal="1.5", **number),
            instruction("b", 2, "constant", literal="2.5", **number),
        ]
    )
    (line,) = differing(of).lines
    assert line.place[:3] == (MODEL, 12, "loss")
    assert line.operations == (
        OperationChange("prim::Constant", ("f32[] constant(1.5)",), ("f32[] constant(2.5)",), 1, 1),
    )
    assert compared(of, (0, 1)).splitlines()[5:] == [
        "operations, in the order of lowering",
        "  model.py:12  in loss",
        "  │ return x ** gamma",
        "    prim::Constant",
        "      - f32[] constant(1.5)",
        "      + f32[] constant(2.5)",
    ]
    assert compared(of, (0, 1), Style(100)).splitlines()[-1].split() == [
        "prim::Constant",
        "-",
        "f32[]",
        "constant(1.5)",
        "+",
        "f32[]",
        "constant(2.5)",
    ]


def test_lines_are_in_the_order_of_lowering() -> None:
    of = two(
        [
            instruction("b", 2, frame=3, line=30),
            instruction("b", 2, frame=2, line=20),
            instruction("b", 2, "add", file=None, line=None, frame=None),
        ]
    )
    assert [line.place.line for line in differing(of).lines] == [20, 30, None]
    text = compared(of, (0, 1), limit=1)
    assert "model.py:20" in text
    assert "model.py:30" not in text
    assert text.splitlines()[-1] == "  … and 2 more lines"


def test_inputs_that_changed_or_are_of_one_graph_alone() -> None:
    of = two(
        [],
        [
            parameter("a", 1, 0, [2], sent=True),
            parameter("a", 1, 1, [7, 7], line=13),
            parameter("b", 2, 0, [3], sent=True),
        ],
    )
    assert [(change.parameter, change.a, change.b) for change in differing(of).inputs] == [
        (0, "f32[2]", "f32[3]"),
        (1, "f32[7,7]", None),
    ]
    assert compared(of, (0, 1)).splitlines()[5:] == [
        "inputs",
        "  made at model.py:12  in loss",
        "  │ return x ** gamma",
        "      parameter 0  f32[2] → f32[3]",
        "  first used at model.py:13  in loss",
        "    - parameter 1  f32[7,7]",
    ]


def test_layout_that_differs() -> None:
    of = two(
        [],
        [parameter("a", 1, 0, [2, 3], layout=[1, 0]), parameter("b", 2, 0, [2, 3], layout=[0, 1])],
    )
    (change,) = differing(of).inputs
    assert (change.a, change.b) == ("f32[2,3]{1,0}", "f32[2,3]{0,1}")


def test_instructions_of_no_operation_are_together() -> None:
    nameless = {"op_type": None, "file": None, "line": None, "frame": None}
    of = two(
        [
            instruction("a", 1, "add", **nameless, id=1),
            instruction("a", 1, "add", **nameless),
            instruction("b", 2, "add", **nameless),
        ]
    )
    (line,) = differing(of).lines
    assert line.operations == (OperationChange(None, ("f32[2] add",), (), 2, 1),)
    assert "other instructions  2 → 1" in compared(of, (0, 1))


def test_more_instructions_than_are_shown() -> None:
    of = two([instruction("a", 1, shape=[n]) for n in range(1, 8)])
    assert compared(of, (0, 1)).splitlines()[-2:] == ["      - f32[4] power", "      - and 3 more"]


def test_placement_and_outputs_that_differ() -> None:
    tables = {
        "compilation": [compiled(0, "a"), compiled(1, "b", outputs=2)],
        "hlo_module": [module("a", 1, donated=[0, 1]), module("b", 2)],
    }
    assert compared(evidence(tables), (0, 1)).splitlines()[5:] == [
        "compiled for",
        "  donated inputs  0, 1 → none",
        "  outputs         1 → 2",
    ]


def test_graphs_that_are_the_same() -> None:
    of = two(
        [instruction("a", 1), instruction("b", 2)],
        [parameter("a", 1, 0, [2]), parameter("b", 2, 0, [2])],
    )
    assert differing(of).same
    assert compared(of, (0, 1)).splitlines()[5:] == ["the graphs are the same after optimization"]


def test_differences_beyond_those_that_are_looked_at_are_counted() -> None:
    of = two([instruction("b", 2, shape=[n], frame=n) for n in range(1, 700)])
    assert differing(of).left_out == 99
    assert compared(of, (0, 1)).splitlines()[-1] == (
        "  … and 99 more kinds of instructions, lowered later"
    )


def test_json_has_the_whole_difference() -> None:
    of = two([instruction("b", 2)], [parameter("b", 2, 0, [2])])
    record = graph_diff.record(differing(of), of)
    assert record["same"] is False
    assert record["a"]["file"] == "train.py"
    assert record["a"]["seconds"] == 0.25
    assert record["lines"][0]["place"]["file"] == "model.py"
    assert record["inputs"][0] | {"place": None} == {
        "parameter": 0,
        "a": None,
        "b": "f32[2]",
        "sent": False,
        "place": None,
    }


def test_number_out_of_range() -> None:
    with pytest.raises(XladoctorError, match="there is no compilation 2") as error:
        difference(two([]).database, 0, 0, 2)
    assert error.value.hint == "process 0 has the numbers 0 to 1"


def test_compilation_without_a_graph_is_named() -> None:
    of = two([], after={"graph_hash": "c"})
    with pytest.raises(XladoctorError, match="that of compilation 1 is not") as error:
        differing(of)
    assert "--trace-bytes" in error.value.hint
    with pytest.raises(XladoctorError, match="that of compilation 0 and 1 is not"):
        differing(evidence({"compilation": [compiled(0, "a"), compiled(1, "b")]}))
