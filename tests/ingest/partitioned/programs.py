"""Small programs on a mesh of 4 × 2 devices; run with a release of JAX, it records their modules.

    cp tests/ingest/partitioned/programs.py /home/ada/ && python /home/ada/programs.py

writes ``NAME-jax-VERSION.pb.gz`` (HloModuleProto) to the working directory.
"""

# mypy: allow-untyped-decorators
import gzip
import os
from functools import partial
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

MESH = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))


def placed(shape: Any, *spec: Any) -> Any:
    return jax.device_put(jnp.ones(shape), NamedSharding(MESH, P(*spec)))


def loss(weights: Any, x: Any) -> Any:
    for w in weights:
        x = jnp.tanh(x @ w)  # gathers of the weights
    return (x**2).mean()


@jax.jit
def fsdp(weights: Any, x: Any) -> Any:
    value, gradients = jax.value_and_grad(loss)(weights, x)
    return value, [w - 0.1 * g for w, g in zip(weights, gradients, strict=True)]


@jax.jit
@partial(jax.shard_map, mesh=MESH, in_specs=(P("data", "model"),), out_specs=P("data"))
def manual(a: Any) -> Any:
    summed = jax.lax.psum(a, "model")
    whole = jax.lax.all_gather(a, "data", axis=0, tiled=True)
    shifted = jax.lax.ppermute(a, "data", [(i, (i + 1) % 4) for i in range(4)])
    parts = jax.lax.psum_scatter(whole, "data", tiled=True)
    turned = jax.lax.all_to_all(a, "data", 1, 1, tiled=True)
    return summed + jax.lax.pmean(whole.sum() + shifted + parts + turned, "model")


@jax.jit
def scan(layers: Any, x: Any) -> Any:
    def body(carry: Any, w: Any) -> Any:
        return jnp.tanh(carry @ w), None

    return jax.lax.scan(body, x, layers)[0].sum()


@jax.jit
@partial(jax.shard_map, mesh=MESH, in_specs=(P(None, "data"), P()), out_specs=P())
def added(batches: Any, w: Any) -> Any:
    def body(total: Any, x: Any) -> Any:
        return total + jax.lax.psum(x.T @ (x @ w), "data"), None

    return jax.lax.scan(body, jnp.zeros((64, 64)), batches)[0]


@jax.jit
def explicit(first: Any, second: Any, x: Any) -> Any:
    h = x @ first
    h = jax.sharding.reshard(h, P("model", "data"))
    h = jnp.tanh(h)
    h = jax.sharding.reshard(h, P("data", "model"))
    return jnp.einsum("ij,jk->ik", h, second, out_sharding=P("data", None))


def record(function: Any, *arguments: Any) -> None:
    executable = function.lower(*arguments).compile().runtime_executable()
    content = executable.hlo_modules()[0].as_serialized_hlo_module_proto()
    name = f"{function.__name__}-jax-{jax.__version__}.pb.gz"
    Path(name).write_bytes(gzip.compress(content, mtime=0))


if __name__ == "__main__":
    weights = [placed((1024, 1024), "data") for _ in range(2)]
    record(fsdp, weights, placed((64, 1024), "data"))
    record(manual, placed((64, 1024), "data", "model"))
    record(scan, placed((6, 1024, 1024), None, "data"), placed((64, 1024), "data"))
    record(added, placed((8, 64, 64), None, "data"), placed((64, 64)))
    named = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit,) * 2)
    with jax.set_mesh(named):
        arrays = [((512, 1024), P(None, "model")), ((1024, 512), P("model", None))]
        first, second = (jax.device_put(jnp.ones(shape), spec) for shape, spec in arrays)
        record(explicit, first, second, jax.device_put(jnp.ones((64, 512)), P("data", None)))
