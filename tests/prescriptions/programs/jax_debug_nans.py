"""JAX, with a setting that looks at each result."""

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_debug_nans", True)


@jax.jit
def update(weights, inputs):
    return weights - 0.01 * jax.grad(lambda w: jnp.mean((inputs @ w - 1) ** 2))(weights)


def main():
    rng = np.random.default_rng(0)
    weights = jnp.zeros((256, 4))
    for _ in range(200):
        weights = update(weights, rng.standard_normal((64, 256), np.float32))
    print(f"norm {jnp.linalg.norm(weights):.6g}")


if __name__ == "__main__":
    main()
