"""Graphs before optimization, which the capture keeps for the compiler of another device."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import (
    LIVE,
    ON_DEVICE,
    Captured,
    capture,
    command,
    line_of,
    write,
)
from xladoctor.tpu_check.graphs import GraphsError
from xladoctor.tpu_check.kept import kept_graphs

pytestmark = LIVE

TRAINING = (
    ON_DEVICE
    + """
weights.requires_grad_()
optimizer = torch.optim.SGD([weights], lr=0.1, momentum=0.9)
for epoch in range(2):
    for number in range(8):
        inputs = torch.ones(4 if number < 7 else 3, 8).to(device)
        optimizer.zero_grad()
        loss = torch.tanh(inputs @ weights).sum()
        loss.backward()
        optimizer.step()
        torch_xla.sync()  # a step
    for number in range(4):
        mean = (torch.ones(5, 8).to(device) @ weights).mean()
        torch_xla.sync()  # evaluation
print(sorted(torch_xla._XLAC._xla_counter_names()), float(loss.detach().cpu()))
print(torch_xla._XLAC._xla_metric_data("CompileTime")[0])
"""
)
READING = (
    ON_DEVICE
    + """
for number in range(6):
    total = (weights * 2).sum()
    print(total.item())
"""
)
JAX = """
import jax, jax.numpy as jnp, numpy as np
secret = np.arange(4096, dtype=np.float32) + 12345
choice = np.arange(40) % 7
@jax.jit
def inner(x):
    return x * (secret[:64] + 1)
@jax.jit
def step(weights, inputs):
    return jnp.tanh(weights * secret) + inputs.sum() + inner(inputs).sum() + choice.sum()
weights = jnp.ones(4096)
for number in range(20):
    weights = step(weights, np.ones(64 if number < 19 else 1, np.float32))  # a step
print(float(weights[0]))
"""
MESH = """
import jax, jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(jax.devices(), ("data",))
@jax.jit
def step(weights, inputs):
    return weights - 0.1 * jax.grad(lambda w: (jnp.tanh(inputs @ w) ** 2).mean())(weights)
weights = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P()))
inputs = jax.device_put(jnp.ones((16, 8)), NamedSharding(mesh, P("data")))
for number in range(20):
    weights = step(weights, inputs)
"""
COMPILED = (
    ON_DEVICE
    + """
function = torch.compile(lambda x: torch.tanh(x @ weights), backend="openxla")
for number in range(4):
    print(function(weights).sum().item())
"""
)


def kept(run: Captured) -> list[dict[str, Any]]:
    assert run.finished.status == 0, run.finished.stderr
    return run.log_lines("graph")


def content(run: Captured, row: dict[str, Any]) -> bytes:
    graph = gzip.decompress((run.directory / row["kept_as"]).read_bytes())
    assert len(graph) == row["bytes"]
    assert graph.startswith(b"ML\xefR")
    return graph


def record(run: Captured) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((run.process / "process.json").read_text())
    return read


# -- torch_xla -------------------------------------------------------------------------------


def test_graphs_of_barriers_are_kept_once_each(tmp_path: Path) -> None:
    """The first step's, that with momentum, the last batch's, and that of the evaluation."""
    program = write(tmp_path, "train.py", TRAINING)
    run = capture(tmp_path / "out", program)

    rows = kept(run)
    assert [(row["step"], row["compilation"]) for row in rows] == [(0, 0), (1, 1), (7, 2), (8, 3)]
    assert all(str(program).encode() in content(run, row) for row in rows)
    assert record(run)["no_graphs"] is None
    assert record(run)["graphs_left_out"] == 0
    steady, evaluated, late = kept_graphs(run.directory).graphs
    assert steady.name == f"train.py:{line_of(program, 'torch_xla.sync()  # a step')}"
    assert steady.role == "the steady step"
    assert evaluated.launches == 8
    assert late.role == "compiled late, in step 7"
    assert steady.donated.count("tensor<8x8xf32>") >= 2


def test_the_program_does_not_notice(tmp_path: Path) -> None:
    """Counters, compilations and losses are as without kept graphs."""
    program = write(tmp_path, "train.py", TRAINING)

    with_graphs = capture(tmp_path / "with", program)
    without = capture(tmp_path / "without", program, graph_bytes=0)

    assert with_graphs.finished.stdout == without.finished.stdout
    assert with_graphs.finished.stdout.splitlines()[-1] == "4"
    assert kept(with_graphs)
    assert not kept(without)
    assert record(without)["no_graphs"] == "--graph-bytes 0 asks for none"
    with pytest.raises(GraphsError, match="--graph-bytes 0"):
        kept_graphs(without.directory)


def test_a_loop_without_barriers_keeps_what_its_reads_launch(tmp_path: Path) -> None:
    run = capture(tmp_path / "out", write(tmp_path, "read.py", READING))

    (row,) = kept(run)
    content(run, row)
    assert kept_graphs(run.directory).graphs[0].source.name == Path(row["kept_as"]).name


def test_what_torch_compile_traces_is_kept(tmp_path: Path) -> None:
    run = capture(tmp_path / "out", write(tmp_path, "compiled.py", COMPILED))

    assert any(b"tanh" in content(run, row) for row in kept(run))


@pytest.mark.thorough
def test_arrays_that_devices_share_stay_shared(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        "shared.py",
        """
        import numpy as np, torch, torch_xla
        import torch_xla.runtime, torch_xla.distributed.spmd as spmd
        torch_xla.runtime.use_spmd()
        device = torch_xla.device()
        mesh = spmd.Mesh(np.arange(4), (4,), ("data",))
        weights = torch.ones(8, 8).to(device)
        for number in range(6):
            inputs = torch.ones(8, 8).to(device)
            spmd.mark_sharding(inputs, mesh, ("data", None))
            weights = torch.tanh(inputs @ weights)
            torch_xla.sync()
        """,
    )
    run = command(tmp_path / "out", program, env={"CPU_NUM_DEVICES": "4"})

    rows = kept(run)
    assert {(row["replicas"], row["partitions"]) for row in rows} == {(1, 4)}
    assert b"devices=[4,1]" in content(run, rows[-1])


# -- JAX -------------------------------------------------------------------------------------


def test_graphs_of_functions_are_kept_without_their_arrays(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", JAX)
    run = command(tmp_path / "out", program)

    rows = kept(run)
    assert [row["name"] for row in rows] == ["step", "step"]
    assert [row["constants"] for row in rows] == [256, 256], "those of the inner function"
    values = struct.pack("<3f", *(12345.0 + number for number in range(3)))
    assert values in (run.process / "modules.xplane.pb").read_bytes()
    for row in rows:
        graph = content(run, row)
        assert str(program).encode() in graph
        assert values not in graph
        assert len(graph) < 4096
    steady, late = kept_graphs(run.directory).graphs
    place = f"train.py:{line_of(program, 'weights = step(')}"
    assert (steady.name, steady.role) == ("step", f"{place}, the steady step")
    assert (late.name, late.role.partition(", in")[0]) == ("step", f"{place}, compiled late")


@pytest.mark.thorough
def test_sharding_is_kept(tmp_path: Path) -> None:
    run = command(
        tmp_path / "out",
        write(tmp_path, "mesh.py", MESH),
        env={"XLA_FLAGS": "--xla_force_host_platform_device_count=4"},
    )

    (row,) = kept(run)
    assert (row["replicas"], row["partitions"]) == (1, 4)
    assert kept_graphs(run.directory).graphs[0].devices == 4


@pytest.mark.thorough
def test_graphs_beyond_the_limit_are_counted(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", JAX)
    run = command(tmp_path / "out", program, flags=("--graph-bytes", "1k"))

    assert record(run)["graphs_left_out"] >= 1
    assert sum((run.directory / row["kept_as"]).stat().st_size for row in kept(run)) <= 1000
