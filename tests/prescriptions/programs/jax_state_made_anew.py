"""Trains a state that is a pytree with its update function as a static field, made in each step."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

STEPS = 24


@partial(jax.tree_util.register_dataclass, data_fields=["weights"], meta_fields=["apply"])
@dataclass
class State:
    weights: Any
    apply: Any


@jax.jit
def step(state, inputs):
    def loss_of(weights):
        return jnp.mean(state.apply(inputs @ weights) ** 2)

    loss, grad = jax.value_and_grad(loss_of)(state.weights)
    return state.weights - 0.1 * grad, loss


def main():
    draw = np.random.default_rng(0)
    weights = jnp.asarray(draw.normal(size=(32, 8)), jnp.float32)
    for _ in range(STEPS):
        state = State(weights, lambda x: jnp.tanh(x))
        weights, loss = step(state, draw.normal(size=(64, 32)).astype(np.float32))
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
