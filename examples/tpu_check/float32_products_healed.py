"""Trains a small network that computes in bfloat16, with weights kept in float32."""

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
    return list(jnp.asarray(random.normal(size=size) / np.sqrt(WIDTH), jnp.float32))


def loss_of(weights, inputs, targets):
    x = inputs.astype(jnp.bfloat16)
    for weight in weights:
        x = jax.nn.relu(x @ weight.astype(jnp.bfloat16))
    return jnp.mean((x - targets) ** 2)


@jax.jit(donate_argnums=0)
def step(weights, inputs, targets):
    loss, grads = jax.value_and_grad(loss_of)(weights, inputs, targets)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads), loss


def main():
    weights, random = start(), np.random.default_rng(0)
    for _ in range(STEPS):
        inputs = random.normal(size=(BATCH, WIDTH)).astype(np.float32)
        weights, loss = step(weights, inputs, np.abs(inputs))
    print(f"final loss {float(loss):.9g}")


if __name__ == "__main__":
    main()
