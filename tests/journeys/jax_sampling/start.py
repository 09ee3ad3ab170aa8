"""Samples text from a small recurrent model, as it was with NumPy: a list grows token by token."""

import jax
import jax.numpy as jnp
import numpy as np

VOCABULARY = 96
WIDTH = 64
BATCH = 8
LENGTH = 48
WINDOW = 4


def parameters():
    rng = np.random.default_rng(0)
    return {
        "embedding": jnp.asarray(rng.standard_normal((VOCABULARY, WIDTH), np.float32)),
        "query": jnp.asarray(rng.standard_normal((WIDTH, WIDTH), np.float32) / 8),
        "value": jnp.asarray(rng.standard_normal((WIDTH, WIDTH), np.float32) / 8),
        "head": jnp.asarray(rng.standard_normal((WIDTH, VOCABULARY), np.float32) / 4),
    }


@jax.jit
def logits_of(params, tokens):
    hidden = params["embedding"][tokens]
    scores = (hidden[:, -1:] @ params["query"]) @ hidden.swapaxes(1, 2) / WIDTH**0.5
    mixed = jax.nn.softmax(scores) @ hidden @ params["value"]
    return (hidden[:, -1:] + jnp.tanh(mixed))[:, 0] @ params["head"]


def sample(params, seed):
    rng = np.random.default_rng(seed)
    sequences = [[int(token)] for token in rng.integers(0, VOCABULARY, BATCH)]
    surprise = 0.0
    for step in range(LENGTH):
        logits = logits_of(params, jnp.array(sequences))
        if step >= WINDOW:
            for row in range(BATCH):
                for token in sequences[row][-WINDOW:]:
                    logits = logits.at[row, token].add(-2.0)
        noise = rng.gumbel(size=logits.shape).astype(np.float32)
        chosen = np.argmax(np.asarray(logits) + noise, 1)
        surprise -= float(jax.nn.log_softmax(logits)[jnp.arange(BATCH), chosen].mean())
        for row, token in zip(sequences, chosen, strict=True):
            row.append(int(token))
        print(f"token {step + 1}: {surprise / (step + 1):.3f}", end="\r")
    return sequences, surprise / LENGTH


def main():
    params = parameters()
    for seed in range(3):
        sequences, surprise = sample(params, seed)
        print(f"sample {seed}: {np.sum(sequences)} in all, surprise {surprise:.3f}")


if __name__ == "__main__":
    main()
