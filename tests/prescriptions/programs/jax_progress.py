"""A callback of the program's own keeps the loss of each step as a number."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 256
FEATURES = 64
STEPS = 300


def batches(steps):
    """Yield fresh samples with what a fixed linear rule gives them."""
    draw = np.random.default_rng(0)
    rule = draw.normal(size=(FEATURES, 1)).astype(np.float32)
    for _ in range(steps):
        inputs = draw.normal(size=(BATCH, FEATURES)).astype(np.float32)
        yield inputs, inputs @ rule


def outputs_of(params, inputs):
    return jnp.tanh(inputs @ params["hidden"]) @ params["out"]


def loss_of(params, inputs, targets):
    return jnp.mean((outputs_of(params, inputs) - targets) ** 2)


@jax.jit
def step(params, inputs, targets):
    loss, grads = jax.value_and_grad(loss_of)(params, inputs, targets)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), loss


def start():
    first, second = jax.random.split(jax.random.key(0))
    return {
        "hidden": 0.1 * jax.random.normal(first, (FEATURES, 128)),
        "out": 0.1 * jax.random.normal(second, (128, 1)),
    }


class History:
    """Keeps the losses, and prints their mean."""

    def __init__(self):
        self.losses = []

    def on_step_end(self, loss):
        self.losses.append(float(loss))

    def on_train_end(self):
        print(f"mean loss {sum(self.losses) / len(self.losses):.6g}")


def main():
    params, history = start(), History()
    for inputs, targets in batches(STEPS):
        params, loss = step(params, inputs, targets)
        history.on_step_end(loss)
    history.on_train_end()


if __name__ == "__main__":
    main()
