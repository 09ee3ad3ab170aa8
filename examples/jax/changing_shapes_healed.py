"""Trains a small language model on batches that are padded to one length."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 16
VOCABULARY = 64
LONGEST = 60
STEPS = 40


def batches(steps):
    """Yield sentences of random tokens, padded to one length."""
    random = np.random.default_rng(0)
    for _ in range(steps):
        length = int(random.integers(20, 60))
        sentences = random.integers(1, VOCABULARY, size=(BATCH, length))
        yield np.pad(sentences, ((0, 0), (0, LONGEST - length)))


def loss_of(params, tokens):
    logits = params["embedding"][tokens[:, :-1]] @ params["out"]
    wanted = jax.nn.one_hot(tokens[:, 1:], VOCABULARY)
    known = (tokens[:, 1:] > 0)[..., None]
    return -jnp.sum(known * wanted * jax.nn.log_softmax(logits)) / jnp.sum(known)


@jax.jit
def step(params, tokens):
    loss, grads = jax.value_and_grad(loss_of)(params, tokens)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), loss


def start():
    first, second = jax.random.split(jax.random.key(0))
    return {
        "embedding": 0.1 * jax.random.normal(first, (VOCABULARY, 32)),
        "out": 0.1 * jax.random.normal(second, (32, VOCABULARY)),
    }


def train(params):
    for tokens in batches(STEPS):
        params, loss = step(params, tokens)
    return params, loss


def main():
    _, loss = train(start())
    print(f"final loss {float(loss):.9g}")


if __name__ == "__main__":
    main()
