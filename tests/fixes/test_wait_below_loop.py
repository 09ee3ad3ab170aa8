from __future__ import annotations

import pytest

from tests.fixes.harness import change, expected, fixed, refusal

KIND = "wait_below_loop"


def test_a_statement_that_waits() -> None:
    assert fixed(
        KIND,
        """
        import jax
        def train(params, data):
            for x in data:
                params, loss = step(params, x)
                loss.block_until_ready()  #!
            return params
        """,
        frontend="jax",
    ) == expected(
        """
        import jax
        def train(params, data):
            loss = None
            for x in data:
                params, loss = step(params, x)
            jax.block_until_ready(loss)
            return params
        """
    )


def test_a_value_is_not_none_where_the_loop_looks_at_it_first() -> None:
    assert "loss = None" not in fixed(
        KIND,
        """
        import jax
        def train(params, data):
            for x in data:
                print(loss)
                params, loss = step(params, x)
                loss.block_until_ready()  #!
            return params
        """,
        frontend="jax",
    )


def test_a_result_that_is_waited_for() -> None:
    assert fixed(
        KIND,
        """
        from jax import block_until_ready as ready
        params = start()
        for x in data:
            params, loss = ready(step(params, x))  #!
        """,
        frontend="jax",
    ) == expected(
        """
        from jax import block_until_ready as ready
        params = start()
        loss = None
        for x in data:
            params, loss = step(params, x)
        ready((params, loss))
        """
    )
    text = "w = 0\nfor x in data:\n    w = step(w, x).block_until_ready()  #!\n"
    after = "w = 0\nfor x in data:\n    w = step(w, x)\nw.block_until_ready()\n"
    assert fixed(KIND, text, frontend="jax") == after


def test_a_loop_in_a_loop_that_may_have_no_iterations() -> None:
    text = """
        import jax
        for epoch in range(2):
            for x in data:
                w, y = step(w, x)
                {}  #!
        """
    start = "import jax\ny = None\nfor epoch in range(2):\n    for x in data:\n"
    after = start + "        w, y = step(w, x)\n    jax.block_until_ready(y)\n"
    for wait in ("y.block_until_ready()", "jax.block_until_ready(y)"):
        assert fixed(KIND, text.format(wait), frontend="jax") == after
    part = change(KIND, text.format("y.loss.block_until_ready()"), frontend="jax")
    assert part.behaviour == "without an iteration of the loop, `y` is missing"


def test_results_that_are_taken_apart() -> None:
    text = "import jax\nfor x in [1]:\n    a, b = step(x).block_until_ready()  #!\n"
    after = "import jax\nfor x in [1]:\n    a, b = step(x)\njax.block_until_ready((a, b))\n"
    assert fixed(KIND, text, frontend="jax") == after


def loop(statement: str, rest: str = "pass", head: str = "for x in data") -> str:
    return f"""
import jax, time
def train(data, w):
    {head}:
        w = step(w, x)
        {statement}  #!
        {rest}
"""


@pytest.mark.parametrize(
    "text",
    [
        loop("w.block_until_ready()", "times.append(time.perf_counter())"),
        loop("w.block_until_ready()", "begin = time.time()"),
        loop("w.block_until_ready()", "yield w"),
        loop("w.block_until_ready()", "return w"),
        loop("w.block_until_ready(); n = 1"),
        loop("x = w.block_until_ready() + 1"),
        loop("x = f(w.block_until_ready())"),
        loop("x[0] = w.block_until_ready()"),
        loop("self.w = w.block_until_ready()"),
        loop("x = y = w.block_until_ready()"),
        loop("x += w.block_until_ready()"),
        loop("f(w).block_until_ready()"),
        loop("jax.block_until_ready(f(w))"),
        loop("jax.block_until_ready(*w)"),
        loop("jax.block_until_ready(w, w)"),
        loop("jax.block_until_ready((y := w))"),
        loop("wait(w)"),
        loop("block_until_ready(w)"),
        loop("return jax.block_until_ready(w)"),
        loop("assert w.block_until_ready()"),
        loop("if w: w.block_until_ready()"),
        loop("with a: w.block_until_ready()"),
        "for x in data:\n    if x:\n        w.block_until_ready()  #!\n",
        "for x in data:\n    w.block_until_ready()  #!\n",
        "w.block_until_ready()  #!\n",
        "for x in data: w.block_until_ready()  #!\n",
        "f = [w.block_until_ready() for w in data]  #!\n",
        "for x in data:\n    f = lambda: w.block_until_ready()  #!\n",
    ],
)
def test_refused(text: str) -> None:
    assert refusal(KIND, text, frontend="jax")
