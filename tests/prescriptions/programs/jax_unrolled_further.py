"""Refines a guess with one more iteration in each step, as a Python loop to a static bound."""

from functools import partial

import jax
import jax.numpy as jnp

SIZE = 48
STEPS = 16


def body(guess, matrix):
    return jnp.tanh(matrix @ guess) + 0.1 * guess


@partial(jax.jit, static_argnames="turns")
def refine(guess, matrix, turns):
    for _ in range(turns):
        guess = body(guess, matrix)
    return guess


def main():
    matrix = jax.random.normal(jax.random.key(0), (SIZE, SIZE)) / SIZE**0.5
    start = jnp.ones(SIZE)
    for turns in range(1, STEPS + 1):
        guess = refine(start, matrix, turns)
    print(f"norm {float(jnp.linalg.norm(guess)):.5g}")


if __name__ == "__main__":
    main()
