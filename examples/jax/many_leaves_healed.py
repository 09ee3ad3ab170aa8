"""Decodes with a model that is taken apart once, before the loop."""

import jax
import jax.numpy as jnp
import numpy as np

LAYERS = 500
WIDTH = 16
STEPS = 1500


class Weight:
    """An array with a name, as libraries of layers have it."""

    def __init__(self, value, name):
        self.value = value
        self.name = name


jax.tree_util.register_pytree_node(
    Weight, lambda weight: ((weight.value,), weight.name), lambda name, value: Weight(*value, name)
)


def make_model():
    """Two weights for each layer."""
    weights = 0.1 * np.random.default_rng(0).normal(size=(LAYERS, 2, 1, WIDTH))
    return [
        {"scale": Weight(scale, "scale"), "shift": Weight(shift, "shift")}
        for scale, shift in weights.astype(np.float32)
    ]


def apply(model, state):
    scales = jnp.concatenate([layer["scale"].value for layer in model])
    shifts = jnp.concatenate([layer["shift"].value for layer in model])

    def layer(state, weights):
        scale, shift = weights
        return jnp.tanh(state * (1 + scale) + shift), None

    return jax.lax.scan(layer, state, (scales, shifts))[0]


def decode(model):
    leaves, tree = jax.tree.flatten(model)
    leaves = tuple(leaves)

    @jax.jit
    def step(leaves, state):
        return apply(jax.tree.unflatten(tree, leaves), state)

    state = jnp.ones(WIDTH)
    for _ in range(STEPS):
        state = step(leaves, state)
    return state


def main():
    model = jax.device_put(make_model())
    print(f"final sum {float(decode(model).sum()):.9g}")


if __name__ == "__main__":
    main()
