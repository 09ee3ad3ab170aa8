"""Compiles the executables in ``recorded/`` with a TPU's compiler; needs ``jax[tpu]``.

    python tests/tpu_check/record.py

The files there were made with jax 0.12.0.1 and libtpu 0.0.50.1, for a v5e.
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.update(JAX_PLATFORMS="cpu", TPU_SKIP_MDS_QUERY="1", DUMPED=tempfile.mkdtemp())
os.environ["XLA_FLAGS"] = (
    f"--xla_dump_to={os.environ['DUMPED']} --xla_dump_hlo_as_proto --xla_dump_hlo_module_re=layers"
)

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

FOLDER = Path(__file__).with_name("recorded")
# Files are named as in the repository, wherever that lies.
jax.config.update("jax_hlo_source_file_canonicalization_regex", f"^{Path(__file__).parents[2]}/")


def step(weights: list[jax.Array], inputs: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """A training step of two layers, with plain gradient descent."""

    def loss(weights: list[jax.Array]) -> jax.Array:
        hidden = inputs
        for weight in weights:
            hidden = jax.nn.relu(hidden @ weight)
        return (hidden.astype(jnp.float32) ** 2).mean()

    value, gradients = jax.value_and_grad(loss)(weights)
    rate = jnp.asarray(0.01, weights[0].dtype)
    return [old - rate * new for old, new in zip(weights, gradients, strict=True)], value


def record(name: str, rows: int, width: int, dtype: Any) -> None:
    """Compile the step for one v5e, and write its executable and what the compiler says of it."""
    device = topologies.get_topology_desc(topology_name="v5e:1x1", platform="tpu").devices[0]

    def array(*shape: int) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=SingleDeviceSharding(device))

    write(name, jax.jit(step).lower([array(width, width)] * 2, array(rows, width)).compile())


def record_mesh() -> None:
    """The same of a step whose arrays lie on four devices, as two by two."""
    devices = topologies.get_topology_desc(topology_name="v5e:2x2", platform="tpu").devices
    mesh = Mesh(np.array(devices).reshape(2, 2), ("data", "model"))

    def array(shape: tuple[int, ...], *axes: str | None) -> Any:
        sharding = NamedSharding(mesh, PartitionSpec(*axes))
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)

    def mixing_step(w1: Any, w2: Any, x: Any, y: Any) -> Any:
        def loss(w1: Any, w2: Any) -> Any:
            hidden = jax.nn.gelu(x @ w1)
            mixed = jnp.transpose(hidden.reshape(64, 8, -1), (1, 0, 2)).reshape(512, -1)
            return jnp.mean((mixed @ w2 - y) ** 2)

        value, (g1, g2) = jax.value_and_grad(loss, (0, 1))(w1, w2)
        return w1 - 0.1 * g1, w2 - 0.1 * g2, value

    arrays = (
        array((1024, 4096), None, "model"),
        array((4096, 1000), "model", None),
        array((512, 1024), "data", None),
        array((512, 1000), "data", None),
    )
    write("mesh", jax.jit(mixing_step, donate_argnums=0).lower(*arrays).compile())


def record_plan() -> None:
    """Write what the compiler plans in memory for layers in a loop, whose activations are kept."""
    device = topologies.get_topology_desc(topology_name="v5e:1x1", platform="tpu").devices[0]

    def layer(hidden: jax.Array, weight: jax.Array) -> tuple[jax.Array, None]:
        return jnp.tanh(hidden @ weight), None

    def layers(state: dict[str, jax.Array], batch: jax.Array) -> dict[str, jax.Array]:
        def loss(weights: jax.Array) -> jax.Array:
            return (jax.lax.scan(layer, batch, weights)[0] ** 2).mean()

        mu = 0.9 * state["mu"] + jax.grad(loss)(state["params"])
        return {"params": state["params"] - 0.1 * mu, "mu": mu}

    def array(*shape: int) -> Any:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=SingleDeviceSharding(device))

    stacked = array(12, 1024, 1024)
    given = {"params": stacked, "mu": stacked}, array(4096, 1024)
    jax.jit(layers, donate_argnums=0).lower(*given).compile()
    (planned,) = Path(os.environ["DUMPED"]).glob("*.after_optimizations.hlo.pb")
    content = gzip.compress(planned.read_bytes(), 9, mtime=0)
    (FOLDER / "layers.plan.pb.gz").write_bytes(content)


def write(name: str, compiled: Any) -> None:
    """Write an executable, and what the compiler says of it."""
    (module,) = compiled.runtime_executable().hlo_modules()
    content = gzip.compress(module.as_serialized_hlo_module_proto(), 9, mtime=0)
    (FOLDER / f"{name}.pb.gz").write_bytes(content)
    sys.stdout.write(f"{name} {compiled.memory_analysis()}\n")


if __name__ == "__main__":
    record_mesh()
    record_plan()
    record("multiples", 256, 512, jnp.bfloat16)
    record("odd_sizes", 130, 515, jnp.float32)
