"""Which values a function of JAX divides twice for nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from xladoctor.recording.bootstrap._xladoctor.jax.assignments import Place
from xladoctor.recording.bootstrap._xladoctor.jax.divisions import redivided

jax = pytest.importorskip("jax")
jnp, lax, sharding = jax.numpy, jax.lax, jax.sharding
P = sharding.PartitionSpec
VALUE = jax.ShapeDtypeStruct((1024, 512), "float32")
WEIGHTS = jax.ShapeDtypeStruct((512, 256), "float32")


def found(function: Callable[..., Any], *arguments: Any, kind: str = "Auto") -> list[list[str]]:
    """What it divides twice: how it is divided first, then, and at last."""
    types = (getattr(sharding.AxisType, kind),) * 2
    with sharding.use_abstract_mesh(sharding.AbstractMesh((4, 2), ("data", "model"), types)):
        traced = jax.jit(function).trace(*arguments).jaxpr
    return [
        [each.text for each in (value.first, value.then, value.last) if each]
        for value in redivided(traced, lambda traceback: Place(str(traceback), 1, ""))
    ]


def divide(value: Any, *spec: Any) -> Any:
    return lax.with_sharding_constraint(value, P(*spec))


def test_a_bias_is_element_wise() -> None:
    def there_and_back(value: Any, bias: Any) -> Any:
        moved = divide(divide(value, "data", "model"), "model", "data")
        return divide(jax.nn.gelu(moved + bias), "data", "model")

    assert found(there_and_back, VALUE, jax.ShapeDtypeStruct((512,), "float32")) == [
        ["('data', 'model')", "('model', 'data')", "('data', 'model')"]
    ]


@pytest.mark.parametrize("needed", [False, True])
def test_what_a_product_needs_is_not_undone_for_nothing(needed: bool) -> None:
    def gathered(value: Any, weights: Any) -> Any:
        whole = divide(divide(value, "data", "model"), "data", None)
        back = divide(jnp.tanh(whole), "data", "model")
        return back.sum() + (whole @ weights).sum() * needed if needed else back.sum()

    expected = [["('data', 'model')", "('data', None)", "('data', 'model')"]]
    assert found(gathered, VALUE, WEIGHTS) == ([] if needed else expected)


def test_explicit_axes_tell_the_first_division() -> None:
    def gathered(value: Any) -> Any:
        whole = jax.reshard(value, P("data", None))
        return jax.reshard(jnp.tanh(whole), P("data", "model"))

    def moved_once(value: Any) -> Any:
        return jax.reshard(value, P("model", "data")).sum()

    mesh = sharding.AbstractMesh((4, 2), ("data", "model"), (sharding.AxisType.Explicit,) * 2)
    placed = sharding.NamedSharding(mesh, P("data", "model"))
    value = jax.ShapeDtypeStruct(VALUE.shape, VALUE.dtype, sharding=placed)
    expected = [["('data', 'model')", "('data', None)", "('data', 'model')"]]
    assert found(gathered, value, kind="Explicit") == expected
    assert found(moved_once, value, kind="Explicit") == []
