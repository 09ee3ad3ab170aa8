"""JAX; all samples are shuffled for each batch."""

import jax
import jax.numpy as jnp
import numpy as np

SAMPLES = 3_000_000
BATCH = 64


@jax.jit
def update(weights, inputs):
    return weights - 0.01 * jax.grad(lambda w: jnp.mean((inputs @ w - 1) ** 2))(weights)


def main():
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((SAMPLES, 4), np.float32)
    weights = jnp.zeros((4, 4))
    for step in range(40):
        order = rng.permutation(SAMPLES)
        batch = samples[order[:BATCH]]
        weights = update(weights, batch)
    print(f"weights of shape {weights.shape} after step {step}")


if __name__ == "__main__":
    main()
