"""Trains a classifier on embeddings that do not change: their table is a NumPy array."""

import jax
import jax.numpy as jnp
import numpy as np

WORDS = 40_000
FEATURES = 256
STEPS = 60


@jax.jit
def step(weights, table, words, labels):
    def loss_of(weights):
        logits = table[words].mean(axis=1) @ weights
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels])

    loss, slope = jax.value_and_grad(loss_of)(weights)
    return weights - 0.5 * slope, loss


def main():
    random = np.random.default_rng(0)
    table = random.standard_normal((WORDS, FEATURES), dtype=np.float32)
    weights = jnp.zeros((FEATURES, 2))
    for _ in range(STEPS):
        labels = random.integers(2, size=32, dtype=np.int32)
        words = random.integers(WORDS // 2, size=(32, 64), dtype=np.int32) + labels[:, None]
        weights, loss = step(weights, table, words, labels)
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
