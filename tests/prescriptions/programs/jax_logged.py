"""Logs the loss of each step."""

import logging
import sys

import jax
import jax.numpy as jnp
import numpy as np

log = logging.getLogger(__name__)

BATCH = 256
FEATURES = 64
STEPS = 300


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
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    params = start()
    for number, (inputs, targets) in enumerate(batches(STEPS)):
        params, loss = step(params, inputs, targets)
        log.info("step %d loss %.4f", number, float(loss))


if __name__ == "__main__":
    main()
