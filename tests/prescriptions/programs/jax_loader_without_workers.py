"""JAX, fed by a loader of PyTorch without workers, whose samples come from slow storage."""

import time

import jax
import jax.numpy as jnp
import numpy as np
from torch.utils.data import DataLoader, Dataset


class Recordings(Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, index):
        time.sleep(0.003)
        return np.random.default_rng(index).standard_normal(64, np.float32)


def collate(samples):
    return np.stack(samples)


@jax.jit
def update(weights, inputs):
    return weights - 0.01 * jax.grad(lambda w: jnp.mean((inputs @ w - 1) ** 2))(weights)


def main():
    weights = jnp.zeros((64, 4))
    loader = DataLoader(Recordings(), batch_size=8, collate_fn=collate)
    for inputs in loader:
        weights = update(weights, inputs)
    print(f"norm {jnp.linalg.norm(weights):.6g}")


if __name__ == "__main__":
    main()
