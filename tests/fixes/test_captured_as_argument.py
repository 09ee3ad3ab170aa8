"""Arrays of the module that become arguments of the compiled function that closes over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fixes.harness import case, expected, fixed, refusal
from xladoctor.fixes import registry
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Refused
from xladoctor.fixes.source import Source

KIND = "captured_as_argument"
CAUSE: dict[str, Any] = {"compiled": "score", "arguments": ["weights", "order"]}
HEAD = """
import functools
import jax
import jax.numpy as jnp
import numpy as np

order = jnp.arange(12_000_000)[::-1]
weights = jnp.stack([order, order + 1])
"""
BODY = """
def score(x):
    picked = jnp.take(weights, jnp.array([1, 0]), axis=0)
    return (picked[:, order] * x).sum()  #!
"""
DECORATED = f"{HEAD}\n@jax.jit{BODY}"
CALLED = "\nfor i in range(3):\n    print(score(float(i)))\n"


def within(*lines: str) -> str:
    """The program with lines before the function's return."""
    more = "".join(f"    {line}\n" for line in lines)
    return DECORATED.replace("    return", f"{more}    return") + CALLED


def indexed(by: str) -> str:
    """The program with another index."""
    return DECORATED.replace("[:, order]", f"[:, {by}]") + CALLED


def refused(text: str, **cause: Any) -> str:
    return refusal(KIND, text, "jax", **{**CAUSE, **cause})


def test_the_definition_and_each_call_get_them() -> None:
    text = f"{DECORATED}\n\ndef main():\n    return score(1.0) + score(\n        2.0,\n    )\n"
    assert fixed(KIND, text, "jax", **CAUSE) == expected(
        DECORATED.replace("score(x)", "score(x, weights, order)").replace("  #!", "")
        + "\n\ndef main():\n    return score(1.0, weights, order) + score(\n"
        "        2.0, weights, order,\n    )\n"
    )


@pytest.mark.parametrize(
    "settings",
    ["static_argnums=(1,)", "static_argnames=('n',)", "donate_argnums=0, static_argnums=[1]"],
)
def test_settings_that_count_from_the_first_argument_stay(settings: str) -> None:
    text = f"{HEAD}\n@functools.partial(jax.jit, {settings})" + BODY.replace("(x)", "(x, n)")
    after = fixed(KIND, f"{text}\nprint(score(1.0, 2))\n", "jax", **CAUSE)
    assert "def score(x, n, weights, order):" in after
    assert "print(score(1.0, 2, weights, order))" in after


def test_a_function_that_is_compiled_by_a_call() -> None:
    text = f"{HEAD}\n{BODY}\ncompiled = jax.jit(score)\nprint(compiled(1.0))\n"
    after = fixed(KIND, text, "jax", **CAUSE)
    assert "def score(x, weights, order):" in after
    assert "print(compiled(1.0, weights, order))" in after


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{HEAD}\ndef main():\n    @jax.jit\n    def score(x):\n        return weights * x  #!\n",
         "score is not a function of this file's module"),
        (f"{DECORATED}\nprint(jax.grad(score)(1.0))",
         "line 14 uses `score` otherwise than in a call"),
        (f"{DECORATED}\nprint(score.lower(1.0))", "line 14 uses `score` otherwise than in a call"),
        (DECORATED, "this file does not call `score`"),
        (f"{DECORATED}\nweights = weights * 2\nscore(1.0)",
         "`weights` may hold something else after the first call"),
        (f"{DECORATED}\nscore(x=1.0)", "it is called with * or with names of arguments"),
        (f"{DECORATED}\ndef main(weights):\n    return score(1.0)",
         "`weights` means something else at the call in line 15"),
        (f"{HEAD}\n@functools.partial(jax.jit, static_argnums=-1){BODY}{CALLED}",
         "`static_argnums=-1` may mean another argument then"),
        (f"{HEAD}\n@functools.partial(jax.jit, in_shardings=None){BODY}{CALLED}",
         "it is compiled with `in_shardings`, which may be about all arguments"),
        (f"{HEAD}\n@jax.jit{BODY.replace('(x)', '(x, scale=1.0)')}{CALLED}",
         "its arguments have defaults"),
        (f"{HEAD}\n@jax.jit{BODY.replace('(x)', '(*x)')}{CALLED}",
         "it takes any number of arguments"),
        (f"{HEAD}\n@jax.jit\n@jax.vmap{BODY}{CALLED}",
         "`score` is not compiled in exactly one place of this file, and that alone"),
        (f"{HEAD}\n{BODY}\ncompiled = jax.jit(score)\nprint(compiled(1.0), score(1.0))",
         "`score` is used without being compiled, too"),
        (f"{DECORATED.replace('jnp.arange', 'np.arange')}{CALLED}",
         "`order` may be no array of JAX, which each call would send to the device again"),
        (indexed("int(order[0])"),
         "line 12 may need its values while JAX traces: `int(order[0])`"),
        (indexed("rows(order)"),
         "line 12 may need its values while JAX traces: `rows(order)`"),
        (within("if order[0] > 1: x = x + 1"),
         "line 12 may need its values while JAX traces: `order[0] > 1`"),
        (indexed("helper()"),
         "`order` is not read in `score` itself, but in what it calls"),
        (within("n = order[0] + 1", "x = jnp.zeros(n)"),
         "line 13 may need its values while JAX traces: `jnp.zeros(n)`"),
    ],
)  # fmt: skip
def test_what_is_left_alone(text: str, reason: str) -> None:
    assert refused(text) == reason


def test_unnamed_arrays_and_other_frameworks_are_left_alone() -> None:
    assert refused(DECORATED, arguments=None) == "it is not known which variables hold the arrays"
    with pytest.raises(Refused, match="only JAX"):
        fixed(KIND, DECORATED, "torch_xla", **CAUSE)


def test_a_function_that_another_file_imports(tmp_path: Path) -> None:
    given = case(DECORATED + CALLED, "jax", **CAUSE)
    file = tmp_path / "train.py"
    (tmp_path / "other.py").write_text("from train import score\nprint(score(2.0))\n")
    there = Case(given.finding, Source(file, given.source.text), "jax", given.others)
    with pytest.raises(Refused, match=r"other\.py may call `score`, too"):
        registry.kind(KIND)(there)
    (tmp_path / "other.py").write_text("from train import order\n")
    assert registry.kind(KIND)(there).edits
