"""Lines for graphs without: the same graph, another shape, something more, and far too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import Row, rows
from xladoctor.ingest import hlo
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.hlo import Module, lines
from xladoctor.ingest.protobuf_schema import message

ADAPTER = "/opt/xladoctor/recording/bootstrap/_xladoctor/adapter.py"


@dataclass(frozen=True)
class Op:
    """An operation of the framework; ``line`` 0 is none. Its stack is train.py:line, from main."""

    name: str
    line: int = 0
    opcode: str = "add"
    shape: tuple[int, ...] = (4,)


def decoded(ops: list[Op], program: int = 1) -> Module:
    """Inputs are of the entry computation, numbered in order; the rest follows."""
    proto = message("HloProto")()
    module, index = proto.hlo_module, proto.hlo_module.stack_frame_index
    module.entry_computation_id = 1
    entry = module.computations.add(id=1, name="main")
    inputs = 0
    for number, op in enumerate(ops, 1):
        added = entry.instructions.add(opcode=op.opcode, id=number)
        added.shape.dimensions.extend(op.shape)
        added.metadata.op_type = op.name
        if op.opcode == "parameter":
            added.parameter_number, inputs = inputs, inputs + 1
        if op.line:
            added.metadata.stack_frame_id = _frame(index, op.line)
    return hlo.decode(proto.SerializeToString(), program, Folders())


def _frame(index: Any, line: int) -> int:
    """A frame of ``step`` at this line, called from ``main`` at line 1."""
    if not index.file_names:
        index.file_names.append("/home/ada/train.py")
        index.function_names.extend(("main", "step"))
        index.file_locations.add(file_name_id=1, function_name_id=1, line=1)
        index.stack_frames.add(file_location_id=1, parent_frame_id=0)
    index.file_locations.add(file_name_id=1, function_name_id=2, line=line)
    index.stack_frames.add(file_location_id=len(index.file_locations), parent_frame_id=1)
    return len(index.stack_frames)


def lend(modules: list[Module], sites: Sequence[object] | None = None) -> None:
    """As for compilations of one call site, if none are given."""
    hlo.lend_lines(modules, sites or [None] * len(modules))


def bare(ops: list[Op]) -> list[Op]:
    return [Op(op.name, 0, op.opcode, op.shape) for op in ops]


def lines_of(module: Module) -> list[int | None]:
    return list(module.instructions["line"])


def given_lines(ops: list[Op]) -> list[int | None]:
    return [op.line or None for op in ops]


X, W = (Op("xla__device_data", line, "parameter") for line in (10, 3))
MUL, ADD, SUM = Op("aten::mul", 20, "multiply"), Op("aten::add", 21), Op("aten::sum", 22, "reduce")
STEP = [X, W, MUL, ADD, SUM]


def test_same_graph_takes_every_line() -> None:
    known, late = decoded(STEP, 1), decoded(bare(STEP), 2)
    lend([known, late])
    assert lines_of(late) == [10, 3, 20, 21, 22]
    assert late.instructions["file"] == known.instructions["file"]
    assert late.instructions["function"] == ["step"] * 5


def test_a_graph_of_another_call_site_lends_nothing() -> None:
    late = decoded(bare(STEP), 3)
    other = [Op(op.name, op.line + 50, op.opcode) for op in STEP]
    lend([decoded(STEP, 1), decoded(other, 2), late], ["a", "b", "a"])
    assert lines_of(late) == [10, 3, 20, 21, 22]
    late = decoded(bare(STEP), 3)
    lend([decoded(STEP, 1), late], ["a", "b"])
    assert lines_of(late) == [None] * 5


def test_another_shape_is_the_same_graph() -> None:
    shaped = [Op(op.name, 0, op.opcode, (9, 9)) for op in STEP]
    late = decoded(shaped, 2)
    lend([decoded(STEP, 1), late])
    assert lines_of(late) == [10, 3, 20, 21, 22]
    assert late.instructions["shape"] == [[9, 9]] * 5


@pytest.mark.parametrize("at", range(2, 6))
def test_operation_more_has_no_line_and_the_others_have_theirs(at: int) -> None:
    late = decoded([*bare(STEP)[:at], Op("aten::pow"), *bare(STEP)[at:]], 2)
    lend([decoded(STEP, 1), late])
    assert lines_of(late) == [*[10, 3, 20, 21, 22][:at], None, *[10, 3, 20, 21, 22][at:]]


def test_operation_less() -> None:
    late = decoded([op for op in bare(STEP) if op.name != "aten::mul"], 2)
    lend([decoded(STEP, 1), late])
    assert lines_of(late) == [10, 3, 21, 22]


def test_inputs_are_known_by_their_number() -> None:
    """XLA lists parameters in the order of their use."""
    known, late = decoded([X, W]), decoded(bare([X, W]), 2)
    late.instructions["parameter"].reverse()
    lend([known, late])
    assert lines_of(late) in ([3, 10], [3, None], [None, 10])


def test_parameter_that_was_sent_is_sent_in_the_other_graph() -> None:
    known, late = decoded(STEP, 1), decoded(bare(STEP), 2)
    known.instructions["sent"][0] = True
    lend([known, late])
    assert late.instructions["sent"][:2] == [True, False]


# Frames


def test_frames_are_appended_with_their_callers_moved() -> None:
    known = decoded([X, MUL], 1)
    late = decoded([Op("xla__device_data", 77, "parameter"), *bare([MUL] * 5)], 2)
    own = rows(late.frames)

    lend([known, late])

    frames = rows(late.frames)
    assert frames[: len(own)] == own
    assert [row["frame"] for row in frames] == list(range(1, len(frames) + 1))
    assert [row["parent"] for row in frames] == [0, 1, 0, 3, 3]
    assert [row["line"] for row in frames] == [1, 77, 1, 10, 20]
    assert late.instructions["frame"][:2] == [2, 5]


def test_stack_of_a_lent_line_ends_in_the_same_frames() -> None:
    known, late = decoded(STEP, 1), decoded(bare(STEP), 2)
    lend([known, late])
    for row in range(len(STEP)):
        assert stack(late, row) == stack(known, row)


def stack(module: Module, row: int) -> list[tuple[str, int]]:
    frames = {frame["frame"]: frame for frame in rows(module.frames)}
    number, calls = module.instructions["frame"][row], []
    while number:
        calls.append((frames[number]["function"], frames[number]["line"]))
        number = frames[number]["parent"]
    return calls


# Whose lines


def test_module_with_lines_of_its_own_stays_as_it_is() -> None:
    known = decoded(STEP, 1)
    own = [Op(op.name, op.line + 100, op.opcode) for op in STEP]
    other = decoded(own, 2)
    before = rows(other.instructions), rows(other.frames)
    lend([known, other])
    assert (rows(other.instructions), rows(other.frames)) == before


def test_line_that_a_module_has_is_kept() -> None:
    late = decoded([X, *bare([W, MUL, ADD]), Op("aten::sum", 99, "reduce")], 2)
    late.instructions["file"][4] = "/home/ada/other.py"
    lend([decoded(STEP, 1), decoded(STEP, 3), late])
    assert lines_of(late) == [10, 3, 20, 21, 99]
    assert late.instructions["file"][4] == "/home/ada/other.py"


def test_lender_has_as_many_inputs_then_nearly_the_same_size() -> None:
    two = [Op(op.name, op.line + 100, op.opcode) for op in [X, MUL, MUL, MUL, MUL]]
    longer = [Op(op.name, op.line + 200, op.opcode) for op in [*STEP, ADD, ADD, ADD, ADD]]
    late = decoded(bare(STEP), 4)
    lend([decoded(two, 1), decoded(longer, 2), decoded(STEP, 3), late])
    assert lines_of(late) == [10, 3, 20, 21, 22]


def test_of_equal_lenders_the_last_before_it_is_chosen() -> None:
    def moved(by: int) -> list[Op]:
        return [Op(op.name, op.line + by, op.opcode) for op in STEP]

    late = decoded(bare(STEP), 5)
    lenders = [decoded(moved(by), program) for by, program in ((100, 2), (200, 3), (300, 6))]
    lend([*lenders, late])
    assert lines_of(late) == [210, 203, 220, 221, 222]


def test_without_any_lines_nothing_is_lent() -> None:
    modules = [decoded(bare(STEP), program) for program in (1, 2)]
    lend(modules)
    assert [lines_of(module) for module in modules] == [[None] * 5] * 2


@pytest.mark.parametrize("ops", [[], [Op("", 0, "constant")]], ids=["empty", "no operation"])
def test_module_without_operations_takes_none(ops: list[Op]) -> None:
    odd = decoded(ops, 2)
    lend([decoded(STEP, 1), odd])
    assert lines_of(odd) == [None] * len(ops)
    lend([])


# Large modules


def test_large_modules_are_paired_by_how_often_each_operation_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "_MOST_ALIGNED", 3)
    late = decoded([*bare(STEP)[:2], Op("aten::pow"), *bare([MUL, MUL, ADD])], 2)
    lend([decoded(STEP, 1), late])
    assert lines_of(late) == [10, 3, None, 20, None, 21]


def test_repeated_operations_of_large_modules_are_taken_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "_MOST_ALIGNED", 0)
    known = [Op("aten::add", line) for line in (5, 6, 7)]
    late = decoded(bare([*known, ADD, MUL]), 2)
    lend([decoded(known, 1), late])
    assert lines_of(late) == [5, 6, 7, None, None]


# Any graph

operations = st.builds(
    Op,
    st.sampled_from(["aten::add", "aten::mul", "xla__device_data"]),
    st.integers(1, 40),
    st.sampled_from(["add", "multiply", "parameter", "broadcast"]),
)
graphs = st.lists(operations, min_size=1, max_size=12)


@given(graphs)
def test_any_graph_gives_all_its_lines_to_itself(ops: list[Op]) -> None:
    late = decoded(bare(ops), 2)
    lend([decoded(ops, 1), late])
    assert lines_of(late) == given_lines(ops)


@given(graphs, graphs, st.booleans())
def test_lent_line_is_of_the_same_operation_and_lent_once(
    known: list[Op], late: list[Op], large: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_MOST_ALIGNED", 0 if large else 4000)
        module = decoded(bare(late), 2)
        lend([decoded(known, 1), module])

    lent = [
        (op.name, op.opcode, line) for op, line in zip(late, lines_of(module), strict=True) if line
    ]
    there = [(op.name, op.opcode, op.line) for op in known]
    for operation in set(lent):
        assert lent.count(operation) <= there.count(operation)


@given(st.lists(operations, unique_by=lambda op: (op.name, op.opcode)), st.integers(0, 12))
def test_what_is_the_same_before_and_after_a_change_keeps_its_lines(ops: list[Op], at: int) -> None:
    late = bare(ops)
    late.insert(at, Op("aten::new"))
    module = decoded(late, 2)
    lend([decoded(ops, 1), module])
    kept = lines_of(module)
    assert kept.pop(min(at, len(ops))) is None
    assert kept == given_lines(ops)


def test_rows_keep_the_columns_of_a_module() -> None:
    late = decoded(bare(STEP), 2)
    columns = {name: len(values) for name, values in late.instructions.items()}
    lend([decoded(STEP, 1), late])
    assert {name: len(values) for name, values in late.instructions.items()} == columns
    table: list[Row] = rows(late.frames)
    assert {"frame", "parent", "file", "line", "function", "kind"} == set(table[0])
