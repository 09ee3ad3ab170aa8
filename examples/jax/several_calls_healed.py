"""Trains an agent with blocks of steps that are one program."""

import jax
import jax.numpy as jnp

HIDDEN = 32
STEPS = 5000
BLOCK = 100


def split(key):
    key, chance = jax.random.split(key)
    return key, chance


def choose(params, state, chance):
    hidden = jnp.tanh(state @ params["in"])
    return jax.random.categorical(chance, hidden @ params["out"])


def move(state, action):
    """A step of a pole on a cart, which begins anew where the pole has fallen."""
    place, speed, angle, turn = state
    push = jnp.where(action == 1, 10.0, -10.0)
    bend = 9.8 * jnp.sin(angle) - jnp.cos(angle) * push / 1.1
    change = jnp.stack([speed, push / 1.1, turn, bend])
    fallen = (jnp.abs(place) > 2.4) | (jnp.abs(angle) > 0.21)
    return jnp.where(fallen, 0.0, state + 0.02 * change), jnp.where(fallen, -1.0, 0.1)


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


def step(carry, _):
    params, state, key = carry
    key, chance = split(key)
    action = choose(params, state, chance)
    after, reward = move(state, action)
    return (learn(params, state, action, reward), after, key), reward


@jax.jit
def block(carry):
    return jax.lax.scan(step, carry, None, length=BLOCK)


def train(params):
    carry = params, jnp.zeros(4), jax.random.key(1)
    for _ in range(STEPS // BLOCK):
        carry, rewards = block(carry)
    return carry[0], rewards.sum()


def main():
    _, total = train(start())
    print(f"reward of the last steps {float(total):.6g}")


if __name__ == "__main__":
    main()
