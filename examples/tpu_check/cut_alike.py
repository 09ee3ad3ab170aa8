"""Trains a network whose two layers are both divided by their outputs, over four devices."""

import os

os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
)

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

BATCH = 256
WIDTH = 1024
STEPS = 20
MESH = jax.make_mesh((4,), ("model",), (AxisType.Auto,))
SHARDINGS = [
    NamedSharding(MESH, PartitionSpec(None, "model")),
    NamedSharding(MESH, PartitionSpec(None, "model")),
]


def start():
    random = np.random.default_rng(0)
    shapes = [(WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)]
    return [
        jax.device_put((random.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32), sharding)
        for shape, sharding in zip(shapes, SHARDINGS, strict=True)
    ]


def loss_of(weights, inputs):
    up, down = (weight.astype(jnp.bfloat16) for weight in weights)
    outputs = jax.nn.relu(inputs.astype(jnp.bfloat16) @ up) @ down
    return jnp.mean((outputs.astype(jnp.float32) - inputs) ** 2)


@jax.jit(donate_argnums=0)
def step(weights, inputs):
    loss, grads = jax.value_and_grad(loss_of)(weights, inputs)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads), loss


def main():
    weights, random = start(), np.random.default_rng(0)
    everywhere = NamedSharding(MESH, PartitionSpec())
    for _ in range(STEPS):
        inputs = random.normal(size=(BATCH, WIDTH)).astype(np.float32)
        weights, loss = step(weights, jax.device_put(inputs, everywhere))
    print(f"final loss {float(loss):.9g}")


if __name__ == "__main__":
    main()
