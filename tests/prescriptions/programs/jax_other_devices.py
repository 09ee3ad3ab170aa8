"""Trains by turns on four devices: each block of steps is sent to another one."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 256
FEATURES = 64
STEPS = 80


def batches(steps):
    """Yield fresh samples with what a fixed linear rule gives them."""
    draw = np.random.default_rng(0)
    rule = draw.normal(size=(FEATURES, 1)).astype(np.float32)
    for _ in range(steps):
        inputs = draw.normal(size=(BATCH, FEATURES)).astype(np.float32)
        yield inputs, inputs @ rule


def outputs_of(params, inputs):
    return jnp.tanh(inputs @ params["hidden"]) @ params["out"]


def loss_of(params, inputs, targets):
    return jnp.mean((outputs_of(params, inputs) - targets) ** 2)


@jax.jit
def step(params, inputs, targets):
    loss, grads = jax.value_and_grad(loss_of)(params, inputs, targets)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), loss


def start():
    first, second = jax.random.split(jax.random.key(0))
    return {
        "hidden": 0.1 * jax.random.normal(first, (FEATURES, 128)),
        "out": 0.1 * jax.random.normal(second, (128, 1)),
    }


def main():
    params = start()
    devices = jax.devices()
    for number, (inputs, targets) in enumerate(batches(STEPS)):
        device = devices[number // 10 % len(devices)]
        params, inputs, targets = jax.device_put((params, inputs, targets), device)
        params, loss = step(params, inputs, targets)
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
