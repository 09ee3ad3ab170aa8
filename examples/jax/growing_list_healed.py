"""Trains and sums the losses in the compiled step."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 256
FEATURES = 64
STEPS = 60


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
def step(params, total, number, inputs, targets):
    loss, grads = jax.value_and_grad(loss_of)(params, inputs, targets)
    params = jax.tree.map(lambda p, g: p - 0.05 * g, params, grads)
    return params, total + loss, (total + loss) / number


def start():
    first, second = jax.random.split(jax.random.key(0))
    return {
        "hidden": 0.1 * jax.random.normal(first, (FEATURES, 128)),
        "out": 0.1 * jax.random.normal(second, (128, 1)),
    }


def train(params):
    total = jnp.zeros(())
    for number, (inputs, targets) in enumerate(batches(STEPS), 1):
        params, total, mean = step(params, total, number, inputs, targets)
    return params, mean


def main():
    _, loss = train(start())
    print(f"final loss {float(loss):.9g}")


if __name__ == "__main__":
    main()
