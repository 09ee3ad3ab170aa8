"""Equinox: a recurrent network over sequences of one length, with filtered transformations."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH, LENGTH, STEPS = 32, 16, 60


class Recurrent(eqx.Module):
    cell: eqx.nn.GRUCell
    head: eqx.nn.Linear

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.cell = eqx.nn.GRUCell(2, 32, key=first)
        self.head = eqx.nn.Linear(32, 1, key=second)

    def __call__(self, sequence):
        def step(state, value):
            return self.cell(value, state), None

        state, _ = jax.lax.scan(step, jnp.zeros(32), sequence)
        return jax.nn.sigmoid(self.head(state))[0]


def main():
    model = Recurrent(jax.random.key(0))
    optimizer = optax.adam(3e-3)
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_value_and_grad
    def loss_of(model, inputs, targets):
        return jnp.mean((jax.vmap(model)(inputs) - targets) ** 2)

    @eqx.filter_jit(donate="all-except-first")
    def make_step(batch, model, state):
        loss, gradients = loss_of(model, *batch)
        updates, state = optimizer.update(gradients, state)
        return loss, eqx.apply_updates(model, updates), state

    random, losses = np.random.default_rng(0), []
    for _ in range(STEPS):
        inputs = random.standard_normal((BATCH, LENGTH, 2)).astype(np.float32)
        targets = (inputs.sum((1, 2)) > 0).astype(np.float32)
        loss, model, state = make_step((inputs, targets), model, state)
        losses.append(loss)
    print(f"loss {np.mean(jax.device_get(losses[-10:])):.4f}")


if __name__ == "__main__":
    main()
