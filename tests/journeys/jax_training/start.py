"""Trains a text model on ragged batches, with metrics and checkpoints, as it was with NumPy."""

import jax
import jax.numpy as jnp
import numpy as np

VOCABULARY = 200
WIDTH = 48
STEPS = 60


def batches(steps):
    rng = np.random.default_rng(0)
    for _ in range(steps):
        longest = int(rng.integers(20, 60))
        tokens = rng.integers(1, VOCABULARY, (16, longest))
        yield tokens, (tokens.sum(1) % 2).astype(np.int32)


def forward(params, tokens):
    hidden = params["embedding"][tokens]
    for weights in params["layers"]:
        scores = hidden @ hidden.swapaxes(1, 2) / WIDTH**0.5
        hidden = hidden + jnp.tanh(jax.nn.softmax(scores) @ hidden @ weights)
    return hidden.mean(1) @ params["head"]


def loss_of(params, tokens, labels):
    logits = jax.nn.log_softmax(forward(params, tokens))
    return -logits[jnp.arange(len(labels)), labels].mean()


def main():
    rng = np.random.default_rng(1)
    params = {
        "embedding": jnp.asarray(rng.standard_normal((VOCABULARY, WIDTH), np.float32)),
        "layers": [
            jnp.asarray(rng.standard_normal((WIDTH, WIDTH), np.float32) / 7) for _ in range(3)
        ],
        "head": jnp.asarray(rng.standard_normal((WIDTH, 2), np.float32) / 7),
    }
    losses, rate = [], 0.05
    for step, (tokens, labels) in enumerate(batches(STEPS)):
        loss, grads = jax.jit(jax.value_and_grad(lambda p: loss_of(p, tokens, labels)))(params)
        params = jax.tree.map(lambda p, g: p - rate * g, params, grads)
        losses.append(float(loss))
        if step % 10 == 9:
            np.savez("/tmp/jax_training.npz", embedding=np.asarray(params["embedding"]))
            print(f"step {step + 1}: loss {np.mean(losses[-10:]):.4f}")


if __name__ == "__main__":
    main()
