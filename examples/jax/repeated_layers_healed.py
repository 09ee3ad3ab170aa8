"""Trains a network of sixteen equal blocks, one of which is compiled for all."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 16
BLOCKS = 16
FEATURES = 64
STEPS = 40


def start_block(random):
    widen = random.standard_normal((FEATURES, 2 * FEATURES), dtype=np.float32)
    narrow = random.standard_normal((2 * FEATURES, FEATURES), dtype=np.float32)
    return {"widen": widen / FEATURES**0.5, "narrow": narrow / FEATURES**0.5}


def block(params, hidden):
    centered = hidden - hidden.mean(axis=-1, keepdims=True)
    normal = centered / (1e-5 + centered.std(axis=-1, keepdims=True))
    return hidden + jnp.tanh(normal @ params["widen"]) @ params["narrow"]


def start():
    random = np.random.default_rng(1)
    blocks = [start_block(random) for _ in range(BLOCKS)]
    return jax.device_put(jax.tree.map(lambda *weights: np.stack(weights), *blocks))


def loss_of(params, inputs):
    hidden, _ = jax.lax.scan(lambda hidden, params: (block(params, hidden), None), inputs, params)
    return jnp.mean((hidden - jnp.sin(inputs)) ** 2)


@jax.jit
def step(params, inputs):
    loss, grads = jax.value_and_grad(loss_of)(params, inputs)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), loss


def train(params):
    random = np.random.default_rng(0)
    for _ in range(STEPS):
        inputs = random.standard_normal((BATCH, FEATURES), dtype=np.float32)
        params, loss = step(params, inputs)
    return params, loss


def main():
    _, loss = train(start())
    print(f"final loss {float(loss):.9g}")


if __name__ == "__main__":
    main()
