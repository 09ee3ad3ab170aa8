"""Graphs before optimization are found in what people have, and nothing else is taken for one.

``recorded/`` is what ``recorded/train.py`` left, with JAX 0.12 on four devices of the CPU.
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.tpu_check.forms import recognise
from xladoctor.tpu_check.graphs import Graph, GraphsError, find_graphs
from xladoctor.tpu_check.logged import read_logged

RECORDED = Path(__file__).parent / "recorded"
LOGS = Path(__file__).parents[1] / "ingest/torch_tpu"
XLA = RECORDED / "xla"
SPREAD = "module_0002.jit_step"
FILES = sorted(path for path in RECORDED.rglob("*") if path.is_file() and path.suffix != ".py")
MLIR = """module @{name} {{
  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {{
{body}  }}
}}
"""


def mlir(name: str, operations: int) -> str:
    body = "".join(f"    %{n} = stablehlo.tanh %arg0 : tensor<4xf32>\n" for n in range(operations))
    return MLIR.format(name=name, body=body)


def one(path: Path) -> Graph:
    (graph,) = find_graphs(path).graphs
    return graph


# -- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "form", "name", "operations", "devices"),
    [
        ("jax/jax_ir0000_jit_step_compile.mlir", "stablehlo", "jit_step", 18, 1),
        ("jax/jax_ir0001_jit_step_compile.mlir", "stablehlo", "jit_step", 18, 4),
        ("step.mlirbc", "stablehlo", "step", None, None),
        ("step.jax_export", "jax_export", "step", None, None),
        (f"xla/{SPREAD}.before_optimizations.hlo.pb", "hlo_proto", "jit_step", 17, 4),
        (f"xla/{SPREAD}.before_optimizations.txt", "hlo_text", "jit_step", 17, 4),
    ],
)
def test_a_graph_in_each_form(
    file: str, form: str, name: str, operations: int | None, devices: int | None
) -> None:
    graph = one(RECORDED / file)
    assert (graph.form, graph.name) == (form, name)
    assert (graph.operations, graph.devices) == (operations, devices)
    assert graph.source == RECORDED / file


@pytest.mark.parametrize("form", ["hlo.pb", "txt"])
def test_a_graph_that_was_optimized_is_refused(form: str) -> None:
    with pytest.raises(GraphsError, match="already optimized"):
        find_graphs(XLA / f"{SPREAD}.cpu_after_optimizations.{form}")


def test_an_hlo_proto_becomes_the_module_in_it() -> None:
    whole = (XLA / f"{SPREAD}.before_optimizations.hlo.pb").read_bytes()
    module = recognise(whole)
    assert module is not None
    assert len(module.content) < len(whole)
    again = recognise(module.content)
    assert again is not None
    assert again.content == module.content
    assert again.operations == module.operations


def test_a_compressed_file_is_the_same_graph(tmp_path: Path) -> None:
    file = tmp_path / "g.mlir.gz"
    file.write_bytes(gzip.compress(mlir("f", 2).encode()))
    assert one(file).operations == 2
    assert one(tmp_path).content == one(file).content


def test_a_file_of_any_name_is_read_if_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "graph"
    file.write_text(mlir("f", 2), encoding="utf-8")
    assert one(file).name == "f"
    with pytest.raises(GraphsError):
        find_graphs(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"module",
        b"module load cuda\n",
        b"import torch\n",
        b"{ lambda ; a:f32[8]. let b = tanh a in (b,) }",
        b"module {\n  tt.call @kernel\n}\n",
        b"HloModule",
        b"\x7fELF" + bytes(400),
        bytes(100),
    ],
)
def test_what_is_no_graph(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file.mlir"
    file.write_bytes(content)
    assert recognise(content) is None
    with pytest.raises(GraphsError, match="no graph that can be recognised") as caught:
        find_graphs(file)
    assert "JAX_DUMP_IR_TO" in caught.value.hint


@pytest.mark.parametrize("what", ["missing", "pipe"])
def test_a_file_that_cannot_be_read(tmp_path: Path, what: str) -> None:
    file = tmp_path / "g.mlir"
    if what == "pipe":
        os.mkfifo(file)
    with pytest.raises(GraphsError, match="cannot be read"):
        find_graphs(file)


# -- folders ---------------------------------------------------------------------------------


def test_a_dump_of_xla_is_its_modules_before_optimization() -> None:
    here = find_graphs(XLA)
    assert [(graph.form, graph.devices) for graph in here.graphs] == [
        ("hlo_proto", 4),
        ("hlo_proto", 1),
    ]
    assert (here.left_out, here.notes) == ((), ())


def test_a_dump_in_text_alone_is_read_too(tmp_path: Path) -> None:
    for file in XLA.glob("*.before_optimizations.txt"):
        shutil.copy(file, tmp_path)
    assert [graph.form for graph in find_graphs(tmp_path).graphs] == ["hlo_text", "hlo_text"]


def test_a_dump_of_jax() -> None:
    assert {graph.devices for graph in find_graphs(RECORDED / "jax").graphs} == {1, 4}


def test_the_same_graph_is_found_once(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"g{number}.mlir").write_text(mlir("f", 2), encoding="utf-8")
    graph = one(tmp_path)
    assert (graph.found, graph.launches, graph.source.name) == (3, None, "g0.mlir")


def test_those_with_the_most_work_come_first_and_the_rest_is_left_out(tmp_path: Path) -> None:
    for number in (3, 9, 1, 5):
        (tmp_path / f"g{number}.mlir").write_text(mlir(f"f{number}", number), encoding="utf-8")
    for number in range(6):  # 18 operations in all
        (tmp_path / f"often{number}.mlir").write_text(mlir("often", 3), encoding="utf-8")
    here = find_graphs(tmp_path, most=3)
    assert [graph.name for graph in here.graphs] == ["often", "f9", "f5"]
    assert [graph.name for graph in here.left_out] == ["f3", "f1"]


def test_a_damaged_file_is_a_note_and_others_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_bytes(b"\0")
    (tmp_path / "b.mlir.gz").write_bytes(gzip.compress(mlir("f", 900).encode())[:-20])
    (tmp_path / "c.mlir").write_text(mlir("f", 2), encoding="utf-8")
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    here = find_graphs(tmp_path)
    assert len(here.graphs) == 1
    assert [note.partition(": ")[0] for note in here.notes] == [
        str(tmp_path / "a.mlir"),
        str(tmp_path / "b.mlir.gz"),
    ]


def test_logs_of_others_are_not_read_whole(tmp_path: Path) -> None:
    for name in ("train.log", "notes.txt"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(1 << 30)
    (tmp_path / "g.txt").write_text(mlir("f", 2), encoding="utf-8")
    here = find_graphs(tmp_path)
    assert here.graphs == (one(tmp_path / "g.txt"),)
    assert here.notes == ()


def test_a_folder_without_a_graph_says_what_was_in_it(tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_bytes(b"\0")
    with pytest.raises(GraphsError) as caught:
        find_graphs(tmp_path)
    assert "a.mlir: no graph that can be recognised" in caught.value.what


# -- logs ------------------------------------------------------------------------------------


def test_a_log_has_each_graph_with_its_launches(tmp_path: Path) -> None:
    shutil.copy(LOGS / "training.log.gz", tmp_path)
    here = find_graphs(tmp_path, most=100)
    logged = read_logged(LOGS / "training.log.gz")
    graphs = (*here.graphs, *here.left_out)
    assert {graph.content.decode() for graph in graphs} == set(logged.texts)
    assert logged.launches.total() == 84
    launches = sum(graph.launches or 0 for graph in graphs)
    assert abs(launches - 84) <= len(graphs) / 2  # an average of each operator's is rounded


def record(artifact: str, text: str, name: str = "") -> str:
    head = "V1127 17:48:47.605000 27213 torch/_logging/_internal.py:1] "
    operator = f', "op_name": "{name}"' if name else ""
    lines = "".join(f"\t{line}\n" for line in text.splitlines())
    return f'{head}{{"artifact": {{"name": "{artifact}"{operator}}}, "has_payload": "0"}}\n{lines}'


def test_graphs_of_compiled_functions_and_of_launches(tmp_path: Path) -> None:
    log = tmp_path / "dedicated_log_torch_trace_x.log"
    eager, compiled = "torchtpu_eager_stablehlo", "torchtpu_stablehlo_graph"
    log.write_text(
        record(eager, mlir("add", 1), "add")
        + 9 * record(eager, "", "add")
        + record(eager, mlir("mul", 1), "mul")
        + record(eager, mlir("mul2", 1), "mul")
        + 4 * record(eager, "", "mul")
        + record(compiled, mlir("step", 7))
        + record(compiled, mlir("cut", 7)[:-60])
        + record(compiled, "no graph }\n}"),
        encoding="utf-8",
    )
    here = find_graphs(log)
    assert {graph.name: graph.launches for graph in here.graphs} == {
        "add": 10,
        "mul": 3,
        "mul2": 3,
        "step": None,
    }
    assert here.notes == (f"{log}: 2 graphs are cut off or damaged, and left out",)


def test_a_graph_of_megabytes_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "dedicated_log_torch_trace_x.log"
    log.write_text(record("torchtpu_stablehlo_graph", mlir("large", 50_000)), encoding="utf-8")
    assert one(tmp_path).operations == 50_000


# -- hostile ---------------------------------------------------------------------------------


@given(st.binary(max_size=300))
def test_any_bytes_are_a_graph_or_none(content: bytes) -> None:
    graph = recognise(content)
    assert graph is None or graph.content


@given(st.sampled_from(FILES), st.integers(0, 2**32))
def test_any_change_of_a_real_file_is_a_graph_or_none(file: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray(file.read_bytes())
    for _ in range(chance.randint(1, 9)):
        content[chance.randrange(len(content))] = chance.randrange(256)
    graph = recognise(bytes(content[: chance.randint(0, len(content))]))
    assert graph is None or (graph.operations or 0) >= 0


@given(st.integers(0, 2**32))
def test_any_change_of_a_log_leaves_graphs_or_says_that_there_are_none(seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray((LOGS / "slices.log").read_bytes())
    for _ in range(20):
        content[chance.randrange(len(content))] = chance.randrange(256)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "x.log"
        log.write_bytes(content)
        with suppress(GraphsError):
            assert find_graphs(log).graphs
