"""Trains with a configuration that is a static argument, and made anew for each step."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

STEPS = 24


class Config:
    def __init__(self, rate, decay):
        self.rate = rate
        self.decay = decay


@partial(jax.jit, static_argnames="config")
def step(weights, inputs, config):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(inputs @ w) ** 2))(weights)
    return (1 - config.decay) * weights - config.rate * grad, loss


def main():
    draw = np.random.default_rng(0)
    weights = jnp.asarray(draw.normal(size=(32, 8)), jnp.float32)
    for _ in range(STEPS):
        inputs = draw.normal(size=(64, 32)).astype(np.float32)
        weights, loss = step(weights, inputs, Config(0.1, 0.001))
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
