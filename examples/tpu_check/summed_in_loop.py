"""Trains on four devices, which sum the gradients of each of eight parts of a batch."""

import os

os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
)

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

PARTS = 8
BATCH = 128
WIDTH = 512
STEPS = 20
MESH = jax.make_mesh((4,), ("data",), (AxisType.Auto,))
PARTED = PartitionSpec(None, "data")


def start():
    random = np.random.default_rng(0)
    weights = (random.normal(size=(2, WIDTH, WIDTH)) / np.sqrt(WIDTH)).astype(np.float32)
    return jax.device_put(list(weights), NamedSharding(MESH, PartitionSpec()))


def loss_of(weights, inputs):
    x = inputs.astype(jnp.bfloat16)
    for weight in weights:
        x = jax.nn.relu(x @ weight.astype(jnp.bfloat16))
    return jnp.mean((x.astype(jnp.float32) - inputs) ** 2)


def gradients_of(weights, parts):
    """The mean over the parts of a batch; parts: parts, samples, features."""

    def add(sums, part):
        grads = jax.grad(loss_of)(weights, part)
        return jax.tree.map(jnp.add, sums, jax.lax.pmean(grads, "data")), None

    zeros = jax.tree.map(jnp.zeros_like, weights)
    sums, _ = jax.lax.scan(add, zeros, parts)
    return jax.tree.map(lambda s: s / PARTS, sums)


@jax.jit(donate_argnums=0)
def step(weights, parts):
    grads = jax.shard_map(
        gradients_of,
        mesh=MESH,
        in_specs=(PartitionSpec(), PARTED),
        out_specs=PartitionSpec(),
        check_vma=False,
    )(weights, parts)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)


def main():
    weights, random = start(), np.random.default_rng(0)
    for _ in range(STEPS):
        parts = random.normal(size=(PARTS, BATCH, WIDTH)).astype(np.float32)
        weights = step(weights, jax.device_put(parts, NamedSharding(MESH, PARTED)))
    print(f"final loss {float(loss_of(weights, parts[0])):.9g}")


if __name__ == "__main__":
    main()
