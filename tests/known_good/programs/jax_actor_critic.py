"""Reinforcement learning wholly on the device: environment, rollout and update in one program."""

import jax
import jax.numpy as jnp
import optax

ENVIRONMENTS, HORIZON, UPDATES, LOG_EVERY = 64, 32, 60, 20


def reset(key):
    """A pole that nearly stands: position and speed of cart and pole."""
    return jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)


def act(key, state, action):
    """A step of the cart, which begins anew where the pole has fallen."""
    _, speed, angle, turn = state
    push = jnp.where(action == 1, 10.0, -10.0)
    thrust = (push + 0.05 * turn**2 * jnp.sin(angle)) / 1.1
    bend = (9.8 * jnp.sin(angle) - jnp.cos(angle) * thrust) / (
        0.5 * (4 / 3 - 0.1 * jnp.cos(angle) ** 2 / 1.1)
    )
    gain = thrust - 0.05 * bend * jnp.cos(angle) / 1.1
    state = state + 0.02 * jnp.stack([speed, gain, turn, bend])
    done = (jnp.abs(state[0]) > 2.4) | (jnp.abs(state[2]) > 0.21)
    return jnp.where(done, reset(key), state), done


def init(key):
    first, second, third = jax.random.split(key, 3)
    return {"in": jax.random.normal(first, (4, 64)) * 0.5,
            "actor": jax.random.normal(second, (64, 2)) * 0.01,
            "critic": jax.random.normal(third, (64,)) * 0.1}  # fmt: skip


def policy(params, states):
    hidden = jnp.tanh(states @ params["in"])
    return hidden @ params["actor"], hidden @ params["critic"]


def make_update(optimizer):
    def rollout(params, states, key):
        def step(states, key):
            choose, renew = jax.random.split(key)
            actions = jax.random.categorical(choose, policy(params, states)[0])
            after, done = jax.vmap(act)(jax.random.split(renew, ENVIRONMENTS), states, actions)
            return after, (states, actions, done)

        return jax.lax.scan(step, states, jax.random.split(key, HORIZON))

    def returns(last, done):
        def back(value, done):
            value = 1.0 + 0.99 * value * (1.0 - done)
            return value, value

        return jax.lax.scan(back, last, done.astype(jnp.float32), reverse=True)[1]

    def loss_of(params, states, actions, targets):
        logits, values = policy(params, states)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], -1)[..., 0]
        advantage = jax.lax.stop_gradient(targets - values)
        return jnp.mean(0.5 * (targets - values) ** 2 - chosen * advantage)

    def update(carry, _):
        params, moments, states, key = carry
        key, now = jax.random.split(key)
        states, (seen, actions, done) = rollout(params, states, now)
        targets = returns(policy(params, states)[1], done)
        gradients = jax.grad(loss_of)(params, seen, actions, targets)
        changes, moments = optimizer.update(gradients, moments)
        return (optax.apply_updates(params, changes), moments, states, key), done.mean()

    return jax.jit(lambda carry: jax.lax.scan(update, carry, None, length=4), donate_argnums=0)


def main():
    key, first, second = jax.random.split(jax.random.key(0), 3)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(3e-3))
    params = jax.jit(init)(first)
    states = jax.jit(jax.vmap(reset))(jax.random.split(second, ENVIRONMENTS))
    carry, update = (params, optimizer.init(params), states, key), make_update(optimizer)
    for number in range(UPDATES):
        carry, fallen = update(carry)
        if (number + 1) % LOG_EVERY == 0:
            print(number + 1, f"a pole stands for {1 / fallen.mean():.0f} steps")


if __name__ == "__main__":
    main()
