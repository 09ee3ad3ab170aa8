"""Trains a small block of a transformer on a mesh whose axes are in the types of its arrays."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["NPROC"] = "16"  # threads: with fewer, devices that wait for others block them

import jax
import jax.numpy as jnp
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

BATCH = 2048
WIDTH = 256
STEPS = 30
MESH = jax.make_mesh((4, 2), ("data", "model"), (AxisType.Explicit, AxisType.Explicit))


def start(key):
    up, down = jax.random.normal(key, (2, WIDTH, 4 * WIDTH)) * WIDTH**-0.5
    return {
        "up": jax.device_put(up, P(None, "model")),
        "bias": jax.device_put(jnp.zeros(4 * WIDTH), P("model")),
        "down": jax.device_put(down.T / 2, P("model", None)),
    }


def loss_of(params, inputs):
    hidden = jax.reshard(inputs @ params["up"], P("data", None))
    hidden = jax.nn.gelu(hidden + jax.reshard(params["bias"], P(None)))
    hidden = jax.reshard(hidden, P("data", "model"))
    outputs = jnp.dot(hidden, params["down"], out_sharding=P("data", None))
    return jnp.mean((outputs - inputs) ** 2)


@jax.jit
def step(params, inputs):
    loss, grads = jax.value_and_grad(loss_of)(params, inputs)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def main():
    jax.set_mesh(MESH)
    key = jax.random.key(0)
    params = start(key)
    inputs = jax.device_put(jax.random.normal(key, (BATCH, WIDTH)), P("data", None))
    for _ in range(STEPS):
        params, loss = step(params, inputs)
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
