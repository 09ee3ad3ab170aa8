"""What a device must hold is found without a compiler, and never more than it will need."""

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

WIDE = jax.ShapeDtypeStruct((8192, 8192), jnp.bfloat16)  # 128 MiB


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
