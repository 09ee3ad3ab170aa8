"""Trains a state made of parameters, whose variable is deleted before the loop.

The device holds the state that the steps update, and frees its first version.
"""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 64
FEATURES = 32
STEPS = 300


def batches(steps):
    """Yield fresh samples with what a fixed linear rule gives them."""
    random = np.random.default_rng(0)
    rule = random.normal(size=(FEATURES, 1)).astype(np.float32)
    for _ in range(steps):
        inputs = random.normal(size=(BATCH, FEATURES)).astype(np.float32)
        yield inputs, inputs @ rule


def loss_of(params, inputs, targets):
    hidden = jnp.tanh(inputs @ params["hidden"])
    return jnp.mean((hidden @ params["out"] - targets) ** 2)


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
    state = params
    del params
    for inputs, targets in batches(STEPS):
        state, loss = step(state, inputs, targets)
    print(f"final loss {float(loss):.6f}")


if __name__ == "__main__":
    main()
