"""Trains and keeps the loss of each step in a list, for an average at the end.

Every hundred steps the list's arrays become numbers on the host, and the list is cleared.
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


def train(params):
    losses, numbers = [], []
    for index, (inputs, targets) in enumerate(batches(STEPS), start=1):
        params, loss = step(params, inputs, targets)
        losses.append(loss)
        if index % 100 == 0:
            numbers += map(float, jax.device_get(losses))
            losses.clear()
    return numbers + [*map(float, jax.device_get(losses))]


def main():
    print(f"average loss {np.mean(train(start())):.6f}")


if __name__ == "__main__":
    main()
