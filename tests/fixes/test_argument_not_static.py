from __future__ import annotations

from typing import Any

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "argument_not_static"
CAUSE: dict[str, Any] = {"argument": "n", "compiled": "step", "was": "1", "now": "2"}


def test_the_decorator_and_the_import_are_what_is_left() -> None:
    assert fixed(
        KIND,
        """
        import random

        from functools import partial

        import jax

        @partial(jax.jit, static_argnames="n")
        def step(params, x, n):
            rate = 0.05 / (1 + n / 60)
            return jax.tree.map(lambda p: p - rate * x, params)

        for n in range(9):
            params = step(params, x, n)  #!
        """,
        "jax",
        **CAUSE,
    ) == expected(
        """
        import random

        import jax

        @jax.jit
        def step(params, x, n):
            rate = 0.05 / (1 + n / 60)
            return jax.tree.map(lambda p: p - rate * x, params)

        for n in range(9):
            params = step(params, x, n)
        """
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('@partial(jax.jit, static_argnames=("n",))', "@jax.jit"),
        ('@partial(jax.jit, static_argnames=["n", "m"])', '@partial(jax.jit, static_argnames="m")'),
        (
            '@partial(jax.jit, static_argnames=("n", "m", "k"))',
            '@partial(jax.jit, static_argnames=("m", "k"))',
        ),
        (
            "@partial(jax.jit, static_argnames=('n', 'm'))",
            '@partial(jax.jit, static_argnames=("m",))',
        ),
        ("@partial(jax.jit, static_argnums=1)", "@jax.jit"),
        (
            "@partial(jax.jit, static_argnums=(1,), donate_argnums=0)",
            "@partial(jax.jit, donate_argnums=0)",
        ),
        ("@jax.jit(static_argnames='n')", "@jax.jit"),
        ("@j(static_argnums=[1])", "@j"),
    ],
)
def test_other_ways_to_say_it(before: str, after: str) -> None:
    head = "from functools import partial\nimport jax\nfrom jax import jit as j\nuse(partial)\n"
    text = head + before + "\ndef step(x, n, m=0, k=0):\n    return x * n\n\ny = step(x, 3)  #!"
    lines = fixed(KIND, text, "jax", **CAUSE).splitlines()
    assert lines[4] == after


def test_a_function_that_is_compiled_by_a_call() -> None:
    head = "import jax\ndef step(x, n):\n    return x ** n\n"
    text = f"{head}f = jax.jit(step, static_argnums=1)\nf(x, 2)  #!"
    assert "f = jax.jit(step)\n" in fixed(KIND, text, "jax", **CAUSE)


@pytest.mark.parametrize(
    "body",
    [
        "if n > 3:\n        x = 2 * x\n    return x",
        "return x if n else -x",
        "while n:\n        break\n    return x",
        "for _ in range(n):\n        x = 2 * x\n    return x",
        "return x.reshape(n, -1)",
        "return jnp.zeros(n) + x",
        "return x[:n]",
        "return x[n]",
        "return x.sum(axis=n)",
        "return x * 2**n",
        "m = n + 1\n    return x.reshape(m)",
        "m, k = n, 2\n    return x * m",
        "n = n + 1\n    return x * n",
        "n += 1\n    return x * n",
        "return other(x, n)",
        "return x * len(f'{n}')",
        "assert n\n    return x",
        "return jnp.where(n > 2, x, 0)",
        "return [x * k for k in range(n)]",
        "return x * TABLE[n]",
        "return (lambda n: x * n)(3) * n",
        "return x * (n % 2 == 0)",
        "return x * (not n)",
        "return jnp.sum(x, n)",
        "return jnp.clip(x, *n)",
        "return jnp.where(x > 0, x=n)",
        "return x * (k := n)",
    ],
)
def test_uses_that_need_its_value_are_refused(body: str) -> None:
    head = "from functools import partial\nimport jax\nimport jax.numpy as jnp\n"
    text = (
        f"{head}@partial(jax.jit, static_argnames='n')\ndef step(x, n):\n    {body}\nstep(x, 1)  #!"
    )
    assert refusal(KIND, text, "jax", **CAUSE)


@pytest.mark.parametrize(
    "cause",
    [
        {"argument": None},
        {"argument": "config.n"},
        {"compiled": "other"},
        {"compiled": None},
        {"was": "True", "now": "False"},
        {"now": "'relu'"},
        {"argument": "m"},
    ],
)
def test_other_findings_are_refused(cause: dict[str, Any]) -> None:
    head = "import jax\n@jax.jit(static_argnames='n')\n"
    text = f"{head}def step(x, n):\n    return x * n\nstep(x, 1)  #!"
    assert refusal(KIND, text, "jax", **{**CAUSE, **cause})


@pytest.mark.parametrize(
    "decorators",
    [
        "@jax.jit",
        "@partial(jax.jit, static_argnames=NAMES)",
        "@partial(jax.jit, static_argnames=('n', *NAMES))",
        "@partial(jax.jit, static_argnames='m')",
        "@timed\n@partial(jax.jit, static_argnames='n')",
        "@partial(other.jit, static_argnames='n')",
        "@functools.partial(jit, static_argnames='n')",
        "",
    ],
)
def test_where_it_is_not_seen_to_be_static_it_is_refused(decorators: str) -> None:
    head = "from functools import partial\nimport jax, functools\ndef jit(f): ...\n"
    text = f"{head}{decorators}\ndef step(x, n):\n    return x * n\nstep(x, 1)  #!"
    assert refusal(KIND, text, "jax", **CAUSE)


def test_other_frontends_are_refused() -> None:
    assert "jax.jit" in refusal(KIND, "x = 1  #!", "torch", **CAUSE)
