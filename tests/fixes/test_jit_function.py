from __future__ import annotations

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "jit_function"


def test_the_outermost_function_that_can_be_compiled() -> None:
    text = """
        import jax
        import jax.numpy as jnp

        ONES = jnp.ones(3)

        def kernel(a, b):
            return jnp.exp(-a * b) + ONES  #!

        # predicts
        def predict(x):
            y = kernel(x, x)
            y = y.at[0].set(1.0)
            return y.T @ jnp.sum(x[:, None], axis=1)

        def main(data):
            for x in data:
                print(predict(x))
        """
    assert fixed(KIND, text, "jax") == expected(
        """
        import jax
        import jax.numpy as jnp

        ONES = jnp.ones(3)

        def kernel(a, b):
            return jnp.exp(-a * b) + ONES

        # predicts
        @jax.jit
        def predict(x):
            y = kernel(x, x)
            y = y.at[0].set(1.0)
            return y.T @ jnp.sum(x[:, None], axis=1)

        def main(data):
            for x in data:
                print(predict(x))
        """
    )


@pytest.mark.parametrize(
    "body",
    [
        "if x.sum() > 0: y = x",
        "y = x if x.sum() > 0 else -x",
        "while x.any(): x = x - 1",
        "assert x.ndim",
        "print(x)",
        "y = float(x)",
        "y = x.item()",
        "y = np.asarray(x)",
        "y = random.random() * x",
        "y = x and x",
        "y = not x",
        "seen.append(x)",
        "SEEN.append(x)",
        "x[0] = 3",
        "x.a = 3",
        "x[0] += 3",
        "global COUNT; COUNT = x",
        "y = COUNT * x",
        "y = jnp.zeros(x)",
        "y = jnp.arange(x) * 2",
        "y = x.reshape(3)",
        "y = jnp.reshape(x, x)",
        "y = f(x)",
        "y = helper(x)",
        "y = x.tolist()",
        "y = f'{x}'",
        "with ctx: y = x",
        "try: y = x\n    except E: pass",
        "yield x",
        "y = [v for v in range(3)]",
        "jax.debug.print('{}', x)",
        "y = jax.random.key(0)",
        "import os",
        "y = (z := x)",
        "raise E",
        "del x",
        "y = open(x)",
        "y = model.apply(x)",
    ],
)
def test_refused(body: str) -> None:
    head = """import jax, random
import jax.numpy as jnp
import numpy as np
COUNT = 0
SEEN = []
def count():
    global COUNT
    COUNT += 1
def helper(x):
    print(x)
    return x
"""
    text = (
        f"{head}def step(x):\n    {body}\n    return jnp.sin(x)  #!\nfor x in data:\n    step(x)\n"
    )
    assert refusal(KIND, text, "jax")


@pytest.mark.parametrize(
    "text",
    [
        "def step(x):\n    return x  #!\nstep(3)",
        "@jax.jit\ndef step(x):\n    return x  #!\nfor x in y:\n    step(x)",
        "async def step(x):\n    return x  #!\nfor x in y:\n    step(x)",
        "for x in y:\n    z = x + x  #!",
        "class A:\n    def step(self, x):\n        return x  #!\nfor x in y:\n    A().step(x)",
        "for x in y:\n    z = map(step, x)\ndef step(x):\n    return x  #!",
    ],
)
def test_other_functions_are_refused(text: str) -> None:
    assert refusal(KIND, f"import jax\n{text}", "jax")


def test_other_frontends_are_refused() -> None:
    assert refusal(KIND, "def step(x):\n    return x  #!\nfor x in y:\n    step(x)", "torch")


@pytest.mark.parametrize(
    ("imports", "after"),
    [
        ("import jax.numpy as jnp", "import jax.numpy as jnp\nimport jax"),
        ("import os\nimport jax.numpy", "import os\nimport jax.numpy"),
        ("import jax as j", "import jax as j"),
        ("from jax import numpy as jnp", "from jax import numpy as jnp\nimport jax"),
    ],
)
def test_the_import_of_jax(imports: str, after: str) -> None:
    text = f"{imports}\n\ndef step(x):\n    return x + x  #!\n\nfor x in y:\n    step(x)"
    assert fixed(KIND, text, "jax").startswith(f"{after}\n\n@j")
