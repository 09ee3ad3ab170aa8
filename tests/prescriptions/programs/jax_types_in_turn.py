"""Trains on shards of data, each of which was saved with a type of its own."""

import jax
import jax.numpy as jnp
import numpy as np

TYPES = (np.float32, np.float16, np.int8, np.int16, np.int32, np.uint8, np.uint16, jnp.bfloat16)
STEPS_PER_SHARD = 3


def batches():
    draw = np.random.default_rng(0)
    for dtype in TYPES:
        for _ in range(STEPS_PER_SHARD):
            yield draw.integers(0, 100, size=(64, 32)).astype(dtype)


@jax.jit
def step(weights, inputs):
    x = inputs.astype(jnp.float32) / 100
    loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(weights)
    return weights - 0.1 * grad, loss


def main():
    weights = jnp.asarray(np.random.default_rng(1).normal(size=(32, 8)), jnp.float32)
    for inputs in batches():
        weights, loss = step(weights, inputs)
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
