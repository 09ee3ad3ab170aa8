from __future__ import annotations

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "value_before_loop"
HEAD = """
import jax
from dataclasses import dataclass
from functools import partial
import jax.numpy as jnp
RATE = 0.1
class Config:
    def __init__(self, rate): self.rate = rate
@dataclass
class State:
    weights: object
    apply: object
def step(weights, x, config): return weights
def relu(x, k=0): return x
"""


def loop(*lines: str) -> str:
    body = "\n".join(f"        {line}" for line in lines)
    return f"{HEAD}def train(w, data, model):\n    for x in data:\n{body}\n    return w\n"


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ("Config(RATE)", "config = Config(RATE)"),
        ("partial(relu, k=3)", "config = partial(relu, k=3)"),
        ('type("C", (), {"rate": 0.5})()', 'config = type("C", (), {"rate": 0.5})()'),
        ("lambda v: jnp.tanh(v)", "def config(v):\n        return jnp.tanh(v)\n"),
    ],
)
def test_what_is_made_in_the_call_gets_a_name_before_the_loop(value: str, made: str) -> None:
    after = fixed(
        KIND, loop(f"w = step(w, x, {value})  #!"), "jax", argument="config", compiled="step"
    )
    assert f"    {made}\n    for x in data:\n        w = step(w, x, config)\n" in after


def test_by_the_name_of_the_argument() -> None:
    text = loop("w = model.run(w, config=Config(RATE))  #!")
    assert "w = model.run(w, config=config)" in fixed(KIND, text, "jax", argument="config.rate")


def test_a_statement_of_the_loop_moves() -> None:
    text = loop("c = Config(0.5)  # same", "w = step(w, x, c)  #!")
    after = fixed(KIND, text, "jax", argument="config", compiled="train.<locals>.step")
    assert after.endswith(
        expected(
            """
            def train(w, data, model):
                c = Config(0.5)
                for x in data:
                    w = step(w, x, c)
                return w
            """
        )
    )


def test_a_function_in_a_field_becomes_one_of_its_own() -> None:
    text = loop("config = State(w, lambda v: jnp.tanh(v))", "w = step(w, x, config)  #!")
    after = fixed(KIND, text, "jax", argument="config", compiled="step")
    assert "    def apply(v):\n        return jnp.tanh(v)\n\n    for x in data:\n" in after
    assert "        config = State(w, apply)\n" in after


@pytest.mark.parametrize(
    "lines",
    [
        ["w = step(w, x, Config(x))  #!"],
        ["w = step(w, x, Config(random()))  #!"],
        ["w = step(w, x, make())  #!"],
        ["w = step(w, x, Config(relu(3)))  #!"],
        ["w = step(w, x, lambda v: v * x)  #!"],
        ["w = step(w, x, [lambda v: v])  #!"],
        ["w = step(w, x, 3)  #!"],
        ["w = step(w, x, 'relu')  #!"],
        ["w = step(w, x, RATE)  #!"],
        ["w = step(w, x, *c)  #!"],
        ["w = step(w, x)  #!"],
        ["w = step(*w, Config(1))  #!"],
        ["w = other(w, x, Config(1))  #!"],
        ["w = step(w, x, Config(1)) + step(w, x, Config(1))  #!"],
        ["c = Config(1)", "c.rate = x", "w = step(w, x, c)  #!"],
        ["c = Config(1)", "c.update(x)", "w = step(w, x, c)  #!"],
        ["c = Config(1)", "c = wrap(c)", "w = step(w, x, c)  #!"],
        ["if x: c = Config(1)", "w = step(w, x, c)  #!"],
        ["c = d = Config(1)", "w = step(w, x, c)  #!"],
        ["c, d = Config(1), 2", "w = step(w, x, c)  #!"],
        ["for c in [Config(1)]: w = step(w, x, c)  #!"],
        ["with Config(1) as c: w = step(w, x, c)  #!"],
        ["c = State(w, [lambda v: v, lambda v: v])", "w = step(w, x, c)  #!"],
        ["c = State(w, lambda v: v * x)", "w = step(w, x, c)  #!"],
        ["c = make(3)", "w = step(w, x, c)  #!"],
        ["c = model", "w = step(w, x, c)  #!"],
        ["w = step(w, x, partial(model, k=x))  #!"],
        ["w = step(w, x, (yield))  #!"],
    ],
)
def test_refused(lines: list[str]) -> None:
    assert refusal(KIND, loop(*lines), "jax", argument="config", compiled="step")


@pytest.mark.parametrize("argument", [None, "", "args[0]", "self", "x"])
def test_other_arguments_are_refused(argument: str | None) -> None:
    text = loop("w = step(w, x, Config(1))  #!")
    assert refusal(KIND, text, "jax", argument=argument, compiled="step")


def test_out_of_a_loop_it_is_refused() -> None:
    text = f"{HEAD}def train(w, x):\n    return step(w, x, Config(1))  #!\n"
    assert refusal(KIND, text, "jax", argument="config", compiled="step")


def test_what_a_global_statement_may_change_is_refused() -> None:
    text = (
        loop("w = step(w, x, Config(RATE))  #!") + "def anneal():\n    global RATE\n    RATE = 3\n"
    )
    assert refusal(KIND, text, "jax", argument="config", compiled="step")
