"""Keras on JAX: a convolutional network, compiled and fitted, then evaluated."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers

ROWS, BATCH, EPOCHS = 2048, 64, 3


def main():
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    images = random.standard_normal((ROWS, 28, 28, 1), np.float32)
    labels = random.integers(0, 10, ROWS)

    model = keras.Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(8, 3, strides=2, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(10),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[keras.metrics.SparseCategoricalAccuracy()],
    )
    model.fit(images, labels, batch_size=BATCH, epochs=EPOCHS, verbose=2)
    print(model.evaluate(images[: ROWS // 4], labels[: ROWS // 4], batch_size=BATCH, verbose=0))


if __name__ == "__main__":
    main()
