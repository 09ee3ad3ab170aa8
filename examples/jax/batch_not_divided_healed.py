"""Trains a network on eight devices, each of which holds all parameters."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["NPROC"] = "16"  # threads: with fewer, devices that wait for others block them

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

BATCH = 256
WIDTH = 256
STEPS = 30
MESH = jax.make_mesh((8,), ("data",), (AxisType.Auto,))


def batches(steps):
    """Yield fresh samples; they are what the network should give back."""
    random = np.random.default_rng(0)
    for _ in range(steps):
        yield random.normal(size=(BATCH, WIDTH)).astype(np.float32)


def start(key):
    up, down = jax.random.normal(key, (2, WIDTH, 4 * WIDTH)) * WIDTH**-0.5
    return jax.device_put({"up": up, "down": down.T / 2}, NamedSharding(MESH, PartitionSpec()))


def loss_of(params, inputs):
    outputs = jax.nn.gelu(inputs @ params["up"]) @ params["down"]
    return jnp.mean((outputs - inputs) ** 2)


@jax.jit
def step(params, inputs):
    loss, grads = jax.value_and_grad(loss_of)(params, inputs)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def main():
    params = start(jax.random.key(0))
    split = NamedSharding(MESH, PartitionSpec("data"))
    for batch in batches(STEPS):
        params, loss = step(params, jax.device_put(batch, split))
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
