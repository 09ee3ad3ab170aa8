"""JAX programs of four kinds, which time their own steps; `capture_overhead --frontend jax` runs
them in pairs.

    python -m benchmarks.jax_programs KIND STEPS
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import timed_loop

State = list[jax.Array]
_compiled: list[str] = []


def half(steps: int) -> Iterator[jax.Array]:
    """Steps of half a millisecond, one launch each: what the capture adds shows most."""
    yield from _trained(steps, 3, 128, 96)


def milli(steps: int) -> Iterator[jax.Array]:
    """Steps of about one millisecond."""
    yield from _trained(steps, 4, 192, 128)


def reading(steps: int) -> Iterator[jax.Array]:
    """Small steps, the loss of each read with `float()`."""
    for loss in _trained(steps, 3, 128, 96):
        yield loss
        float(loss)


def eager(steps: int) -> Iterator[jax.Array]:
    """A compiled gradient, and an update of sixteen operations launched one by one."""
    state = _state(4, 128)
    gradient = jax.jit(jax.grad(_loss))
    for _ in range(steps):
        gradients = gradient(state, jnp.ones((64, 128)))
        state = [value - 1e-3 * change for value, change in zip(state, gradients, strict=True)]
        yield state[0].sum()


def _state(layers: int, width: int) -> State:
    rng = np.random.default_rng(0)
    return [
        jnp.asarray(rng.standard_normal((width, width)) * 0.05, jnp.float32) for _ in range(layers)
    ]


def _loss(state: State, inputs: jax.Array) -> jax.Array:
    for weight in state:
        inputs = jnp.tanh(inputs @ weight)
    return (inputs**2).mean()


def _step(state: State, inputs: jax.Array) -> tuple[State, jax.Array]:
    loss, gradients = jax.value_and_grad(_loss)(state, inputs)
    return [value - 1e-3 * change for value, change in zip(state, gradients, strict=True)], loss


def _trained(steps: int, layers: int, width: int, batch: int) -> Iterator[jax.Array]:
    state = _state(layers, width)
    inputs = np.random.default_rng(1).standard_normal((batch, width)).astype(np.float32)
    step = jax.jit(_step)
    for _ in range(steps):
        state, loss = step(state, inputs)
        loss.block_until_ready()
        yield loss


KINDS: dict[str, Callable[[int], Iterator[jax.Array]]] = {
    kind.__name__: kind for kind in (half, milli, reading, eager)
}


def _last(loss: Any) -> dict[str, Any]:
    return {"same": {"loss": float(loss), "compiled": len(_compiled)}, "graph": ""}


def main(kind: str, steps: int) -> None:
    """Run the loop and print what it took."""
    os.setpgid(0, 0)
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: _compiled.append(event) if "backend_compile" in event else None
    )
    jax.devices()
    timed_loop.run(timed_loop.start(), KINDS[kind](steps), _last)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
