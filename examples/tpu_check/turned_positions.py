"""Trains a network that mixes positions and features, and turns the samples around in between."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 16
POSITIONS = 256
FEATURES = 512
LAYERS = 1
STEPS = 10


def start():
    random = np.random.default_rng(0)
    shapes = {"positions": (POSITIONS, POSITIONS), "features": (FEATURES, FEATURES)}
    return [
        {
            name: jnp.asarray(random.normal(size=shape) / np.sqrt(shape[0]), jnp.float32)
            for name, shape in shapes.items()
        }
        for _ in range(LAYERS)
    ]


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def mix_positions(x, weight):
    """x: samples, positions, features."""
    turned = x.transpose(0, 2, 1).reshape(-1, POSITIONS)
    return jax.nn.gelu(turned @ weight).reshape(BATCH, FEATURES, -1).transpose(0, 2, 1)


def loss_of(layers, inputs):
    x = inputs.astype(jnp.bfloat16)
    for weights in jax.tree.map(lambda w: w.astype(jnp.bfloat16), layers):
        x += mix_positions(norm(x), weights["positions"])
        x += jax.nn.gelu(norm(x) @ weights["features"])
    return jnp.mean((x.astype(jnp.float32) + inputs) ** 2)


@jax.jit(donate_argnums=0)
def step(layers, inputs):
    loss, grads = jax.value_and_grad(loss_of)(layers, inputs)
    return jax.tree.map(lambda w, g: w - 0.1 * g, layers, grads), loss


def main():
    layers, random = start(), np.random.default_rng(0)
    for _ in range(STEPS):
        inputs = random.normal(size=(BATCH, POSITIONS, FEATURES)).astype(np.float32)
        layers, loss = step(layers, inputs)
    print(f"final loss {float(loss):.9g}")


if __name__ == "__main__":
    main()
