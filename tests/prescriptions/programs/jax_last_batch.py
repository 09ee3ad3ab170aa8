"""JAX; the data set is no multiple of the batch."""

import jax
import jax.numpy as jnp
import numpy as np
from torch.utils.data import DataLoader

SAMPLES = np.random.default_rng(0).standard_normal((300, 64), np.float32)


@jax.jit
def update(weights, inputs):
    return weights - 0.01 * jax.grad(lambda w: jnp.mean((inputs @ w - 1) ** 2))(weights)


def main():
    weights = jnp.zeros((64, 4))
    loader = DataLoader(SAMPLES, batch_size=32, collate_fn=np.stack)
    for _ in range(6):
        for inputs in loader:
            weights = update(weights, inputs)
    print(f"norm {jnp.linalg.norm(weights):.4g}")


if __name__ == "__main__":
    main()
