"""A metric on the host counts the right signs of each step."""

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


predict = jax.jit(outputs_of)


def start():
    first, second = jax.random.split(jax.random.key(0))
    return {
        "hidden": 0.1 * jax.random.normal(first, (FEATURES, 128)),
        "out": 0.1 * jax.random.normal(second, (128, 1)),
    }


class Accuracy:
    """Counts on the host."""

    def __init__(self):
        self.right, self.seen = 0, 0

    def update(self, outputs, targets):
        self.right += int((np.sign(outputs) == np.sign(targets)).sum())
        self.seen += len(targets)


def main():
    params, metric = start(), Accuracy()
    for inputs, targets in batches(STEPS):
        params, _ = step(params, inputs, targets)
        outputs = predict(params, inputs)
        metric.update(np.asarray(outputs), targets)
    print(f"accuracy {metric.right / metric.seen:.6g}")


if __name__ == "__main__":
    main()
