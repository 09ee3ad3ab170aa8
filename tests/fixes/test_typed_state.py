from __future__ import annotations

import pytest

from tests.fixes.harness import fixed, refusal

KIND = "typed_state"
HEAD = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("mean = 0.0", "mean = jnp.asarray(0.0, float)"),
        ("mean = -1", "mean = jnp.asarray(-1, int)"),
        ("mean: float = 1e-3  # small", "mean: float = jnp.asarray(1e-3, float)  # small"),
        ("state = (params, 0)", "state = (params, jnp.asarray(0, int))"),
        ("state = params, 0.5", "state = params, jnp.asarray(0.5, float)"),
        ('state = {"n": 0, "p": params}', 'state = {"n": jnp.asarray(0, int), "p": params}'),
        ("state = [[params], (0,)]", "state = [[params], (jnp.asarray(0, int),)]"),
        ("mean = jnp.asarray(0.5)", "mean = jnp.asarray(0.5, float)"),
        ("mean = jnp.array(3)", "mean = jnp.array(3, int)"),
        ("rates = jnp.full((4, 3), 0.1)", "rates = jnp.full((4, 3), 0.1, float)"),
        ("rates = jnp.full(8, -2)", "rates = jnp.full(8, -2, int)"),
    ],
)
def test_the_number_gets_a_type(before: str, after: str) -> None:
    assert fixed(KIND, f"{HEAD}{before}  #!", "jax", argument="mean") == f"{HEAD}{after}\n"


def test_jax_numpy_is_imported_where_it_was_not() -> None:
    after = fixed(KIND, "import jax\nmean = 0.0  #!", "jax", argument="mean")
    assert after == "import jax\nimport jax.numpy\nmean = jax.numpy.asarray(0.0, float)\n"


@pytest.mark.parametrize(
    "line",
    [
        "mean = 0.0, 1.0",
        "mean = x",
        "mean = np.full(3, 0.1)",
        "mean = jnp.full(3, 0.1, jnp.float32)",
        "mean = jnp.asarray(0.1, dtype=jnp.float32)",
        "mean = jnp.full(shape=3, fill_value=0.1)",
        "mean = jnp.full(*args)",
        "mean = mine.asarray(0.1)",
        "mean = jnp.zeros(3)",
        "mean = float(3)",
        "mean = 0.5 * x",
        "mean = True",
        "mean = 1j",
        "mean = [0.0 for _ in range(3)]",
        "mean += 0.1",
        "return_(0.1)",
        "mean = 0.0; n = 3",
        "mean = 0.0 if x else 1.0",
        "mean = (n := 0.0)",
        "mean = lambda: 0.0",
        "params, mean = step(params, 0.0)",
        "for mean in (0.0,): pass",
        "mean = {0: x}",
    ],
)
def test_refused(line: str) -> None:
    assert refusal(KIND, f"{HEAD}{line}  #!", "jax", argument="mean")


def test_what_became_weak_and_other_frontends_are_refused() -> None:
    assert "returns" in refusal(KIND, f"{HEAD}mean = 0.0  #!", "jax", became=True)
    assert refusal(KIND, f"{HEAD}mean = 0.0  #!", "torch")
