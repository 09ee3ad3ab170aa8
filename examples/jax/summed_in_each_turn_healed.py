"""Trains a network on eight devices, each with its share of a batch, which comes in parts."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["NPROC"] = "16"  # threads: with fewer, devices that wait for others block them

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

PARTS = 8
BATCH = 64
WIDTH = 256
STEPS = 25
MESH = jax.make_mesh((8,), ("data",), (AxisType.Auto,))


def start(key):
    up, down = jax.random.normal(key, (2, WIDTH, 4 * WIDTH)) * WIDTH**-0.5
    return jax.device_put({"up": up, "down": down.T / 2}, NamedSharding(MESH, P()))


def loss_of(params, inputs):
    outputs = jax.nn.gelu(inputs @ params["up"]) @ params["down"]
    return jnp.mean((outputs - inputs) ** 2)


def gradients_of(params, parts):
    """The sum over the parts of a batch; parts: parts, samples, features."""

    def add(sums, part):
        return jax.tree.map(jnp.add, sums, jax.grad(loss_of)(params, part)), None

    sums, _ = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, params), parts)
    return jax.lax.pmean(sums, "data")


@jax.jit
def step(params, parts):
    specs = {"in_specs": (P(), P(None, "data")), "out_specs": P(), "check_vma": False}
    sums = jax.shard_map(gradients_of, mesh=MESH, **specs)(params, parts)
    return jax.tree.map(lambda p, s: p - 0.1 * s / PARTS, params, sums)


def main():
    key = jax.random.key(0)
    params = start(key)
    parts = jax.random.normal(key, (PARTS, BATCH, WIDTH))
    parts = jax.device_put(parts, NamedSharding(MESH, P(None, "data")))
    for _ in range(STEPS):
        params = step(params, parts)
    print(f"final loss {float(loss_of(params, parts[0])):.6g}")


if __name__ == "__main__":
    main()
