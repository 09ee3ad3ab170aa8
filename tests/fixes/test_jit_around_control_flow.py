from __future__ import annotations

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "jit_around_control_flow"
HEAD = (
    "import jax\nimport jax.numpy as jnp\nfrom jax import lax\nK = 3\ndef body(c, x): return c, x\n"
)


def test_the_call_moves_into_a_compiled_function_with_its_variables() -> None:
    text = """
        import jax
        import jax.numpy as jnp

        # trains
        def train(data):
            total = jnp.zeros(())
            for x in data:
                total, _ = jax.lax.scan(lambda c, r: (0.9 * c + r.mean(), None), total, x)  #!
            return total
        """
    assert fixed(KIND, text, "jax") == expected(
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def run_scan(total, x):
            return jax.lax.scan(lambda c, r: (0.9 * c + r.mean(), None), total, x)


        # trains
        def train(data):
            total = jnp.zeros(())
            for x in data:
                total, _ = run_scan(total, x)
            return total
        """
    )


@pytest.mark.parametrize(
    ("call", "made"),
    [
        (
            "lax.cond(jnp.max(x) > 2, lambda t: t, lambda t: x, y)",
            "def run_cond(x, y):\n    return lax.cond(jnp.max(x) > 2, lambda t: t, lambda t: x, y)",
        ),
        (
            "jax.lax.fori_loop(0, K, lambda i, v: v * x, y)",
            "def run_fori_loop(x, y):\n    return jax.lax.fori_loop(0, K, lambda i, v: v * x, y)",
        ),
        (
            "jax.lax.scan(body, x, y, length=8)",
            "def run_scan(x, y):\n    return jax.lax.scan(body, x, y, length=8)",
        ),
    ],
)
def test_other_calls(call: str, made: str) -> None:
    after = fixed(KIND, f"{HEAD}def f(x, y, n, g):\n    z = {call}  #!\n    return z", "jax")
    assert f"@jax.jit\n{made}\n" in after


def test_a_call_of_several_lines_keeps_them() -> None:
    text = """
        import jax

        def f(x, y):
            for _ in x:
                y = jax.lax.while_loop(  #!
                    lambda v: v < 3,
                    lambda v: v + x,
                    y,
                )
        """
    assert fixed(KIND, text, "jax") == expected(
        """
        import jax

        @jax.jit
        def run_while_loop(x, y):
            return jax.lax.while_loop(
                lambda v: v < 3,
                lambda v: v + x,
                y,
            )


        def f(x, y):
            for _ in x:
                y = run_while_loop(x, y)
        """
    )


@pytest.mark.parametrize(
    "line",
    [
        "z = lax.scan(body, x, y, length=n)",
        "z = lax.scan(body, x, y, reverse=n)",
        "z = lax.scan(g, x, y)",
        "z = lax.scan(f=g, init=x, xs=y)",
        "z = lax.scan(lambda c, r: (g(c), r), x, y)",
        "z = lax.cond(x, g, lambda t: t, y)",
        "z = lax.cond(x, lambda t: t, g, y)",
        "z = lax.while_loop(lambda v: v < 3, g, y)",
        "z = lax.fori_loop(0, 3, g, y)",
        "z = lax.scan(*x)",
        "z = lax.scan(body, *x)",
        "z = lax.scan(lambda c, r: (c, r), 0, ONES)",
        "z = lax.scan(body, x, y) + lax.scan(body, x, y)",
        "z = lambda: lax.scan(body, x, y)",
        "z = mine.scan(body, x, y)",
        "z = jax.scan(body, x, y)",
        "z = scan(body, x, y)",
        "z = lax.map(g, x)",
        "z = lax.map(body, x, batch_size=n)",
        "z = lax.scan(lambda c, r: (self.f(c), r), x, y)",
        "z = lax.scan(lambda c, r: (c * self.k, r), x, y)",
        "z = x + y",
        "z = lax.dot(x, y)",
    ],
)
def test_refused(line: str) -> None:
    text = f"{HEAD}ONES = jnp.ones(3)\ndef f(self, x, y, n, g):\n    {line}  #!\n    return z"
    assert refusal(KIND, text, "jax")


def test_a_function_that_is_made_in_the_loop_is_refused() -> None:
    text = f"{HEAD}def f(xs, y):\n    for x in xs:\n        def g(c, r): return c * x, r\n"
    assert refusal(KIND, text + "        y, _ = lax.scan(g, y, x)  #!", "jax")
