"""The same by somebody who knows JAX: one compiled step, two lengths, losses read when printed."""

import jax
import jax.numpy as jnp
import numpy as np

VOCABULARY = 200
WIDTH = 48
STEPS = 60
BUCKETS = (40, 60)


def batches(steps):
    rng = np.random.default_rng(0)
    for _ in range(steps):
        longest = int(rng.integers(20, 60))
        tokens = rng.integers(1, VOCABULARY, (16, longest))
        bucket = next(size for size in BUCKETS if size >= longest)
        padded = np.pad(tokens, ((0, 0), (0, bucket - longest)))
        yield padded, np.int32(longest), (tokens.sum(1) % 2).astype(np.int32)


def forward(params, tokens, length):
    there = jnp.arange(tokens.shape[1]) < length
    hidden = params["embedding"][tokens]
    for weights in params["layers"]:
        scores = hidden @ hidden.swapaxes(1, 2) / WIDTH**0.5
        scores = jnp.where(there[None, None, :], scores, -1e9)
        hidden = hidden + jnp.tanh(jax.nn.softmax(scores) @ hidden @ weights)
    return (hidden * there[None, :, None]).sum(1) / length @ params["head"]


def loss_of(params, tokens, length, labels):
    logits = jax.nn.log_softmax(forward(params, tokens, length))
    return -logits[jnp.arange(len(labels)), labels].mean()


@jax.jit
def train(params, tokens, length, labels, rate):
    loss, grads = jax.value_and_grad(loss_of)(params, tokens, length, labels)
    return jax.tree.map(lambda p, g: p - rate * g, params, grads), loss


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
    for step, (tokens, length, labels) in enumerate(batches(STEPS)):
        params, loss = train(params, tokens, length, labels, rate)
        losses.append(loss)
        if step % 10 == 9:
            np.savez("/tmp/jax_training.npz", embedding=np.asarray(params["embedding"]))
            print(f"step {step + 1}: loss {np.mean(jax.device_get(losses[-10:])):.4f}")


if __name__ == "__main__":
    main()
