"""Trains a small network with momentum; old and new state are held at once."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 512
WIDTH = 1024
LAYERS = 3
STEPS = 20


def start():
    random = np.random.default_rng(0)
    size = (LAYERS, WIDTH, WIDTH)
    weights = list(jnp.asarray(random.normal(size=size) / np.sqrt(WIDTH), jnp.float32))
    return weights, [jnp.zeros_like(weight) for weight in weights]


def loss_of(weights, inputs, targets):
    x = inputs.astype(jnp.bfloat16)
    for weight in weights:
        x = jax.nn.relu(x @ weight.astype(jnp.bfloat16))
    return jnp.mean((x - targets) ** 2)


@jax.jit
def step(state, inputs, targets):
    weights, momenta = state
    loss, grads = jax.value_and_grad(loss_of)(weights, inputs, targets)
    momenta = jax.tree.map(lambda m, g: 0.9 * m + g, momenta, grads)
    return (jax.tree.map(lambda w, m: w - 0.02 * m, weights, momenta), momenta), loss


def main():
    state, random = start(), np.random.default_rng(0)
    for _ in range(STEPS):
        inputs = random.normal(size=(BATCH, WIDTH)).astype(np.float32)
        state, loss = step(state, inputs, np.abs(inputs))
    print(f"final loss {float(loss):.9g}")


if __name__ == "__main__":
    main()
