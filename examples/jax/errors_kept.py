"""Trains and keeps the errors of each step's samples in a list, for a percentile at the end.

They stay arrays of the device, so there is one more of them after each step.
"""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 512
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
    errors = (hidden @ params["out"] - targets)[:, 0]
    return jnp.mean(errors**2), errors


@jax.jit
def step(params, inputs, targets):
    grads, errors = jax.grad(loss_of, has_aux=True)(params, inputs, targets)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), errors


def start():
    first, second = jax.random.split(jax.random.key(0))
    return {
        "hidden": 0.1 * jax.random.normal(first, (FEATURES, 128)),
        "out": 0.1 * jax.random.normal(second, (128, 1)),
    }


def train(params):
    errors = []
    for inputs, targets in batches(STEPS):
        params, error = step(params, inputs, targets)
        errors.append(error)
    return jax.device_get(errors)


def main():
    errors = np.abs(np.stack(train(start())))
    print(f"95% of errors below {np.percentile(errors, 95):.6f}")


if __name__ == "__main__":
    main()
