"""Trains a small convolutional network of Flax NNX, with metrics written by hand."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

EPOCHS = 3
SAMPLES = 450
BATCH = 64


class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Conv(1, 8, (3, 3), rngs=rngs)
        self.second = nnx.Conv(8, 16, (3, 3), rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.head = nnx.Linear(7 * 7 * 16, 10, rngs=rngs)

    def __call__(self, images):
        hidden = nnx.avg_pool(nnx.relu(self.first(images)), (2, 2), (2, 2))
        hidden = nnx.avg_pool(nnx.relu(self.second(hidden)), (2, 2), (2, 2))
        return self.head(self.dropout(hidden.reshape(len(hidden), -1)))


def loss_of(model, images, labels):
    logits = model(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), logits


def main():
    rng = np.random.default_rng(0)
    images = rng.random((SAMPLES, 28, 28, 1)) * 255
    labels = rng.integers(0, 10, SAMPLES)
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    for epoch in range(EPOCHS):
        losses, right = [], 0
        for begin in range(0, SAMPLES, BATCH):
            batch = (images[begin : begin + BATCH] / 255).astype(np.float32)
            target = labels[begin : begin + BATCH]

            @nnx.jit
            def train(model, optimizer, batch, target):
                (loss, logits), grads = nnx.value_and_grad(loss_of, has_aux=True)(
                    model, batch, target
                )
                optimizer.update(model, grads)
                return loss, logits

            loss, logits = train(model, optimizer, batch, target)
            losses.append(float(loss))
            right += int((jnp.argmax(logits, 1) == target).sum())
        print(f"epoch {epoch}: loss {np.mean(losses):.4f}, {right} right")


if __name__ == "__main__":
    main()
