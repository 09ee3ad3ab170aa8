"""Flax's linen: a convolutional network with batch normalization and dropout, in a TrainState."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax.training import train_state

BATCH, STEPS, EPOCHS = 32, 30, 2


class TrainState(train_state.TrainState):
    batch_stats: dict
    key: jax.Array


class Network(nn.Module):
    @nn.compact
    def __call__(self, images, train):
        hidden = nn.Conv(8, (3, 3), strides=2)(images)
        hidden = nn.relu(nn.BatchNorm(use_running_average=not train)(hidden))
        hidden = nn.Dropout(0.1, deterministic=not train)(hidden.reshape(len(images), -1))
        return nn.Dense(10)(hidden)


@jax.jit
def train_step(state, batch):
    def loss_of(params):
        logits, changed = state.apply_fn(
            {"params": params, "batch_stats": state.batch_stats},
            batch["image"],
            train=True,
            mutable=["batch_stats"],
            rngs={"dropout": jax.random.fold_in(state.key, state.step)},
        )
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"])
        return losses.mean(), (logits, changed)

    (loss, (logits, changed)), gradients = jax.value_and_grad(loss_of, has_aux=True)(state.params)
    state = state.apply_gradients(grads=gradients, batch_stats=changed["batch_stats"])
    return state, {"loss": loss, "accuracy": jnp.mean(logits.argmax(-1) == batch["label"])}


@jax.jit
def eval_step(state, batch):
    variables = {"params": state.params, "batch_stats": state.batch_stats}
    logits = state.apply_fn(variables, batch["image"], train=False)
    return {"accuracy": jnp.mean(logits.argmax(-1) == batch["label"])}


def batches(count):
    random = np.random.default_rng(0)
    for _ in range(count):
        yield {"image": random.standard_normal((BATCH, 28, 28, 1), np.float32),
               "label": random.integers(0, 10, BATCH)}  # fmt: skip


def mean(metrics):
    metrics = jax.device_get(metrics)
    return {name: float(np.mean([each[name] for each in metrics])) for name in metrics[0]}


def main():
    key, dropout = jax.random.split(jax.random.key(0))
    network = Network()
    variables = network.init(key, jnp.ones((1, 28, 28, 1)), train=False)
    state = TrainState.create(
        apply_fn=network.apply,
        params=variables["params"],
        batch_stats=variables["batch_stats"],
        key=dropout,
        tx=optax.sgd(0.1, momentum=0.9),
    )
    for epoch in range(EPOCHS):
        trained = []
        for batch in batches(STEPS):
            state, metrics = train_step(state, batch)
            trained.append(metrics)
        tested = [eval_step(state, batch) for batch in batches(STEPS // 3)]
        print(epoch, mean(trained), mean(tested))


if __name__ == "__main__":
    main()
