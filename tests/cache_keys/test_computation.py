# ruff: noqa: E501 - texts as they are printed
"""Where two graphs differ first, in texts as JAX 0.10 prints them."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.cache_keys.computation import Computation, Kind, first_difference

TEXT = """\
#loc1 = loc("w")
#loc2 = loc("x")
module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x64xf32> loc("w"), %arg1: tensor<8x64xf32> loc("x")) -> (tensor<64x64xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<3.000000e+00> : tensor<f32> loc(#loc12)
    %cst_0 = stablehlo.constant dense_resource<__elided__> : tensor<64x64xf32> loc(#loc12)
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32> loc(#loc17)
    %1 = stablehlo.tanh %0 : tensor<8x64xf32> loc(#loc18)
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x64xf32> loc(#loc19)
    %3 = stablehlo.add %1, %2 : tensor<8x64xf32> loc(#loc19)
    %4 = stablehlo.custom_call @callback(%3) {backend_config = "1234"} : (tensor<8x64xf32>) -> tensor<8x64xf32> loc(#loc20)
    return %arg0 : tensor<64x64xf32> loc(#loc12)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc3 = loc("/home/me/train.py":20:4 to :14)
#loc4 = loc("/home/me/train.py":10:13 to :18)
#loc5 = loc("/home/me/train.py":11:4 to :13)
#loc6 = loc("/venv/lib/python3.11/site-packages/jax/_src/numpy/ufuncs.py":800:9 to :30)
#loc7 = loc("<module>"(#loc3))
#loc8 = loc("step"(#loc4))
#loc9 = loc("step"(#loc5))
#loc10 = loc("add"(#loc6))
#loc11 = loc(callsite(#loc10 at #loc9))
#loc12 = loc("jit(step)"(#loc7))
#loc13 = loc(callsite(#loc8 at #loc7))
#loc14 = loc(callsite(#loc11 at #loc7))
#loc17 = loc("jit(step)/dot_general"(#loc13))
#loc18 = loc("jit(step)/tanh"(#loc13))
#loc19 = loc("jit(step)/add"(#loc14))
#loc20 = loc("jit(step)/callback"(#loc14))
// constant 0f0f0f0f0f0f0f0f
"""
UFUNCS = "/venv/lib/python3.11/site-packages/jax/_src/numpy/ufuncs.py"
ADDED = [(UFUNCS, 800), ("/home/me/train.py", 11), ("/home/me/train.py", 20)]
TANH = "    %1 = stablehlo.tanh %0 : tensor<8x64xf32> loc(#loc18)\n"
ADD = "    %3 = stablehlo.add %1, %2 : tensor<8x64xf32> loc(#loc19)\n"


@pytest.mark.parametrize(
    ("old", "new", "kind", "what", "places"),
    [
        ("dense<3.0", "dense<4.0", "constant", "stablehlo.constant", ADDED),
        (
            "constant 0f0f",
            "constant 1f1f",
            "constant",
            "stablehlo.constant",
            [("/home/me/train.py", 20)],
        ),
        ("%arg1: tensor<8x64xf32>", "%arg1: tensor<9x64xf32>", "argument", "x", []),
        (
            'tensor<8x64xf32> loc("x")',
            'tensor<8x64xf32> {jax.buffer_donor = true} loc("x")',
            "argument",
            "x",
            [],
        ),
        (
            '(tensor<64x64xf32> {jax.result_info = "result"})',
            "tensor<64x64xf32>",
            "result",
            "",
            None,
        ),
        (TANH + ADD, ADD + TANH, "order", "stablehlo.add", ADDED),
        ('"1234"', '"5678"', "kernel", "stablehlo.custom_call", ADDED),
        ("stablehlo.tanh", "stablehlo.exponential", "operation", "stablehlo.exponential", None),
        (TANH, "", "operation", "stablehlo.tanh", None),
        ("/home/me/train.py", "/srv/train.py", "metadata", "", None),
        ("train.py:20", "train.py:20", "unknown", "", None),
    ],
)
def test_what_differs_first(
    old: str, new: str, kind: Kind, what: str, places: list[tuple[str, int]] | None
) -> None:
    swapped = TEXT.replace(
        TANH + TEXT.split(TANH)[1].split(ADD, maxsplit=1)[0] + ADD,
        ADD + TEXT.split(TANH)[1].split(ADD, maxsplit=1)[0] + TANH,
    )
    changed = swapped if kind == "order" else TEXT.replace(old, new)

    found = first_difference(Computation(TEXT), Computation(changed))

    assert (found.kind, found.what) == (kind, what)
    if places is not None:
        assert list(found.places) == places


def test_an_argument_is_described_with_its_attributes() -> None:
    donated = TEXT.replace('loc("x"))', '{jax.buffer_donor = true} loc("x"))')
    found = first_difference(Computation(TEXT), Computation(donated))
    assert found.was == "tensor<8x64xf32>"
    assert found.now == "tensor<8x64xf32> jax.buffer_donor = true"


def test_an_operation_that_was_added_is_the_first_of_the_program() -> None:
    """What only declares something beside the program has no line, and is passed over."""
    mesh = "  sdy.mesh @mesh = <[], device_ids=[0]>\n  func.func"
    more = "    %9 = stablehlo.sine %1 : tensor<8x64xf32> loc(#loc19)\n"
    changed = TEXT.replace("  func.func", mesh).replace(ADD, more + ADD)

    found = first_difference(Computation(TEXT), Computation(changed))

    assert (found.kind, found.what, found.was) == ("operation", "stablehlo.sine", "")
    assert list(found.places) == ADDED


@given(st.text(), st.text())
def test_any_text_can_be_compared(was: str, now: str) -> None:
    found = first_difference(Computation(was), Computation(now))
    assert first_difference(Computation(now), Computation(now)).kind == "unknown"
    assert found.kind in get_args(Kind)


@given(st.data())
def test_damaged_texts_can_be_compared(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(TEXT)))
    put = data.draw(st.text(alphabet='%#loc(){}<>"= \n1', max_size=20))
    first_difference(Computation(TEXT), Computation(TEXT[:at] + put + TEXT[at + len(put) :]))
