"""Trains a small convolution net whose channels fill the tiles of a TPU."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 16
SIZE = 16
CHANNELS = 128
STEPS = 20


def start():
    random = np.random.default_rng(0)
    shapes = [(3, 3, 3, CHANNELS), *[(3, 3, CHANNELS, CHANNELS)] * 2, (1, 1, CHANNELS, 3)]
    return [
        jnp.asarray(random.normal(size=shape) / np.sqrt(np.prod(shape[:3])), jnp.float32)
        for shape in shapes
    ]


def convolve(x, weight):
    return jax.lax.conv_general_dilated(
        x, weight.astype(x.dtype), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def loss_of(weights, images):
    x = images.astype(jnp.bfloat16)
    for weight in weights[:-1]:
        x = jax.nn.relu(convolve(x, weight))
    outputs = convolve(x, weights[-1]).astype(jnp.float32)
    return jnp.mean((outputs - images) ** 2)


@jax.jit(donate_argnums=0)
def step(weights, images):
    loss, grads = jax.value_and_grad(loss_of)(weights, images)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads), loss


def main():
    weights, random = start(), np.random.default_rng(0)
    for _ in range(STEPS):
        images = random.normal(size=(BATCH, SIZE, SIZE, 3)).astype(np.float32)
        weights, loss = step(weights, images)
    print(f"final loss {float(loss):.9g}")


if __name__ == "__main__":
    main()
