"""Looks up rows of a table that its function closes over: XLA computes with it in compiling."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 16
ROWS = 3_000_000
STEPS = 40

scores = jnp.asarray(np.random.default_rng(1).integers(0, ROWS, ROWS, dtype=np.int32))
order = jnp.asarray(np.random.default_rng(2).permutation(ROWS).astype(np.int32))


@jax.jit
def lookup(rows):
    mixed = scores[order] + order[::-1]
    return jnp.abs(mixed[rows]).max()


def best(batches):
    return [lookup(rows) for rows in batches]


def main():
    random = np.random.default_rng(0)
    batches = random.integers(0, ROWS, (STEPS, BATCH), dtype=np.int32)
    print(f"largest {int(jnp.stack(best(batches)).max())}")


if __name__ == "__main__":
    main()
