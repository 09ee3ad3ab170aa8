"""A gated cell goes over two dozen points in time, in a Python loop inside of the compiled step."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 32
FEATURES = 64
LENGTH = 24
STEPS = 20


def cell(params, state, now):
    kept = jax.nn.sigmoid(state @ params["gate"] + now)
    return kept * state + (1 - kept) * jnp.tanh(state @ params["candidate"] + now)


def loss_of(params, sequences, targets):
    state = jnp.zeros((BATCH, FEATURES))
    for now in sequences:
        state = cell(params, state, now)
    return jnp.mean((state @ params["readout"] - targets) ** 2)


@jax.jit
def step(params, sequences, targets):
    loss, grads = jax.value_and_grad(loss_of)(params, sequences, targets)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), loss


def main():
    random = np.random.default_rng(0)
    shapes = {"gate": FEATURES, "candidate": FEATURES, "readout": 1}
    params = {
        name: random.standard_normal((FEATURES, width), dtype=np.float32) / FEATURES**0.5
        for name, width in shapes.items()
    }
    for _ in range(STEPS):
        sequences = random.standard_normal((LENGTH, BATCH, 1), dtype=np.float32)
        params, loss = step(params, sequences, sequences[-3:].sum(axis=0))
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
