"""What of a function's key differs, asked of JAX itself."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import pjit

from xladoctor.recording.bootstrap._xladoctor.call_site import FRAMEWORK, LIBRARY, USER
from xladoctor.recording.bootstrap._xladoctor.jax.keys import (
    Key,
    KeyReader,
    Keys,
    is_operation,
)


def plain(params: Any, x: Any, rate: Any = 1.0) -> Any:
    return params, x, rate


def other(params: Any, x: Any, rate: Any = 1.0) -> Any:
    return params, x, rate


Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
PARAMS = {"dense": {"kernel": jnp.ones((4, 4))}}


def changes(*calls: Call, static: tuple[int, ...] = (), names: tuple[str, ...] = ()) -> list[Any]:
    """Of the last call, against those before."""
    reader, keys = KeyReader(jax), Keys()
    info = SimpleNamespace(static_argnums=static, static_argnames=names)
    for number, (function, args, kwargs) in enumerate(calls, 1):
        against, found = keys.add(number, reader.read(function, info, args, kwargs), 7)
    return [against, *map(tuple, found)]


@pytest.mark.parametrize(("first", "second", "change"), [
    (np.ones((4, 5), "f4"), np.ones((4, 6), "f4"),
     ("shape", "x", "float32[4,5]", "float32[4,6]")),
    (jnp.ones(4), jnp.ones(4, jnp.bfloat16), ("type", "x", "float32[4]", "bfloat16[4]")),
    (1.0, jnp.ones(()), ("weak_type", "x", "True", "False")),
    ([jnp.ones(2)], [jnp.ones(2)] * 2, ("structure", "x[1]", "2 leaves", "3 leaves")),
])  # fmt: skip
def test_an_argument(first: Any, second: Any, change: tuple[str, ...]) -> None:
    assert changes((plain, (PARAMS, first), {}), (plain, (PARAMS, second), {})) == [1, change]


def test_batch_of_a_vmapped_function_does_not_show_in_its_keys() -> None:
    reader, keys, found = KeyReader(jax), Keys(), list[Any]()
    info = SimpleNamespace(static_argnums=(), static_argnames=())

    def inner(x: Any) -> Any:
        found.append(keys.add(len(found), reader.read(plain, info, (PARAMS, x), {}), 7))
        return x

    for batch in (2, 5):
        jax.vmap(inner)(jnp.ones((batch, 3)))
    assert found == [(None, []), (None, [])]


def test_a_leaf_has_its_path() -> None:
    larger = {"dense": {"kernel": jnp.ones((4, 8))}}
    found = changes((plain, (PARAMS, 1.0), {}), (plain, (larger, 1.0), {}))
    assert found[1][:2] == ("shape", "params['dense']['kernel']")


def test_static_arguments_by_number_and_name() -> None:
    by_number = changes((plain, (1, "a"), {}), (plain, (1, "b"), {}), static=(1, 5))
    assert by_number == [1, ("static", "x", "'a'", "'b'")]
    by_name = changes((plain, (1, 2), {"rate": 3}), (plain, (1, 2), {"rate": 4}), names=("rate",))
    assert by_name == [1, ("static", "rate", "3", "4")]


def test_another_object_of_the_same_code() -> None:
    def made() -> Any:
        return lambda params: params

    kept = made()
    assert changes((kept, (1,), {}), (made(), (1,), {}))[1][0] == "function"
    assert changes((kept, (1,), {}), (kept, (1,), {})) == [1]
    partial = functools.partial(plain, 1)
    assert changes((partial, (1,), {}), (functools.partial(plain, 1), (1,), {}))[1][0] == "function"


def test_functions_of_their_own_have_nothing_in_common() -> None:
    assert changes((plain, (1, 2), {}), (other, (1, 3), {})) == [None]


def test_the_most_similar_call_is_the_one_that_is_compared() -> None:
    small, large = jnp.ones((2, 2)), jnp.ones((3, 3))
    found = changes((plain, (small, 1.0), {}), (plain, (large, large), {}), (plain, (small, 2), {}))
    assert found == [1, ("type", "x", "float32[]", "int32[]")]


def test_configuration() -> None:
    reader, keys = KeyReader(jax), Keys()
    info = SimpleNamespace(static_argnums=(), static_argnames=())
    keys.add(1, reader.read(plain, info, (1, 2), {}), 7)
    with jax.default_matmul_precision("float32"):
        _, found = keys.add(2, reader.read(plain, info, (1, 2), {}), 7)
    assert [change.what for change in found] == ["configuration"]
    assert found[0].now == "float32"


def test_a_context_without_names_says_what_differs() -> None:
    old, new = (
        (("jax_debug", 1), ("context", (1, 2, 3))),
        (("jax_debug", 1), ("context", (1, 5, 3))),
    )
    keys = Keys()
    key = KeyReader(jax).read(plain, SimpleNamespace(static_argnums=(), static_argnames=()), (), {})
    keys.add(1, key._replace(configuration=old), 7)
    _, found = keys.add(2, key._replace(configuration=new), 7)
    assert [tuple(change) for change in found] == [("configuration", "context", "2", "5")]


class Wrapper:
    """Takes arrays apart, as equinox.filter_jit does."""

    def __init__(self, reader: KeyReader) -> None:
        self.reader = reader
        self.__wrapped__ = plain

    def __call__(self, *args: Any, **kwargs: Any) -> Key:
        leaves = {"rest": jax.tree.leaves((args, kwargs))}
        info = SimpleNamespace(static_argnums=(), static_argnames=())
        return self.reader.read(lambda dynamic: dynamic, info, (leaves,), {})


def test_arguments_that_a_library_passes_on_have_the_names_of_the_program() -> None:
    x, scale = jnp.ones(3), jnp.ones(2)
    wrapped = Wrapper(KeyReader(jax, lambda file: LIBRARY if file == __file__ else FRAMEWORK))
    names = [*wrapped({"dense": {"kernel": jnp.ones(4)}}, x, scale=scale).leaves]
    assert names == ["params['dense']['kernel']", "x", "scale"]
    assert [*wrapped(x, x).leaves] == ["params", "dynamic['rest'][1]"]
    assert [*Wrapper(KeyReader(jax))(x, scale).leaves] == [
        "dynamic['rest'][0]", "dynamic['rest'][1]"
    ]  # fmt: skip


def test_a_static_value_that_cannot_be_shown_is_named_by_its_type() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise ValueError

    assert changes((plain, (Broken(), 1), {}), (plain, (1, 1), {}), static=(0,))[1][2] == "<Broken>"


def test_of_calls_that_are_as_much_alike_the_same_call_is_compared() -> None:
    reader, keys = KeyReader(jax), Keys()
    info = SimpleNamespace(static_argnums=(), static_argnames=())
    for number, (call, x) in enumerate([
        ("losses[t]", np.ones(2, "f4")), ("steps[t]", np.ones(2, "i4")),
        ("steps[t]", np.ones(3, "i4")), ("losses[t]", np.ones(3, "f4")),
    ], 1):  # fmt: skip
        against, found = keys.add(number, reader.read(plain, info, (1, x), {}), 7, call)
    assert (against, *found) == (1, ("shape", "x", "float32[2]", "float32[3]"))


def test_single_operations_are_the_frameworks_own_functions() -> None:
    def kind(file: str) -> int:
        return int(FRAMEWORK if f"{os.sep}jax{os.sep}" in file else USER)

    launched: list[Any] = []

    def infer(function: Any, *args: Any) -> Any:
        launched.append(function)
        return original(function, *args)

    original = pjit._infer_params
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pjit, "_infer_params", infer)
        jnp.tanh(jnp.ones(1237)) * 2.5
        jax.lax.scan(lambda carry, x: (carry + x, x), 0.0, jnp.ones(1238))
    told = {each.__name__: is_operation(each, kind) for each in launched}
    assert told.pop("scan") is False
    assert told
    assert all(told.values())
    assert not is_operation(jax.jit(plain), kind)
    assert not is_operation(jax.jit(jax.value_and_grad(functools.partial(plain, rate=2.0))), kind)
