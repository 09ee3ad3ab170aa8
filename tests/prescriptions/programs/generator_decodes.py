"""A generator that makes each batch of a loop, sample by sample, when the loop asks for it."""

import time

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 24


def samples(first):
    rng = np.random.default_rng(first)
    for _ in range(BATCH):
        time.sleep(0.001)  # a file is opened and decoded
        yield rng.standard_normal(64, np.float32)


def batches(steps):
    for step in range(steps):
        yield np.stack(list(samples(step * BATCH)))


@jax.jit
def update(weights, inputs):
    return weights - 0.01 * jax.grad(lambda w: jnp.mean((inputs @ w - 1) ** 2))(weights)


def main():
    weights = jnp.zeros((64, 4))
    for inputs in batches(60):
        weights = update(weights, inputs)
    print(f"weights of shape {weights.shape}")


if __name__ == "__main__":
    main()
