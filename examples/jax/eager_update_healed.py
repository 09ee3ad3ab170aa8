"""Trains with a step that is compiled with the optimizer in it."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH = 256
FEATURES = 64
LAYERS = 6
STEPS = 60


def batches(steps):
    """Yield fresh samples with what a fixed linear rule gives them."""
    random = np.random.default_rng(0)
    rule = random.normal(size=(FEATURES, 1)).astype(np.float32)
    for _ in range(steps):
        inputs = random.normal(size=(BATCH, FEATURES)).astype(np.float32)
        yield inputs, inputs @ rule


def loss_of(params, inputs, targets):
    hidden = inputs
    for layer in params:
        hidden = jnp.tanh(hidden @ layer["weight"] + layer["bias"])
    return jnp.mean((hidden.sum(axis=1, keepdims=True) - targets) ** 2)


def start():
    keys = jax.random.split(jax.random.key(0), LAYERS)
    return [
        {"weight": 0.1 * jax.random.normal(key, (FEATURES, FEATURES)), "bias": jnp.zeros(FEATURES)}
        for key in keys
    ]


def train(params):
    optimizer = optax.adam(1e-3)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, inputs, targets):
        loss, grads = jax.value_and_grad(loss_of)(params, inputs, targets)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    for inputs, targets in batches(STEPS):
        params, state, loss = step(params, state, inputs, targets)
    return params, loss


def main():
    _, loss = train(start())
    print(f"final loss {float(loss):.9g}")


if __name__ == "__main__":
    main()
