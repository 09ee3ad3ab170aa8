"""What TorchTPU adds to the log of TORCH_TRACE. The recorded logs are of torch_tpu 0.2.0 over a
CPU, with shorter names, without StableHLO, and without the records that are not read.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.frontends.torch_tpu.ingest.turns import Turns
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.recorded_elsewhere import read_elsewhere
from xladoctor.recording.bootstrap._xladoctor.torch_tpu.executables import executable

RECORDED = Path(__file__).parent / "recorded"
PROGRAM = "/home/ada/train.py"


def rows(ingested: Ingested, table: str, *names: str) -> list[tuple[Any, ...]]:
    columns = ingested.tables[table]
    return [*zip(*(columns[name] for name in names), strict=True)] if columns else []


def recorded(name: str) -> Ingested:
    return read_elsewhere([RECORDED / f"{name}.log.gz"])


def text_of(name: str) -> str:
    return gzip.decompress((RECORDED / f"{name}.log.gz").read_bytes()).decode()


def read(folder: Path, text: str) -> Ingested:
    (folder / "torch_trace.log").write_text(text)
    return read_elsewhere([folder])


def record(fields: dict[str, Any], payload: str) -> str:
    text = f"V1127 14:16:32.115000 1066 torch_tpu/tracing.py:54] {json.dumps(fields)}\n"
    return text + "".join(f"\t{line}\n" for line in payload.splitlines())


def event(operator: str, at_us: int = 0, hit: bool = True, **more: Any) -> str:
    told = {"cache_hit": hit, "compile_failed": False, "reason": "debug_mode", **more}
    fields = {"name": f"torchtpu_eager/{operator}", "ph": "X", "ts": at_us, "dur": 9, "args": told}
    return record({"chromium_event": {}}, json.dumps(fields, separators=(",", ":")))


def graph(operator: str, text: str = "", **more: Any) -> str:
    told = {"cache_hit": not text, "compile_failed": False, "reason": "debug_mode", **more}
    name = {"name": "torchtpu_eager_aten_graph", "op_name": f"torchtpu_eager/{operator}"}
    return record({"artifact": {**name, **told}}, text)


def launch(operator: str, *shapes: str, line: int = 5, file: str = PROGRAM) -> str:
    """A launch, of a new executable if it has shapes."""
    text = "".join(f"%{n}: {shape} = input\n" for n, shape in enumerate(shapes))
    place = f"    # {file}:{line} in <module>" if line else ""
    text += f"%9: {shapes[0]} = {operator}(%0){place}\n" if shapes else ""
    return event(operator, hit=not shapes) + graph(operator, text)


# -- recorded logs -----------------------------------------------------------------------------


def test_operators_of_another_batch_are_compiled_together() -> None:
    ingested = recorded("eager")

    assert rows(ingested, "compilation", "cause", "file", "line", "ordinal", "launches") == [
        ("jit(linear)", PROGRAM, 11, 0, 12),
        ("jit(ones_like)", PROGRAM, 13, 0, 12),
        ("jit(cross_entropy_loss_backward)", None, None, 0, 12),
        ("jit(_foreach_add)", PROGRAM, 14, 0, 12),
        ("jit(linear)", PROGRAM, 11, 5, 12),
    ]
    assert rows(ingested, "key_change", "index", "against", "what", "argument", "was", "now") == [
        (4, 0, "shape", "input 0 of linear", "f32[8,16]", "f32[16,16]")
    ]
    assert rows(ingested, "launch", "line", "count", "operations") == [
        (11, 48, True),
        (13, 12, True),
        (None, 48, True),
        (14, 12, True),
    ]


def test_no_time_is_told_that_the_log_has_not() -> None:
    ingested = recorded("eager")

    assert set(ingested.tables["compilation"]["duration_ns"]) == {None}
    assert set(ingested.tables["compilation"]["step"]) == {None}
    assert "step" not in ingested.tables
    assert "120 launches of operators outside of compiled functions, 18 of them" in " ".join(
        ingested.notes
    )


def test_layers_of_other_sizes_are_no_changes_but_batches_and_slices_are() -> None:
    ingested = recorded("slices")

    assert rows(ingested, "key_change", "what", "argument", "was", "now") == [
        ("shape", "input 0 of linear", "f32[8,16]", "f32[9,16]"),
        ("shape", "input 0 of linear", "f32[8,16]", "f32[10,16]"),
        ("shape", "input 0 of linear", "f32[8,16]", "f32[11,16]"),
        *[("offset", "the slice that sum reads", None, None)] * 4,
    ]


def test_compiled_functions_are_read_beside_operators() -> None:
    ingested = recorded("compiled")

    assert rows(ingested, "compilation", "index", "cause", "duration_ns") == [
        (0, "jit(loss_of)", 1320526000),
        (1, "jit(loss_of)", 761616000),
        (2, "jit(loss_of)", 516226000),
        (3, "jit(ones_like)", None),
        (4, "jit(_foreach_add)", None),
    ]


@pytest.mark.parametrize(
    ("name", "found"),
    [("eager", ["XD101"]), ("slices", ["XD119", "XD101"]), ("compiled", ["XD101"])],
)
def test_rules_judge_it_as_a_program_of_torch_tpu(name: str, found: list[str]) -> None:
    evidence = load_evidence(str(RECORDED / f"{name}.log.gz"))

    assert evidence.frontend == "torch_tpu"
    assert [finding.rule for finding in diagnose(evidence, load_rules()).findings] == found


# -- damaged and strange logs --------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.35, 0.5, 0.8, 0.99])
def test_a_torn_log_is_read_as_far_as_it_goes(share: float, tmp_path: Path) -> None:
    text = text_of("eager")
    text = text[: int(share * len(text))]

    ingested = read(tmp_path, text)

    launches = sum(count for (count,) in rows(ingested, "launch", "count"))
    assert text.count("torchtpu_eager_aten_graph") <= launches
    assert launches <= text.count('"torchtpu_eager/') - text.count('"op_name"')


def test_a_launch_whose_graph_is_lost_counts(tmp_path: Path) -> None:
    text = event("relu") + event("tanh", hit=False) + launch("relu")

    ingested = read(tmp_path, text)

    assert rows(ingested, "launch", "line", "count") == [(None, 3)]
    assert rows(ingested, "compilation", "cause") == [("jit(tanh)",)]


def test_a_graph_without_its_event_counts(tmp_path: Path) -> None:
    ingested = read(
        tmp_path, event("relu") + graph("tanh", "%0: f32[2] = tanh()  # /a/b.py:3 in f")
    )

    assert rows(ingested, "launch", "file", "line", "count") == [(None, None, 1), ("/a/b.py", 3, 1)]


def test_a_damaged_record_is_noted_and_the_others_are_read(tmp_path: Path) -> None:
    text = event("relu").replace('"args"', '"arrgs"') + launch("tanh")

    ingested = read(tmp_path, text)

    assert rows(ingested, "launch", "count") == [(1,)]
    assert any("a record is none that" in note for note in ingested.lost)


def test_unknown_artifacts_make_no_launches(tmp_path: Path) -> None:
    text = record({"artifact": {"name": "torchtpu_of_a_later_version"}}, "?")

    ingested = read(tmp_path, text)

    assert ingested.tables["process"]["frontend"] == ["torch_tpu"]
    assert "launch" not in ingested.tables


def test_what_could_not_be_compiled_is_noted(tmp_path: Path) -> None:
    ingested = read(tmp_path, launch("relu") + graph("sort", "?", compile_failed=True))

    assert rows(ingested, "launch", "count") == [(1,)]
    assert any("1 launch of operators failed" in note and "sort" in note for note in ingested.notes)


def test_launches_of_compiled_functions_are_no_operators(tmp_path: Path) -> None:
    ingested = read(tmp_path, graph("f", reason="compile_mode_execution") + launch("relu"))

    assert rows(ingested, "launch", "count") == [(1,)]


def test_torch_own_layers_get_the_line_of_the_next_operator(tmp_path: Path) -> None:
    layer = "/env/lib/python3.11/site-packages/torch/nn/modules/linear.py"
    optimizer = "/env/lib/python3.11/site-packages/torch/optim/sgd.py"
    text = (
        launch("linear", "f32[8,16]", file=layer)
        + launch("relu", "f32[8,4]", line=7)
        + launch("relu_backward", "f32[8,4]", line=0)
        + launch("add", "f32[8,4]", file=optimizer)
    )

    ingested = read(tmp_path, text)

    assert rows(ingested, "launch", "line", "count") == [(7, 2), (None, 2)]


# -- turns ---------------------------------------------------------------------------------------


def test_turns_begin_with_what_comes_first_in_them() -> None:
    turns = Turns([7, 8, *[1, 2, 1, 3] * 5])

    assert len(turns) == 5
    assert [turns.of(at) for at in (0, 2, 5, 6, 21)] == [0, 0, 0, 1, 4]


def test_what_is_launched_now_and_then_begins_no_turns() -> None:
    turn = [1, 2, 3, 1, 2]
    assert len(Turns([*turn * 7, 9, *turn * 2, 9, *turn * 9, 9])) == 18


def test_without_repetition_there_are_no_turns() -> None:
    assert len(Turns([])) == 0
    assert len(Turns([1, 2, 3])) == 0
    assert Turns([1, 2, 3]).of(2) == 0


@given(st.lists(st.integers(0, 5), max_size=60))
def test_turns_are_numbered_in_order(launches: list[int]) -> None:
    turns = Turns(launches)
    numbers = [turns.of(at) for at in range(len(launches))]

    assert numbers == sorted(numbers)
    assert not numbers or numbers[0] == 0
    assert not numbers or numbers[-1] == max(0, len(turns) - 1)


# -- the text of a graph -------------------------------------------------------------------------

NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8).filter(
    lambda name: name not in ("input", "as_strided")
)
SHAPES = st.builds(
    lambda kind, sizes: f"{kind}[{', '.join(map(str, sizes))}]",
    st.sampled_from(("f32", "bf16", "i64", "pred")),
    st.lists(st.integers(0, 9999), max_size=4),
)


@given(NAMES, st.lists(SHAPES, max_size=5), SHAPES, st.integers(1, 10**6), st.booleans())
def test_a_graph_is_read_as_it_is_written(
    name: str, inputs: list[str], result: str, line: int, tabs: bool
) -> None:
    lines = [f"# Graph: 1 ops, {len(inputs)} inputs, reason: debug_mode"]
    lines += [f"%{n}: {shape} = input" for n, shape in enumerate(inputs)]
    lines += [f"%9, %10: {result}, {result} = {name}.out(%0)    # /a b/in.py:{line} in <lambda>"]
    text = "\n".join("\t" * tabs + each for each in [*lines, "return %9"])

    found = executable(text, "other")

    assert found.operator == name
    assert found.place == ("/a b/in.py", line, "<lambda>")
    assert found.shapes == tuple(shape.replace(" ", "") for shape in inputs)


@given(st.text("%0: =#f32[8,1] input()\n.py in", max_size=400))
def test_any_text_of_a_graph_is_read(text: str) -> None:
    found = executable(text, "relu.out")

    assert found.operator == "relu" or found.operator in text
    assert found.inputs <= len(found.shapes)


def test_long_texts_are_read_in_no_time() -> None:
    for piece in ("%0: ", "f32[", "a" * 9, " # a:1 ", "%1: f32[2] = f(", ") ", "a:1 in "):
        executable(f"%0: {piece * 20_000} = f() # {piece * 20_000}", "f")
