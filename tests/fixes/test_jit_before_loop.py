from __future__ import annotations

import pytest

from tests.fixes.harness import change, expected, fixed, refusal

KIND = "jit_before_loop"


def test_a_lambda_gets_what_it_reads_of_the_loop_as_arguments() -> None:
    text = """
        import jax

        def train(params):
            # the loop
            for x, y in batches():
                # once an iteration
                update = jax.jit(lambda p: step(p, x, scale=y))  #!
                params, loss = update(params)
            return params
        """
    text = text.replace(
        "def train", "def step(p, x, scale):\n            return p\n\n        def train"
    )
    assert fixed(KIND, text, "jax") == expected(
        """
        import jax

        def step(p, x, scale):
            return p

        def train(params):
            # once an iteration
            update = jax.jit(lambda p, x, y: step(p, x, scale=y))
            # the loop
            for x, y in batches():
                params, loss = update(params, x, y)
            return params
        """
    ).replace("    # once an iteration\n", "", 1)
    assert change(KIND, text, "jax").relies_on == (
        "x, y: arrays or numbers, which become arguments",
    )


def test_a_lambda_that_only_calls_a_function_is_that_function() -> None:
    head = "import jax\ndef step(p, x): return p\n"
    text = f"{head}for x in data:\n    p = jax.jit(lambda p: step(p, x))(p)  #!"
    assert fixed(KIND, text, "jax") == (
        "import jax\ndef step(p, x): return p\ncompiled = jax.jit(step)\nfor x in data:\n"
        "    p = compiled(p, x)\n"
    )


def test_a_function_of_the_module_is_compiled_above_the_outermost_loop() -> None:
    text = """
        import jax
        from jax import jit

        def step(p):
            return 2 * p

        def train(p):
            for _ in range(3):
                for _ in range(3):
                    f = jit(step, donate_argnums=0)  #!
                    p = f(p)
            return p
        """
    after = fixed(KIND, text, "jax")
    assert "    f = jit(step, donate_argnums=0)\n    for _ in range(3):\n        for _" in after
    assert after.count("jit(step") == 1


def test_a_decorated_function_in_the_loop_moves_above_it() -> None:
    text = """
        import jax

        def train(p, data):
            for x in data:
                @jax.jit  #!
                def update(p):
                    return p * x

                p = update(p)
            return p
        """
    assert fixed(KIND, text, "jax") == expected(
        """
        import jax

        def train(p, data):
            @jax.jit
            def update(p, x):
                return p * x

            for x in data:

                p = update(p, x)
            return p
        """
    )


def test_in_a_function_that_is_called_again_it_goes_into_the_module() -> None:
    text = """
        import jax

        def step(p, x):
            return p * x

        def advance(p, x):
            run = jax.jit(step)  #!
            return run(p, x)
        """
    assert fixed(KIND, text, "jax") == expected(
        """
        import jax

        def step(p, x):
            return p * x


        run = jax.jit(step)

        def advance(p, x):
            return run(p, x)
        """
    )


def test_a_lambda_in_a_function_that_is_called_again() -> None:
    text = """
        import jax

        def advance(p, x):
            return jax.jit(lambda: p * x)()  #!
        """
    assert fixed(KIND, text, "jax") == expected(
        """
        import jax

        compiled = jax.jit(lambda p, x: p * x)


        def advance(p, x):
            return compiled(p, x)
        """
    )


def test_what_another_call_may_change_in_place_is_an_argument() -> None:
    text = """
        import jax

        def train(p, buffer, table, data):
            for x in data:
                p = jax.jit(lambda p: p * buffer + table)(p)  #!
                refill(buffer)
            return p
        """
    after = fixed(KIND, text, "jax")
    assert "compiled = jax.jit(lambda p, buffer: p * buffer + table)" in after
    assert "p = compiled(p, buffer)" in after
    assert "table: not changed in place meanwhile" in change(KIND, text, "jax").relies_on


REFUSED = [
    # what it is compiled from changes
    "for f in functions:\n    y = jax.jit(f)(x)  #!",
    "for x in data:\n    def g(v): return v * x\n    y = jax.jit(g)(x)  #!",
    "for x in data:\n    y = jax.jit(jax.grad(lambda v: v * x))(x)  #!",
    "for model in models:\n    y = jax.jit(lambda v: model(v))(x)  #!",
    "for model in models:\n    y = jax.jit(lambda v: model.apply(v))(x)  #!",
    "for n in range(3):\n    y = jax.jit(step, static_argnums=n)(x)  #!",
    # what a function of the module reads changes
    "for x in data:\n    RATE = x\n    y = jax.jit(read)(x)  #!",
    "for x in data:\n    TABLE['a'] = x\n    y = jax.jit(read_table)(x)  #!",
    "for x in data:\n    y = jax.jit(read_counted)(x)  #!",
    "for x in data:\n    y = jax.jit(unseen)(x)  #!",
    # the compiled function is used otherwise
    "for x in data:\n    f = jax.jit(lambda v: v * x)  #!\n    y = apply(f, x)",
    "for x in data:\n    f = jax.jit(lambda v: v * x)  #!\n    y = f(*x)",
    "for x in data:\n    f = jax.jit(lambda v: v * x)  #!\n    y = f(v=x)",
    "for x in data:\n    f = jax.jit(lambda v: v * x)  #!\n    kept = f",
    "for x in data:\n    f = jax.jit(lambda v: v * x)  #!\n    y = f(x)\nf(3)",
    "for x in data:\n    f = jax.jit(step)  #!\n    f = wrap(f)\n    y = f(x)",
    "for x in data:\n    f, g = jax.jit(step), 3  #!\n    y = f(x)",
    "for x in data:\n    f = g = jax.jit(step)  #!\n    y = f(x)",
    "for x in data:\n    fs.append(jax.jit(step))  #!",
    "for x in data:\n    y = (f := jax.jit(step))(x) + f(x)  #!",
    "for x in data:\n    y = wrap(jax.jit(step))(x)  #!",
    # signatures
    "for x in data:\n    y = jax.jit(lambda *v: v[0] * x)(x)  #!",
    "for x in data:\n    y = jax.jit(lambda v=3: v * x)(x)  #!",
    "for x in data:\n    y = jax.jit(lambda v, *, k: v * x)(x, k=3)  #!",
    # under a condition, within a block, another statement on the line
    "for x in data:\n    if x:\n        f = jax.jit(step)  #!\n    y = f(x)",
    "for x in data:\n    with mesh(x):\n        f = jax.jit(step)  #!\n        y = f(x)",
    "for x in data:\n    try:\n        f = jax.jit(step)  #!\n    except E:\n        pass",
    "for x in data:\n    f = jax.jit(step); y = f(x)  #!",
    "for x in data:\n    f = jax.jit(step)  #!",
    # not in a loop, or not of JAX
    "f = jax.jit(step)  #!",
    "for x in data:\n    y = mine.jit(step)(x)  #!",
    "def run(jax, x):\n    y = jax.jit(step)(x)  #!",
    "for x in data:\n    y = jax.jit(fun=step)(x)  #!",
    "for x in data:\n    y = jax.jit(step)(jax.jit(step)(x))  #!",
    "class A:\n    def run(self, x):\n        return jax.jit(step)(x)  #!",
    "class A:\n    def run(self, data):\n        while data: self.f = jax.jit(self.step)  #!",
    "ys = [jax.jit(step)(x) for x in data]  #!",
    "@timed\n@jax.jit  #!\ndef f(x):\n    return x\nf(x)",
]


@pytest.mark.parametrize("code", REFUSED)
def test_refused(code: str) -> None:
    head = """
import jax
import mine
RATE = 1.0
TABLE = {"a": 1}
COUNT = 0
def count():
    global COUNT
    COUNT += 1
def step(x):
    return x
def read(x):
    return inner(x)
def inner(x):
    return x * RATE
def read_table(x):
    return x * TABLE["a"]
def read_counted(x):
    return x * COUNT
"""
    assert refusal(KIND, head + code, "jax")
