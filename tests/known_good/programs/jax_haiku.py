"""Haiku: a classifier with an average of its parameters, looked at every twenty-five steps."""

from typing import NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH, STEPS, EVALUATE = 64, 200, 25


class State(NamedTuple):
    params: hk.Params
    average: hk.Params
    moments: optax.OptState


def forward(images):
    return hk.nets.MLP([128, 64, 10])(images.reshape(len(images), -1))


network = hk.without_apply_rng(hk.transform(forward))
optimizer = optax.adam(1e-3)


def loss_of(params, images, labels):
    logits = network.apply(params, images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@jax.jit
def update(state, images, labels):
    gradients = jax.grad(loss_of)(state.params, images, labels)
    updates, moments = optimizer.update(gradients, state.moments)
    params = optax.apply_updates(state.params, updates)
    return State(params, optax.incremental_update(params, state.average, 0.001), moments)


@jax.jit
def accuracy(params, images, labels):
    return jnp.mean(network.apply(params, images).argmax(-1) == labels)


def batches():
    random = np.random.default_rng(0)
    while True:
        images = random.standard_normal((BATCH, 28, 28), np.float32)
        yield images, (images.mean((1, 2)) > 0).astype(np.int32)


def main():
    train, test = batches(), batches()
    params = network.init(jax.random.key(0), next(train)[0])
    state = State(params, params, optimizer.init(params))
    for step in range(STEPS):
        if step % EVALUATE == 0:
            print(step, f"{accuracy(state.average, *next(test)):.3f}")
        state = update(state, *next(train))
    print(f"accuracy {accuracy(state.average, *next(test)):.3f}")


if __name__ == "__main__":
    main()
