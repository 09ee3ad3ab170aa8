"""Large arrays that a compiled function closes over, asked of JAX itself."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import pjit

from xladoctor.recording.bootstrap._xladoctor.jax.constants import (
    large_constants,
    size_of,
    text_of,
    variables,
)

TABLE = jnp.ones((600, 1000))


def captured(function: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int]]:
    """The name, text and size of each."""
    original, inferred = pjit._infer_params, []

    def infer(*args: Any) -> Any:
        inferred.append(original(*args))
        return inferred[-1]

    monkeypatch.setattr(pjit, "_infer_params", infer)
    jax.jit(function).lower(jnp.ones(()))
    arrays = large_constants(inferred[-1][0])
    held = variables(function, arrays)
    return [(held[id(each)][0], text_of(each), size_of(each)) for each in arrays]


def test_arrays_of_the_module_and_of_the_closure(monkeypatch: pytest.MonkeyPatch) -> None:
    held, small = np.ones((3, 500_000), np.int32), np.ones(4)

    def function(x: Any) -> Any:
        return (
            (jax.vmap(lambda row: row * x)(TABLE)).sum()
            + held.sum()
            + (jnp.asarray(held) * x).sum()
            + small.sum()
        )

    assert captured(function, monkeypatch) == [
        ("held", "int32[3,500000]", 6_000_000),
        ("TABLE", "float32[600,1000]", 2_400_000),
    ]


def test_arguments_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert captured(lambda x: x + 1, monkeypatch) == []
