"""Trains with a precision of products that is raised a little every few steps."""

import jax
import jax.numpy as jnp
import numpy as np

PRECISIONS = ("bfloat16", "tensorfloat32", "float32", "highest", "high", "default")
STEPS = 24


@jax.jit
def step(weights, inputs):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(inputs @ w) ** 2))(weights)
    return weights - 0.1 * grad, loss


def main():
    draw = np.random.default_rng(0)
    weights = jnp.asarray(draw.normal(size=(32, 8)), jnp.float32)
    for number in range(STEPS):
        inputs = draw.normal(size=(64, 32)).astype(np.float32)
        with jax.default_matmul_precision(PRECISIONS[number * len(PRECISIONS) // STEPS]):
            weights, loss = step(weights, inputs)
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
