"""The large arrays that a compiled function takes and returns."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import pjit

from xladoctor.recording.bootstrap._xladoctor.jax.call_arrays import call_arrays


def arrays(function: Any, *args: Any, monkeypatch: Any, **kwargs: Any) -> list[list[Any]]:
    """Of the call itself, not of those within it."""
    found: list[list[list[Any]]] = []
    infer = pjit._infer_params

    def seen(*what: Any) -> Any:
        result = infer(*what)
        found.append(call_arrays(result[0]))
        return result

    with monkeypatch.context() as patch:
        patch.setattr(pjit, "_infer_params", seen)
        function(*args, **kwargs)
    return found[-1]


def test_paths_shapes_and_what_is_donated(monkeypatch: Any) -> None:
    @partial(jax.jit, donate_argnums=0, static_argnums=2)
    def step(state: Any, batch: Any, times: int, *, rate: float) -> Any:
        return {"w": (state["w"] * times).astype(jnp.bfloat16)}, (batch * rate).sum()

    state = {"w": jnp.ones((512, 100)), "small": jnp.ones(8)}
    found = arrays(step, state, jnp.ones((400, 100)), 3, rate=2.0, monkeypatch=monkeypatch)
    assert found == [
        ["argument", 1, "state['w']", "float32[512,100]", 204_800, True],
        ["argument", 2, "batch", "float32[400,100]", 160_000, False],
        ["result", 0, "result[0]['w']", "bfloat16[512,100]", 102_400, False],
    ]


def test_nothing_of_small_arrays(monkeypatch: Any) -> None:
    step = jax.jit(lambda x: x + 1)
    assert arrays(step, jnp.ones(100), monkeypatch=monkeypatch) == []


def test_what_is_closed_over_in_another_trace_does_not_shift_numbers(monkeypatch: Any) -> None:
    inner = jax.jit(lambda x, y: x + y, donate_argnums=1)
    x = jnp.ones((512, 100))
    found = arrays(inner, x, x + 1, monkeypatch=monkeypatch)
    assert [each[5] for each in found] == [False, True, False]
