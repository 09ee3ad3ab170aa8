"""Optax: gradients of four small batches gathered, a schedule, weights decayed but for biases."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH, STEPS, LOG_EVERY = 16, 240, 60


def init(key):
    first, second = jax.random.split(key)
    hidden = {"kernel": jax.random.normal(first, (32, 128)) * 0.2, "bias": jnp.zeros(128)}
    out = {"kernel": jax.random.normal(second, (128, 10)) * 0.1, "bias": jnp.zeros(10)}
    return {"hidden": hidden, "out": out}


def loss_of(params, inputs, labels):
    hidden = jax.nn.relu(inputs @ params["hidden"]["kernel"] + params["hidden"]["bias"])
    logits = hidden @ params["out"]["kernel"] + params["out"]["bias"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def main():
    params = jax.jit(init)(jax.random.key(0))
    mask = jax.tree.map(lambda array: array.ndim > 1, params)
    optimizer = optax.MultiSteps(
        optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.scale_by_adam(),
            optax.add_decayed_weights(1e-4, mask),
            optax.scale_by_learning_rate(optax.cosine_decay_schedule(1e-2, STEPS // 4)),
        ),
        every_k_schedule=4,
    )

    @jax.jit
    def step(params, state, inputs, labels):
        loss, gradients = jax.value_and_grad(loss_of)(params, inputs, labels)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss

    state, random = optimizer.init(params), np.random.default_rng(0)
    for number in range(1, STEPS + 1):
        inputs = random.standard_normal((BATCH, 32), np.float32)
        params, state, loss = step(params, state, inputs, inputs[:, :10].argmax(1))
        if number % LOG_EVERY == 0:
            print(number, f"loss {loss:.3f}")


if __name__ == "__main__":
    main()
