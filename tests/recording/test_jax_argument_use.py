"""What is seen of the arguments of a compiled function after a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from xladoctor.recording.bootstrap._xladoctor.jax.argument_use import LOOKS, Uses

LINE, OTHER = 1, 2
State = dict[str, Any]


def replaced(state: State, batch: Any) -> Any:
    return jax.tree.map(lambda value: value + batch[0, 0], state)


step = jax.jit(replaced)
mean = jax.jit(lambda state: state["a"].mean())


class Watched:
    """Calls functions as the hook would see them."""

    def __init__(self) -> None:
        self.uses = Uses(jax.tree_util.tree_leaves, set())
        self.launches = 3
        self.found: list[tuple[int, str | None]] = []

    def call(self, site: int, function: Any, *args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        found = self.uses.called(self.launches, site, function, args, kwargs)
        self.launches += site == LINE
        of_line = (each for each in found if each["site"] == LINE)
        self.found += [(each["number"], each.get("used")) for each in of_line]
        return out


def start() -> State:
    return {"a": jnp.ones((256, 256)), "b": jnp.ones((256, 256)), "n": jnp.ones(())}


def used(turn: Callable[[Watched, State, State], Any], turns: int = 3) -> dict[int, str | None]:
    """By number of the argument, what needs the old state in a program whose step this is."""
    watched, state, batch, kept = Watched(), start(), jnp.ones((256, 256)), []
    for _ in range(turns):
        new = watched.call(LINE, step, state, batch)
        kept.append(turn(watched, state, new))
        state = new
        del new
    return dict(watched.found)


def test_nothing_needs_what_is_replaced_and_the_batch_is_passed_again() -> None:
    assert used(lambda *_: None) == {0: None, 1: None, 3: "again"}


def test_small_arrays_are_not_looked_at() -> None:
    assert 2 not in used(lambda *_: None)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (lambda watched, old, new: old["a"], {0: "kept", 1: None}),
        (lambda watched, old, new: old, {0: "kept", 1: "kept"}),
        (lambda watched, old, new: watched.call(OTHER, mean, old), {0: "launch", 1: "launch"}),
        (lambda watched, old, new: watched.call(OTHER, mean, state=old), {0: "launch"}),
        (lambda watched, old, new: watched.call(OTHER, mean, new), {0: None, 1: None}),
        (lambda watched, old, new: watched.uses.note("read", old["b"]), {0: None, 1: "read"}),
        (lambda watched, old, new: watched.uses.note("read", new), {0: None, 1: None}),
        (lambda watched, old, new: watched.uses.note("launch", [old["a"]]), {0: "launch", 1: None}),
    ],
)  # fmt: skip
def test_what_needs_the_old_state_is_seen(turn: Any, expected: dict[int, str | None]) -> None:
    found = used(turn)
    assert {number: found[number] for number in expected} == expected


def test_state_that_only_a_hundredth_step_keeps_is_seen() -> None:
    watched, state, batch = Watched(), start(), jnp.ones((256, 256))
    target = None
    for number in range(3, 120):
        new = watched.call(LINE, step, state, batch)
        state = new
        if number % 100 == 0:
            target = state["a"]
        del new
    assert target is not None
    assert dict(watched.found)[0] == "kept"


def test_donated_arguments_are_gone_and_not_asked() -> None:
    donating = jax.jit(replaced, donate_argnums=0)
    watched, state, batch = Watched(), start(), jnp.ones((256, 256))
    for _ in range(3):
        state = watched.call(LINE, donating, state, batch)
    assert dict(watched.found)[3] == "again"


def test_a_launch_that_is_not_looked_at_keeps_nothing() -> None:
    watched = Watched()
    watched.launches = max(LOOKS) + 1
    watched.call(LINE, step, start(), jnp.ones((256, 256)))
    assert not watched.uses.pending
    assert not watched.found


@pytest.mark.parametrize("static", [{"static_argnums": 0}, {"static_argnames": "rate"}])
def test_static_arguments_have_no_number(static: dict[str, Any]) -> None:
    function = jax.jit(lambda rate, state: state["a"] * rate, **static)
    watched, state = Watched(), start()
    for _ in range(2):
        if "static_argnums" in static:
            watched.call(LINE, function, 2.0, state)
        else:
            watched.call(LINE, function, rate=2.0, state=state)
    assert dict(watched.found) == {0: "again", 1: "again"}


def test_an_array_that_is_passed_twice_could_be_donated_only_once() -> None:
    watched, state, batch = Watched(), start(), jnp.ones((256, 256))
    watched.call(LINE, step, {**state, "b": state["a"]}, batch)
    assert dict(watched.found) == {0: "again", 1: "again", 3: None}
