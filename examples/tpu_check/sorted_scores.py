"""Trains a classifier, and sorts the scores of all classes to find the best one."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 512
WIDTH = 512
CLASSES = 1024
STEPS = 20


def start():
    random = np.random.default_rng(0)
    shapes = [(WIDTH, WIDTH), (WIDTH, CLASSES)]
    return [
        jnp.asarray(random.normal(size=shape) / np.sqrt(WIDTH), jnp.float32) for shape in shapes
    ]


def best_of(scores):
    return jnp.argsort(scores, axis=-1)[:, -1]


def loss_of(weights, inputs, classes):
    hidden, out = (weight.astype(jnp.bfloat16) for weight in weights)
    scores = (jax.nn.relu(inputs.astype(jnp.bfloat16) @ hidden) @ out).astype(jnp.float32)
    wanted = jax.nn.one_hot(classes, CLASSES)
    loss = -jnp.mean(jnp.sum(wanted * jax.nn.log_softmax(scores), axis=-1))
    return loss, jnp.mean(best_of(scores) == classes)


@jax.jit(donate_argnums=0)
def step(weights, inputs, classes):
    (loss, right), grads = jax.value_and_grad(loss_of, has_aux=True)(weights, inputs, classes)
    return jax.tree.map(lambda w, g: w - 0.5 * g, weights, grads), loss, right


def main():
    weights, random = start(), np.random.default_rng(0)
    for _ in range(STEPS):
        inputs = random.normal(size=(BATCH, WIDTH)).astype(np.float32)
        weights, loss, right = step(weights, inputs, inputs.argmax(axis=-1).astype(np.int32))
    print(f"final loss {float(loss):.9g}, right {float(right):.9g}")


if __name__ == "__main__":
    main()
