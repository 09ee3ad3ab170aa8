"""Takes 30,000 steps, of which a few late ones have other shapes."""

import jax
import jax.numpy as jnp


@jax.jit
def update(weights: jax.Array, inputs: jax.Array) -> jax.Array:
    """One step of gradient descent."""
    gradient = jax.grad(lambda weights: jnp.mean((inputs @ weights) ** 2))(weights)
    return weights - 0.1 * gradient


def train(steps: int) -> float:
    """Train, with a longer batch in every two-thousandth of the last steps."""
    weights = jnp.ones((32, 8))
    for step in range(steps):
        late = step >= 2 * steps // 3 and step % 2000 == 0
        inputs = jnp.ones((17 + step // 2000 if late else 16, 32))
        weights = update(weights, inputs)
    return float(weights.sum())


print(train(30_000))
