"""Trains and counts right answers in the compiled step."""

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
    outputs = jnp.tanh(inputs @ params["hidden"]) @ params["out"]
    return jnp.mean((outputs - targets) ** 2), outputs


@jax.jit
def step(params, right, inputs, targets):
    (loss, outputs), grads = jax.value_and_grad(loss_of, has_aux=True)(params, inputs, targets)
    right += jnp.sum(jnp.sign(outputs) == jnp.sign(targets))
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), right, loss


def start():
    first, second = jax.random.split(jax.random.key(0))
    return {
        "hidden": 0.1 * jax.random.normal(first, (FEATURES, 128)),
        "out": 0.1 * jax.random.normal(second, (128, 1)),
    }


def train(params):
    right = jnp.zeros((), jnp.int32)
    for inputs, targets in batches(STEPS):
        params, right, loss = step(params, right, inputs, targets)
    print(f"{right} right")
    return params, loss


def main():
    _, loss = train(start())
    print(f"final loss {float(loss):.9g}")


if __name__ == "__main__":
    main()
