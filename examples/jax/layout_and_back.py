"""Trains a small block of a transformer over two axes of devices."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["NPROC"] = "16"  # threads: with fewer, devices that wait for others block them

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

BATCH = 512
WIDTH = 256
STEPS = 30
MESH = jax.make_mesh((4, 2), ("data", "model"), (AxisType.Auto, AxisType.Auto))


def divided(*axes):
    return NamedSharding(MESH, PartitionSpec(*axes))


def start(key):
    up, down = jax.random.normal(key, (2, WIDTH, 4 * WIDTH)) * WIDTH**-0.5
    return {
        "up": jax.device_put(up, divided(None, "model")),
        "down": jax.device_put(down.T / 2, divided("model", None)),
    }


def loss_of(params, inputs):
    hidden = jax.lax.with_sharding_constraint(inputs @ params["up"], divided("data", "model"))
    scaled = jax.lax.with_sharding_constraint(hidden * 0.5, divided("model", "data"))
    active = jax.lax.with_sharding_constraint(jax.nn.gelu(scaled), divided("data", "model"))
    return jnp.mean((active @ params["down"] - inputs) ** 2)


@jax.jit
def step(params, inputs):
    loss, grads = jax.value_and_grad(loss_of)(params, inputs)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def main():
    key = jax.random.key(0)
    params = start(key)
    inputs = jax.device_put(jax.random.normal(key, (BATCH, WIDTH)), divided("data", None))
    for _ in range(STEPS):
        params, loss = step(params, inputs)
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
