"""What a device must hold is found without a compiler, and never more than it will need.

The graphs with loops were compiled for a v5p, too, by libtpu 0.0.50.1; ``planned`` is its peak.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.interpreters import mlir
from jaxlib.mlir import ir

from xladoctor.tpu_check.compiler import child

GIB = 1 << 30
WIDE = jax.ShapeDtypeStruct((8192, 8192), jnp.bfloat16)  # 128 MiB
LAYERS = jax.ShapeDtypeStruct((16, 8192, 8192), jnp.bfloat16)  # 2 GiB
Step = Callable[[Any, Any], tuple[Any, Any]]


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(child.__path__[0])
    return importlib.import_module("xladoctor_bound")


def least(bound: ModuleType, text: str, partitions: int = 1) -> dict[str, Any]:
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        found: dict[str, Any] = bound.least(module, text, partitions)
    return found


def lowered(function: Callable[..., Any], *arrays: Any, **options: Any) -> str:
    return str(jax.jit(function, **options).lower(*arrays).as_text(debug_info=True))


def stacking(step: Step) -> Callable[[Any, Any], Any]:
    """Sums of what a scan stacks."""

    def function(x: Any, weights: Any) -> Any:
        last, stacked = jax.lax.scan(step, x, weights)
        sums = [jnp.sum(each * each, dtype=jnp.float32) for each in jax.tree.leaves(stacked)]
        return last.sum(), sums

    return function


def next_of(h: Any, w: Any) -> Any:
    return jnp.tanh(h @ w)


@pytest.mark.parametrize(
    ("step", "stacked", "planned"),
    [
        pytest.param(lambda h, w: (next_of(h, w), h), 1.75, 4.375, id="activations"),
        pytest.param(
            lambda h, w: (next_of(h, w), (h, h + 0, h.astype(jnp.float32).astype(h.dtype))),
            1.75,
            4.375,
            id="the same three times",
        ),
        pytest.param(
            lambda h, w: (next_of(h, w), h.astype(jnp.float32)), 1.75, 6.375, id="wider than it is"
        ),
        pytest.param(lambda h, w: (next_of(h, w), h > 0), 0.75, 3.375, id="a mask"),
        pytest.param(lambda h, w: (next_of(h, w), w), 0, 2.375, id="what it was given"),
        pytest.param(
            lambda h, w: (next_of(h, w), jnp.broadcast_to(h.sum(), h.shape)), 0, 4.375, id="a sum"
        ),
    ],
)
def test_what_a_loop_stacks(bound: ModuleType, step: Step, stacked: float, planned: float) -> None:
    found = least(bound, lowered(stacking(step), WIDE, LAYERS))

    assert found.get("carried", 0) == stacked * GIB
    assert found["arguments"] == 2.125 * GIB
    assert found["bytes"] <= planned * GIB
    assert found.get("line", "test_bound.py").startswith("test_bound.py")


def test_what_nobody_needs_afterwards_is_not_counted(bound: ModuleType) -> None:
    def last(x: Any, weights: Any) -> Any:
        return jax.lax.scan(lambda h, w: (next_of(h, w), h), x, weights)[0]

    assert "carried" not in least(bound, lowered(last, WIDE, LAYERS))


@pytest.mark.parametrize(("donated", "arguments"), [((), 2.125), ((1,), 0.125)])
def test_donated_arguments_count_where_they_are_needed_later(
    bound: ModuleType, donated: tuple[int, ...], arguments: float
) -> None:
    """The weights are a loop's inputs; where they are updated afterwards, they exist at its end."""

    def used(x: Any, weights: Any) -> Any:
        last, (before, products) = jax.lax.scan(
            lambda h, w: (next_of(h, w), (h, h @ w)), x, weights
        )
        return before * 2 + products, last

    def updated(x: Any, weights: Any) -> Any:
        stacked, last = used(x, weights)
        return weights * 0.9 + last, stacked.sum()

    found = least(bound, lowered(used, WIDE, LAYERS, donate_argnums=donated))
    assert found["arguments"] == arguments * GIB
    later = least(bound, lowered(updated, WIDE, LAYERS, donate_argnums=donated))
    assert later["arguments"] == 2.125 * GIB


def test_results_take_the_place_of_donated_arguments(bound: ModuleType) -> None:
    def double(x: Any) -> Any:
        return x * 2, x.sum()

    kept = least(bound, lowered(double, WIDE))
    reused = least(bound, lowered(double, WIDE, donate_argnums=0))
    assert (kept["results"], reused["results"]) == (WIDE.size * 2 + 2, 2)


@pytest.mark.parametrize(
    ("sharding", "held"),
    [
        ('mhlo.sharding = "{devices=[4,1]<=[4]}"', 2 * 8),
        ('mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"', 3 * 8),
        ('mhlo.sharding = "{replicated}"', 6 * 8),
        ('mhlo.sharding = "{manual}"', 6 * 8 // 4),
        ('sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>', 3 * 8),
        ('sdy.sharding = #sdy.sharding<@mesh, [{}, {"data", "model"}]>', 6 * 2),
        ("sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>", 6 * 8),
        ("sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>", 6 * 8 // 4),
        ('mhlo.memory_kind = "pinned_host"', 0),
        ("", 6 * 8 // 4),
    ],
)
def test_arguments_are_divided_as_they_say(bound: ModuleType, sharding: str, held: int) -> None:
    text = f"""module {{
      sdy.mesh @mesh = <["data"=2, "model"=2]>
      func.func public @main(%a: tensor<6x8xf32> {{{sharding}}}) {{
        return
      }}
    }}"""
    assert least(bound, text, 4)["arguments"] == held * 4
