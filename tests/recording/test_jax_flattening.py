"""What a call of JAX takes to flatten its arguments is timed beside it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from xladoctor.recording.bootstrap._xladoctor.jax.flattening import flattening

WHERE = {"thread": 1, "site": 7}


class Weight:
    """An array of a registered class."""

    def __init__(self, value: Any) -> None:
        self.value = value


jax.tree_util.register_pytree_node(
    Weight, lambda weight: ((weight.value,), None), lambda _, values: Weight(*values)
)
MANY = {f"w{number}": Weight(np.float32(number)) for number in range(3000)}


def timed(function: Any, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
    found = flattening(jax.tree_util, function, args, kwargs, WHERE)
    return None if found is None else vars(found)


def test_objects_take_longer_than_their_arrays_in_a_tuple() -> None:
    found = timed(jax.jit(lambda x, model: x), np.float32(1), MANY)
    assert found is not None
    assert found["duration_ns"] > 2 * found["plain_ns"] > 0
    expected = {"leaves": 3001, "argument": "model", "argument_leaves": 3000, "node": "Weight"}
    assert {**expected, **WHERE}.items() <= found.items()


def test_arrays_in_a_tuple_have_no_class() -> None:
    found = timed(jax.jit(lambda model: model), tuple(range(9000)))
    assert found is not None
    assert (found["node"], found["leaves"]) == (None, 9000)
    assert found["plain_ns"] / 3 < found["duration_ns"] < found["plain_ns"] * 3


@pytest.mark.parametrize("static", [{"static_argnums": 1}, {"static_argnums": -1}])
def test_static_argument_is_not_flattened(static: dict[str, Any]) -> None:
    assert timed(jax.jit(lambda x, model: x, **static), 1.0, tuple(range(9000))) is None


def test_argument_by_name_is_flattened_unless_it_is_static() -> None:
    found = timed(jax.jit(lambda x, model: x), 1.0, model=MANY)
    assert found is not None
    assert found["argument"] == "model"
    assert timed(jax.jit(lambda x, model: x, static_argnames="model"), 1.0, model=MANY) is None


def test_few_leaves_are_not_worth_a_row() -> None:
    assert timed(jax.jit(lambda x: x), {"a": 1.0}) is None


def test_other_callables_are_left_alone() -> None:
    assert timed(lambda x: x, MANY) is None
