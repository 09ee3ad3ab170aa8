"""Which launch made an array, by arrays of JAX itself."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from xladoctor.recording.bootstrap._xladoctor.jax.origins import Origins

STEP, MEAN, LATE, NOW, OTHER = range(5)


def test_a_read_is_late_if_the_line_that_made_the_value_has_launched_again() -> None:
    launches: dict[int | None, int] = {STEP: 0, MEAN: 0}
    origins = Origins(jax.tree_util.tree_leaves, launches)
    before = jnp.zeros(())
    for number in range(10):
        out = {"params": [jnp.ones(2)] * 100, "loss": (jnp.full((), number), None)}
        launches[STEP] += 1
        origins.made(7 * number, STEP, out)
        origins.read(LATE, before)
        mean = before + 1.0  # launched now, so that it waits for what was launched before
        launches[MEAN] += 1
        origins.made(7 * number, MEAN, mean)
        origins.read(NOW, (mean, before))
        origins.made(7 * number + 1, MEAN, other := jnp.ones(2))  # in a step that is left out
        origins.read(OTHER, other)
        before = out["loss"][0]
    assert origins.reads == {LATE: [9, 9], NOW: [10, 0]}


def test_an_array_in_the_place_of_one_that_is_gone_is_another() -> None:
    origins = Origins(jax.tree_util.tree_leaves, {STEP: 2})
    old, new = jnp.zeros(3), jnp.zeros(3)
    origins.made(0, STEP, old)
    origins._made[id(new)] = origins._made.pop(id(old))
    origins.read(NOW, new)
    assert origins.reads == {}
