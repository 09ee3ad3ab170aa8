"""Simulates pendulums: a Python loop in the compiled function is unrolled into 1,500 turns."""

import jax
import jax.numpy as jnp
import numpy as np

PENDULUMS = 64
TURNS = 1500
STEPS = 30
PACE = 1e-3


@jax.jit
def swing(angles, speeds):
    for _ in range(TURNS):
        speeds = speeds - PACE * jnp.sin(angles)
        angles = angles + PACE * speeds
    return angles, speeds


def simulate(angles, speeds):
    for _ in range(STEPS):
        angles, speeds = swing(angles, speeds)
    return angles


def main():
    angles = np.random.default_rng(0).normal(size=PENDULUMS).astype(np.float32)
    last = simulate(jnp.asarray(angles), jnp.zeros(PENDULUMS))
    print(f"highest {float(jnp.abs(last).max()):.2f}")


if __name__ == "__main__":
    main()
