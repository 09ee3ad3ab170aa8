"""Decodes with a state of 7,600 variables, as a large model has, which goes to each call."""

import jax
import jax.numpy as jnp
import numpy as np

LAYERS, PER_LAYER, WIDTH = 76, 100, 8


class Variable:
    def __init__(self, value, metadata):
        self.raw_value, self.metadata = value, metadata


def variable_flatten(variable):
    metadata = tuple(sorted(variable.metadata.items()))
    return (variable.raw_value,), metadata


def variable_unflatten(metadata, children):
    return Variable(children[0], dict(metadata))


jax.tree_util.register_pytree_node(Variable, variable_flatten, variable_unflatten)


def variable(rng):
    value = 0.1 * rng.normal(size=(1, WIDTH)).astype(np.float32)
    return Variable(value, {"sharding": None, "kind": "param"})


def make_state():
    rng = np.random.default_rng(0)
    return {
        "layers": {
            str(layer): {f"w{n}": variable(rng) for n in range(PER_LAYER)}
            for layer in range(LAYERS)
        }
    }


@jax.jit
def run_model(state, hidden, step):
    for layer in list(state["layers"])[:8]:
        weights = jnp.concatenate([v.raw_value for v in state["layers"][layer].values()])
        hidden = jnp.tanh(hidden + (weights.sum(0) * 0.01) + step)
    return hidden


def main():
    state = jax.device_put(make_state())
    hidden = jnp.zeros(WIDTH)
    for step in range(300):
        hidden = run_model(state, hidden, step)
    print(f"final sum {float(hidden.sum()):.6g}")


main()
