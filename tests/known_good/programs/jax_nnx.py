"""Flax's nnx: a convolutional network that is trained and evaluated, with metrics on the device."""

import jax
import numpy as np
import optax
from flax import nnx

BATCH, STEPS, EPOCHS = 32, 30, 2


class Network(nnx.Module):
    def __init__(self, rngs):
        self.convolution = nnx.Conv(1, 8, (3, 3), strides=2, rngs=rngs)
        self.head = nnx.Linear(14 * 14 * 8, 10, rngs=rngs)

    def __call__(self, images):
        hidden = nnx.relu(self.convolution(images))
        return self.head(hidden.reshape(len(images), -1))


def loss_of(model, images, labels):
    logits = model(images)
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
    return loss, logits


@nnx.jit
def train_step(model, optimizer, metrics, images, labels):
    (loss, logits), gradients = nnx.value_and_grad(loss_of, has_aux=True)(model, images, labels)
    metrics.update(loss=loss, logits=logits, labels=labels)
    optimizer.update(model, gradients)


@nnx.jit
def eval_step(model, metrics, images, labels):
    loss, logits = loss_of(model, images, labels)
    metrics.update(loss=loss, logits=logits, labels=labels)


def batches(count):
    random = np.random.default_rng(0)
    for _ in range(count):
        yield (random.standard_normal((BATCH, 28, 28, 1), np.float32),
               random.integers(0, 10, BATCH))  # fmt: skip


def main():
    model = Network(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
    for epoch in range(EPOCHS):
        for images, labels in batches(STEPS):
            train_step(model, optimizer, metrics, images, labels)
        print(epoch, jax.device_get(metrics.compute()))
        metrics.reset()
        for images, labels in batches(STEPS // 3):
            eval_step(model, metrics, images, labels)
        print(epoch, jax.device_get(metrics.compute()))
        metrics.reset()


if __name__ == "__main__":
    main()
