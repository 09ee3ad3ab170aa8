"""Trains a deep network; most of its memory is what its layers keep for the backward pass."""

import jax

LAYERS = 12
WIDTH = 256
BATCH = 4096
STEPS = 8


def start(key):
    return jax.random.normal(key, (LAYERS, WIDTH, WIDTH)) * WIDTH**-0.5


def layer(hidden, weights):
    mixed = jax.nn.gelu(hidden @ weights)
    return hidden + mixed * jax.nn.sigmoid(mixed), None


def loss_of(params, inputs):
    hidden, _ = jax.lax.scan(layer, inputs, params)
    return (hidden**2).mean()


@jax.jit
def step(params, inputs):
    loss, gradients = jax.value_and_grad(loss_of)(params, inputs)
    return params - 0.01 * gradients, loss


def main():
    params = start(jax.random.key(0))
    inputs = jax.random.normal(jax.random.key(1), (BATCH, WIDTH))
    for _ in range(STEPS):
        params, loss = step(params, inputs)
    print(f"loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
