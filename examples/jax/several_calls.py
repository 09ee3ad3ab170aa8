"""Trains an agent with four compiled functions a step, each of which does next to nothing.

What a step takes is launching them.
"""

import jax
import jax.numpy as jnp

HIDDEN = 32
STEPS = 5000


@jax.jit
def split(key):
    key, chance = jax.random.split(key)
    return key, chance


@jax.jit
def choose(params, state, chance):
    hidden = jnp.tanh(state @ params["in"])
    return jax.random.categorical(chance, hidden @ params["out"])


@jax.jit
def move(state, action):
    """A step of a pole on a cart, which begins anew where the pole has fallen."""
    place, speed, angle, turn = state
    push = jnp.where(action == 1, 10.0, -10.0)
    bend = 9.8 * jnp.sin(angle) - jnp.cos(angle) * push / 1.1
    change = jnp.stack([speed, push / 1.1, turn, bend])
    fallen = (jnp.abs(place) > 2.4) | (jnp.abs(angle) > 0.21)
    return jnp.where(fallen, 0.0, state + 0.02 * change), jnp.where(fallen, -1.0, 0.1)


@jax.jit
def learn(params, state, action, reward):
    def loss_of(params):
        hidden = jnp.tanh(state @ params["in"])
        return -reward * jax.nn.log_softmax(hidden @ params["out"])[action]

    gradients = jax.grad(loss_of)(params)
    return jax.tree.map(lambda value, slope: value - 0.01 * slope, params, gradients)


def start():
    first, second = jax.random.split(jax.random.key(0))
    return {
        "in": jax.random.normal(first, (4, HIDDEN)),
        "out": 0.1 * jax.random.normal(second, (HIDDEN, 2)),
    }


def train(params):
    state, key, total = jnp.zeros(4), jax.random.key(1), []
    for _ in range(STEPS):
        key, chance = split(key)
        action = choose(params, state, chance)
        after, reward = move(state, action)
        params = learn(params, state, action, reward)
        state = after
        total.append(reward)
    return params, jnp.stack(total[-100:]).sum()


def main():
    _, total = train(start())
    print(f"reward of the last steps {float(total):.6g}")


if __name__ == "__main__":
    main()
