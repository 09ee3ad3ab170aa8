"""Trains on samples whose loss is high; how many those are, jnp.nonzero reads in each step."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 256
FEATURES = 64
STEPS = 120
WORST = 8


def losses_of(weights, inputs, targets):
    return jnp.square(jnp.tanh(inputs @ weights[0]) @ weights[1] - targets)[:, 0]


@jax.jit
def judge(weights, inputs, targets):
    losses = losses_of(weights, inputs, targets)
    return losses > 2 * losses.mean()


@jax.jit
def step(weights, inputs, targets, hard):
    def loss_of(weights):
        return losses_of(weights, inputs[hard], targets[hard]).mean()

    loss, slopes = jax.value_and_grad(loss_of)(weights)
    return jax.tree.map(lambda w, s: w - 0.02 * s, weights, slopes), loss


def main():
    random = np.random.default_rng(0)
    rule = random.standard_normal((FEATURES, 1), dtype=np.float32)
    weights = [
        jnp.asarray(0.1 * random.standard_normal(shape, dtype=np.float32))
        for shape in ((FEATURES, 128), (128, 1))
    ]
    for _ in range(STEPS):
        inputs = random.standard_normal((BATCH, FEATURES), dtype=np.float32)
        (hard,) = jnp.nonzero(judge(weights, inputs, inputs @ rule))
        weights, loss = step(weights, inputs, inputs @ rule, hard[:WORST])
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
