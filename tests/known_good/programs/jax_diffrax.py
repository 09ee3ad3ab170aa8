"""Diffrax: a neural differential equation fitted to spirals, first to their beginnings."""

import time

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import optax

SIZE, LENGTH, BATCH, PRINT_EVERY = 256, 40, 32, 50


class Field(eqx.Module):
    layers: eqx.nn.MLP

    def __call__(self, time, state, args):
        return self.layers(state)


class NeuralODE(eqx.Module):
    field: Field

    def __call__(self, times, start):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(self.field), diffrax.Tsit5(), times[0], times[-1], times[1] - times[0],
            start, stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6),
            saveat=diffrax.SaveAt(ts=times),
        )  # fmt: skip
        return solution.ys


def spirals(times, key):
    start = jax.random.uniform(key, (SIZE, 2), minval=-0.6, maxval=1.0)
    radius, angle = jnp.hypot(*start.T)[:, None], jnp.arctan2(*start.T)[:, None]
    turned = angle + 2 * times
    decay = radius * jnp.exp(-0.2 * times)
    return jnp.stack([decay * jnp.sin(turned), decay * jnp.cos(turned)], axis=-1)


def batches(data, key):
    while True:
        key, now = jax.random.split(key)
        order = jax.random.permutation(now, len(data))
        for begin in range(0, len(data) - BATCH + 1, BATCH):
            yield data[order[begin : begin + BATCH]]


@eqx.filter_value_and_grad
def loss_of(model, times, batch):
    return jnp.mean((jax.vmap(model, in_axes=(None, 0))(times, batch[:, 0]) - batch) ** 2)


def main():
    first, second, third = jax.random.split(jax.random.key(0), 3)
    times = jnp.linspace(0.0, 4.0, LENGTH)
    data = jax.jit(spirals)(times, first)
    model = NeuralODE(Field(eqx.nn.MLP(2, 2, 32, 2, jax.nn.softplus, key=second)))

    for rate, steps, part in ((3e-3, 150, 0.25), (3e-3, 150, 1.0)):
        optimizer = optax.adabelief(rate)
        state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

        @eqx.filter_jit
        def make_step(model, state, times, batch, optimizer=optimizer):
            loss, gradients = loss_of(model, times, batch)
            updates, state = optimizer.update(gradients, state)
            return loss, eqx.apply_updates(model, updates), state

        shown, begin = slice(int(LENGTH * part)), time.time()
        for step, batch in zip(range(steps), batches(data, third), strict=False):
            loss, model, state = make_step(model, state, times[shown], batch[:, shown])
            if step % PRINT_EVERY == 0 or step == steps - 1:
                print(f"step {step}, loss {loss:.4f}, {time.time() - begin:.1f} s")
                begin = time.time()


if __name__ == "__main__":
    main()
