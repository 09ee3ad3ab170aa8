"""The same as ``train_torch.py``, with a table in the function.

xladoctor run --trace-steps 0 --output jax train_jax.py   # JAX 0.10.2, on a CPU
"""

import jax
import jax.numpy as jnp
import numpy as np

TABLE = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) / 4096


@jax.jit
def step(weights: jax.Array, inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
    def loss(weights: jax.Array) -> jax.Array:
        return (jnp.tanh(inputs @ TABLE @ weights) ** 2).mean()

    value, gradient = jax.value_and_grad(loss)(weights)
    return weights - 0.1 * gradient, value


@jax.jit
def evaluate(weights: jax.Array, inputs: jax.Array) -> jax.Array:
    return (inputs @ weights).mean()


weights = jnp.full((64, 64), 0.01)
for _ in range(2):
    for number in range(10):
        weights, value = step(weights, np.ones((8 if number < 9 else 5, 64), np.float32))
    for _ in range(4):
        mean = evaluate(weights, np.ones((32, 64), np.float32))
