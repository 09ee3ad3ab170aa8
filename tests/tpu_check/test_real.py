"""The TPU's compiler itself, in the interpreter that XLADOCTOR_TPU_PYTHON names.

``make test-tpu-compiler`` installs one and runs these. No machine here has a TPU.
"""

from __future__ import annotations

import gzip
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from xladoctor.ingest.frames import Folders
from xladoctor.ingest.protobuf_schema import message
from xladoctor.tpu_check.compiler.cache import Cache
from xladoctor.tpu_check.compiler.interpreter import Compiler, clean_environment, find_compiler
from xladoctor.tpu_check.compiler.outcome import Compiled, DoesNotFit, Least, Outcome, Refused
from xladoctor.tpu_check.compiler.run import Limits, compile_graph
from xladoctor.tpu_check.compiler.topology import GENERATIONS, parse_topology
from xladoctor.tpu_check.executable import read_executable
from xladoctor.tpu_check.graphs import Graph, find_graphs
from xladoctor.tpu_check.kept import kept_graphs

PYTHON = os.environ.get("XLADOCTOR_TPU_PYTHON", "")
pytestmark = [
    pytest.mark.tpu_compiler,
    pytest.mark.skipif(not PYTHON, reason="XLADOCTOR_TPU_PYTHON names no interpreter with libtpu"),
]
RECORDED = Path(__file__).parent / "recorded"
RUNS = Path(__file__).parent / "runs"
LOGS = Path(__file__).parents[1] / "ingest/torch_tpu"
SPREAD = RECORDED / "xla" / "module_0002.jit_step.before_optimizations.txt"
ALONE = RECORDED / "jax" / "jax_ir0000_jit_step_compile.mlir"
PROGRAM = """
import sys
import jax, jax.numpy as jnp, numpy as np
from jax import ShapeDtypeStruct as S, export
f32 = jnp.float32
def of(function, *shapes): return jax.jit(function).lower(*shapes).as_text()
graphs = {
    "large": of(lambda a: jnp.sin(a), S((1 << 17, 1 << 16), f32)),
    "sorted": of(
        lambda a, b: jnp.sort(a[:, None] * b, 0)[0], S((1 << 17,), f32), S((1 << 16,), f32)
    ),
    "callback": of(lambda a: jax.pure_callback(np.sin, S((4,), f32), a) + 1, S((4,), f32)),
    "factors": of(jnp.linalg.qr, S((8, 8), f32)),
    "whole_numbers": of(lambda a: a * 2, S((8,), jnp.int32)),
}
for name, text in graphs.items(): open(f"{name}.mlir", "w").write(text)
size = export.symbolic_shape("b")[0]
any_size = export.export(jax.jit(jnp.tanh), platforms=["tpu"])(S((size, 4), f32))
open("any_size.jax_export", "wb").write(any_size.serialize())
pair = jax.jit(lambda a: tuple(jnp.linalg.qr(a)))
both = export.export(pair, platforms=["cpu", "tpu"])(S((8, 8), f32))
open("both.jax_export", "wb").write(both.serialize())
one = export.export(jax.jit(jnp.tanh), platforms=["tpu"])(S((8, 4), f32))
open("portable.mlirbc", "wb").write(one.mlir_module_serialized)
open("optimized.hlo", "w").write(
    jax.jit(lambda a: jnp.tanh(a) @ a).lower(S((8, 8), f32)).compile().as_text()
    .replace(", is_scheduled=true", "")
)
"""
DYNAMIC = """module @any {
  func.func @main(%a: tensor<?x64xf32BOUND>) -> tensor<?x64xf32BOUND> {
    %0 = stablehlo.tanh %a : tensor<?x64xf32BOUND>
    return %0 : tensor<?x64xf32BOUND>
  }
}
"""
DONATED = """HloModule step, buffer_donor={ (0, {}), (2, {}) }

ENTRY main {
  weights = f32[256,128] parameter(0)
  rate = f32[] parameter(1)
  bias = f32[128] parameter(2)
  all = f32[256,128] broadcast(rate), dimensions={}
  new = f32[256,128] subtract(weights, all)
  added = f32[128] add(bias, bias)
  ROOT state = (f32[256,128], f32[128]) tuple(new, added)
}
"""
DIVIDED = """HloModule step, num_partitions=4

ENTRY main {
  weights = f32[256,128] parameter(0), sharding={devices=[4,1]0,1,2,3}
  ROOT new = f32[256,128] add(weights, weights)
}
"""


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    return find_compiler(Path(PYTHON))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Graphs that JAX lowered for the CPU, and functions that it exported."""
    folder = tmp_path_factory.mktemp("programs")
    environment = {**clean_environment(), "JAX_PLATFORMS": "cpu"}
    subprocess.run([PYTHON, "-c", PROGRAM], cwd=folder, env=environment, check=True)
    bound = ", #stablehlo.bounds<128, ?>"
    (folder / "bounded.mlir").write_text(DYNAMIC.replace("BOUND", bound), encoding="utf-8")
    (folder / "dynamic.mlir").write_text(DYNAMIC.replace("BOUND", ""), encoding="utf-8")
    return folder


class Outcomes:
    """Compiles graphs; of a path the first one."""

    def __init__(self, compiler: Compiler, cache: Cache) -> None:
        self._compiler = compiler
        self._cache = cache

    def of(self, path: Path, topology: str = "v5e") -> Outcome:
        return self.of_graph(find_graphs(path).graphs[0], topology)

    def of_graph(self, graph: Graph, topology: str = "v5e") -> Outcome:
        return compile_graph(graph, parse_topology(topology), self._compiler, cache=self._cache)


@pytest.fixture(scope="module")
def outcome(compiler: Compiler, cache: Cache) -> Outcomes:
    return Outcomes(compiler, cache)


@pytest.mark.parametrize(
    "file",
    [
        "jax/jax_ir0000_jit_step_compile.mlir",
        "step.mlirbc",
        "step.jax_export",
        "xla/module_0000.jit_step.before_optimizations.hlo.pb",
        "xla/module_0000.jit_step.before_optimizations.txt",
    ],
)
def test_a_step_in_each_form_has_the_same_memory(outcome: Outcomes, file: str) -> None:
    found = outcome.of(RECORDED / file)
    assert isinstance(found, Compiled), found
    assert found.topology == "v5e:1x1"
    assert (
        found.memory.aliased == 8 * 128 * 4
    )  # the donated weight, transposed and padded to a tile
    assert found.memory.peak
    module = message("HloModuleProto").FromString(gzip.decompress(found.module.read_bytes()))
    assert module.input_output_alias.entries


def test_parameters_that_any_result_may_replace(outcome: Outcomes, tmp_path: Path) -> None:
    (tmp_path / "step.hlo").write_text(DONATED, encoding="utf-8")
    found = outcome.of(tmp_path / "step.hlo")
    assert isinstance(found, Compiled), found
    module = message("HloModuleProto").FromString(gzip.decompress(found.module.read_bytes()))
    aliases = module.input_output_alias.entries
    assert sorted(each.parameter_number for each in aliases) == [0, 2]


def test_results_are_divided_as_the_compiler_likes(outcome: Outcomes, tmp_path: Path) -> None:
    (tmp_path / "step.hlo").write_text(DIVIDED, encoding="utf-8")
    found = outcome.of(tmp_path / "step.hlo")
    assert isinstance(found, Compiled), found
    content = gzip.decompress(found.module.read_bytes())
    operations = read_executable(content, Folders(), 0, "v5e").operations
    assert {each.shape for each in operations} == {(64, 128)}


@pytest.mark.parametrize("file", [SPREAD, SPREAD.with_name(SPREAD.stem + ".hlo.pb")])
def test_a_step_of_four_devices(outcome: Outcomes, file: Path) -> None:
    found = outcome.of(file)
    assert isinstance(found, Compiled), found
    assert (found.topology, found.devices) == ("v5e:2x2", 4)
    content = gzip.decompress(found.module.read_bytes())
    operations = read_executable(content, Folders(), 0, "v5e", found.mesh).operations
    assert "all-reduce" in {each.opcode for each in operations}


def test_too_few_devices(outcome: Outcomes) -> None:
    found = outcome.of(SPREAD, "v5e:1x1")
    assert isinstance(found, Refused)
    assert (found.kind, found.hint) == ("devices", "compile it for v5e:2x2")


@pytest.mark.parametrize("generation", GENERATIONS)
def test_each_generation_is_known_with_its_memory(
    outcome: Outcomes, programs: Path, generation: str
) -> None:
    assert isinstance(outcome.of(ALONE, generation), Compiled)
    memory = parse_topology(generation).memory
    large = outcome.of(programs / "large.mlir", generation)  # 32 GiB in and out
    between = outcome.of(programs / "sorted.mlir", generation)  # as much, and less at both ends
    if memory > 64 << 30:
        assert isinstance(large, Compiled), large
        return
    assert isinstance(large, DoesNotFit), large
    assert (large.stage, large.least) == ("bound", Least(64 << 30, 32 << 30, 32 << 30))
    assert [buffer.shape for buffer in large.buffers] == [(1 << 17, 1 << 16)] * 2
    assert isinstance(between, DoesNotFit), between
    assert between.stage == "code"
    assert between.available == pytest.approx(memory, rel=1e-3)


def test_usual_shapes_are_described(outcome: Outcomes) -> None:
    for generation in GENERATIONS:
        for topology in parse_topology(generation).shaped():
            found = outcome.of(ALONE, topology.name)
            assert isinstance(found, Compiled), found
            assert found.topology == topology.name


def test_a_shape_that_libtpu_does_not_have(outcome: Outcomes) -> None:
    found = outcome.of(ALONE, "v5e:3x3")
    assert isinstance(found, Refused)
    assert found.kind == "topology"
    assert "not divisible" in found.what


@pytest.mark.parametrize(
    ("file", "kind", "detail"),
    [
        ("dynamic.mlir", "dynamic_shape", "tensor<?x64xf32>"),
        ("any_size.jax_export", "dynamic_shape", "[b,4]"),
        ("callback.mlir", "host_callback", "callback"),
        ("factors.mlir", "custom_call", "lapack_sgeqrf_ffi"),
        ("optimized.hlo", "optimized", ""),
    ],
)
def test_what_cannot_be_compiled(
    outcome: Outcomes, programs: Path, file: str, kind: str, detail: str
) -> None:
    found = outcome.of(programs / file)
    assert isinstance(found, Refused), found
    assert found.kind == kind, found
    assert detail in found.what


@pytest.mark.parametrize(
    "file", ["bounded.mlir", "portable.mlirbc", "both.jax_export", "whole_numbers.mlir"]
)
def test_what_can(outcome: Outcomes, programs: Path, file: str) -> None:
    found = outcome.of(programs / file)
    assert isinstance(found, Compiled), found


def test_graphs_of_a_log(outcome: Outcomes) -> None:
    found = outcome.of(LOGS / "slices.log")
    assert isinstance(found, Compiled), found


def test_a_limit_of_time(compiler: Compiler, tmp_path: Path) -> None:
    (graph,) = find_graphs(ALONE).graphs
    limits, cache = Limits(seconds=0.05), Cache(tmp_path)
    found = compile_graph(graph, parse_topology("v5e"), compiler, limits=limits, cache=cache)
    assert isinstance(found, Refused)
    assert found.kind == "timed_out"


def test_nothing_is_written_where_the_user_is(
    outcome: Outcomes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert isinstance(outcome.of(ALONE, "v6e:4x4"), Compiled)
    assert [*tmp_path.rglob("*")] == []


@pytest.mark.parametrize("kind", ["torch_xla", "jax"])
def test_what_runs_kept_compiles(outcome: Outcomes, kind: str) -> None:
    found = [outcome.of_graph(graph) for graph in kept_graphs(RUNS / kind).graphs]
    assert len(found) == 3
    assert all(isinstance(each, Compiled) for each in found), found


def test_the_graph_of_a_barrier_is_compiled_as_it_is_launched(outcome: Outcomes) -> None:
    """Weights and momentum of two layers are overwritten."""
    steady = kept_graphs(RUNS / "torch_xla").graphs[0]
    launched, apart = map(outcome.of_graph, (steady, replace(steady, donated=())))
    assert isinstance(launched, Compiled), launched
    assert isinstance(apart, Compiled), apart
    assert (launched.memory.aliased or 0) >= 2 * 2 * (64 * 64 + 64) * 4
    assert not apart.memory.aliased
    module = message("HloModuleProto").FromString(gzip.decompress(launched.module.read_bytes()))
    entry = next(one for one in module.computations if one.id == module.entry_computation_id)
    parameters = {one.id for one in entry.instructions if one.opcode == "parameter"}
    root = next(one for one in entry.instructions if one.id == entry.root_id)
    assert parameters.isdisjoint(root.operand_ids), "what the step leaves as it is is no result"


def test_an_array_of_a_function_takes_its_memory(outcome: Outcomes) -> None:
    """A table of 64 by 64, whose values the run did not keep, beside the weights."""
    found = outcome.of_graph(kept_graphs(RUNS / "jax").graphs[0])
    assert isinstance(found, Compiled), found
    assert (found.memory.arguments or 0) >= 2 * 64 * 64 * 4
