"""Trains with a layer that is left out at random; the choice is a static argument of each layer."""

import random
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 64
FEATURES = 32
LAYERS = 5
STEPS = 30


def batches(steps):
    """Yield fresh samples with what a fixed linear rule gives them."""
    draw = np.random.default_rng(0)
    rule = draw.normal(size=(FEATURES, 1)).astype(np.float32)
    for _ in range(steps):
        inputs = draw.normal(size=(BATCH, FEATURES)).astype(np.float32)
        yield inputs, inputs @ rule


def layer(x, weight):
    return x + jnp.tanh(x @ weight)


def loss_of(params, inputs, targets, dropped):
    x = inputs
    for number, weight in enumerate(params["layers"]):
        x = x if dropped[number] else layer(x, weight)
    return jnp.mean((x @ params["out"] - targets) ** 2)


@partial(jax.jit, static_argnames="dropped")
def step(params, inputs, targets, dropped):
    loss, grads = jax.value_and_grad(loss_of)(params, inputs, targets, dropped)
    return jax.tree.map(lambda p, g: p - 0.02 * g, params, grads), loss


def main():
    random.seed(0)
    keys = jax.random.split(jax.random.key(0), LAYERS + 1)
    params = {
        "layers": [0.1 * jax.random.normal(key, (FEATURES, FEATURES)) for key in keys[1:]],
        "out": 0.1 * jax.random.normal(keys[0], (FEATURES, 1)),
    }
    for inputs, targets in batches(STEPS):
        dropped = tuple(random.random() < 0.4 for _ in range(LAYERS))
        params, loss = step(params, inputs, targets, dropped)
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
