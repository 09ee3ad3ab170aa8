"""Graphs that the capture keeps for other releases, as the compiler's process reads them."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from jax.interpreters import mlir
from jaxlib.mlir import ir

from xladoctor.recording.bootstrap._xladoctor.jax.divisions import meshes
from xladoctor.recording.bootstrap._xladoctor.jax.graphs import kept
from xladoctor.tpu_check.compiler import child

DIVIDED = """
module @jit_step attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["data"=4, "model"=2]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
      -> tensor<8x4xf32> {
    %0 = stablehlo.add %x, %x : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
"""


def test_a_graph_that_begins_with_a_mesh_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(child.__path__[0])
    graph = importlib.import_module("xladoctor_graph")
    with mlir.make_ir_context():
        module = ir.Module.parse(DIVIDED)
        assert [*meshes(module)] == [{"data": 4, "model": 2}]
        (tmp_path / "graph").write_bytes(kept(module).content)

    read = graph.parsed({"content": str(tmp_path / "graph"), "form": "stablehlo"})

    assert [each["shape"] for each in graph.buffers(read)] == [[8, 4], [8, 4]]
    assert graph.mesh(str(read)) == {"data": 4, "model": 2}
