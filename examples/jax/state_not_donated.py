"""Trains a small network with momentum; old and new state are held at once."""

import jax
import jax.numpy as jnp

BATCH = 128
WIDTH = 768
LAYERS = 3
STEPS = 20


def start(key):
    weights = jax.random.normal(key, (LAYERS, WIDTH, WIDTH)) / WIDTH**0.5
    return {"weights": weights, "momenta": jnp.zeros_like(weights)}


def loss_of(weights, inputs):
    hidden = inputs
    for weight in weights:
        hidden = jax.nn.relu(hidden @ weight)
    return jnp.mean((hidden - jnp.abs(inputs)) ** 2)


@jax.jit
def step(state, inputs):
    loss, grads = jax.value_and_grad(loss_of)(state["weights"], inputs)
    momenta = 0.9 * state["momenta"] + grads
    return {"weights": state["weights"] - 0.02 * momenta, "momenta": momenta}, loss


def main():
    key = jax.random.key(0)
    state, inputs = start(key), jax.random.normal(key, (BATCH, WIDTH))
    for _ in range(STEPS):
        state, loss = step(state, inputs)
    print(f"final loss {float(loss):.9g}")


if __name__ == "__main__":
    main()
