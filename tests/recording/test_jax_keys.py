"""What of a function's key differs, asked of JAX itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import pjit

from xladoctor.recording.bootstrap._xladoctor.call_site import FRAMEWORK, LIBRARY, USER
from xladoctor.recording.bootstrap._xladoctor.jax.key_reader import KeyReader, is_operation
from xladoctor.recording.bootstrap._xladoctor.jax.keys import Key, Keys


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
    return [against, *(change[:4] for change in found)]


@pytest.mark.parametrize(
    ("first", "second", "change"),
    [
        (
            np.ones((4, 5), "f4"),
            np.ones((4, 6), "f4"),
            ("shape", "x", "float32[4,5]", "float32[4,6]"),
        ),
        (jnp.ones(4), jnp.ones(4, jnp.bfloat16), ("type", "x", "float32[4]", "bfloat16[4]")),
        (1.0, jnp.ones(()), ("weak_type", "x", "True", "False")),
        ([jnp.ones(2)], [jnp.ones(2)] * 2, ("structure", "x[1]", "2 leaves", "3 leaves")),
    ],
)
def test_an_argument(first: Any, second: Any, change: tuple[str, ...]) -> None:
    assert changes((plain, (PARAMS, first), {}), (plain, (PARAMS, second), {})) == [1, change]


def test_shape_of_what_a_function_made_anew_closes_over() -> None:
    def around(x: Any) -> Call:
        return jax.value_and_grad(lambda params: plain(params, x)), (PARAMS,), {}

    first, second = changes(around(jnp.ones(4)), around(jnp.ones(5)))[1:]
    assert first[0] == "function"
    assert second == ("shape", "x", "float32[4]", "float32[5]")
    assert len(changes(around(jnp.ones(4)), around(jnp.zeros(4)))) == 2


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


class Kernel(NamedTuple):
    width: float
    weigh: Callable[[Any], Any]


def kernel(width: float) -> Kernel:
    def weigh(distance: Any) -> Any:
        return distance / width

    return Kernel(width, weigh)


class Mode:
    """Equal to itself alone, and prints itself without an address."""

    def __repr__(self) -> str:
        return "Mode()"


@jax.tree_util.register_pytree_node_class
class Agent:
    def __init__(self, w: Any, rule: Any) -> None:
        self.w, self.rule = w, rule

    def tree_flatten(self) -> Any:
        return (self.w,), self.rule

    @classmethod
    def tree_unflatten(cls, rule: Any, leaves: Any) -> Any:
        return cls(leaves[0], rule)


@pytest.mark.parametrize(
    "make",
    [
        lambda: kernel(0.1),
        Mode,
        lambda: functools.partial(plain, 1),
        lambda: lambda x: x,
    ],
)
def test_a_static_value_that_is_equal_to_itself_alone(make: Callable[[], Any]) -> None:
    first, second = make(), make()
    (_, change) = changes((plain, (1, first), {}), (plain, (1, second), {}), static=(1,))
    assert change[:3] == ("function", "x", "")
    assert " at 0x" not in change[3]
    assert changes((plain, (1, first), {}), (plain, (1, first), {}), static=(1,)) == [1]


def test_a_static_value_whose_parts_have_other_values() -> None:
    (_, change) = changes((plain, (1, kernel(0.1)), {}), (plain, (1, kernel(0.2)), {}), static=(1,))
    assert change[:2] == ("static", "x")


def test_a_static_field_of_a_tree_that_is_equal_to_itself_alone() -> None:
    agents: list[Any] = [Agent(jnp.ones(2), kernel(0.1).weigh) for _ in range(2)]
    (_, change) = changes(*((plain, (agent, 1), {}) for agent in agents))
    assert change[:3] == ("function", "params", "")
    assert "weigh" in change[3]


def kind(file: str) -> int:
    return int(USER if file == __file__ else FRAMEWORK)


def last_change(*calls: Call, names: tuple[str, ...] = ()) -> Any:
    reader, keys = KeyReader(jax), Keys()
    info = SimpleNamespace(static_argnums=(), static_argnames=names)
    found = [
        keys.add(1, reader.read(function, info, args, kwargs), 7)
        for function, args, kwargs in calls
    ]
    return found[-1][1][0]


def test_the_line_that_made_a_static_value_is_told() -> None:
    reader, keys = KeyReader(jax, kind), Keys()
    info = SimpleNamespace(static_argnums=(), static_argnames=("rate",))
    for _ in range(2):
        mode = Mode()
        found = keys.add(1, reader.read(plain, info, (1, 2), {"rate": mode}), 7)[1]
    assert found[0].place is not None
    assert found[0].place.line == line_of("mode = Mode()")


def line_of(text: str) -> int:
    lines = Path(__file__).read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def test_the_line_that_made_a_state_weakly_typed_is_told() -> None:
    reader, keys = KeyReader(jax, kind), Keys()
    info = SimpleNamespace(static_argnums=(), static_argnames=())
    state = {"scale": jnp.full(2, 0.1)}
    for _ in range(2):
        found = keys.add(1, reader.read(plain, info, (1, state), {}), 7)[1]
        state = {"scale": jnp.ones(2)}
    assert found[0][:2] == ("weak_type", "x['scale']")
    assert found[0].place is not None
    assert found[0].place.line == line_of('state = {"scale": jnp.full(2, 0.1)}')


def test_a_function_is_made_by_the_function_around_it_alone() -> None:
    def made() -> Any:
        return lambda rate: rate

    place = last_change((made(), (1,), {}), (made(), (1,), {})).place
    assert (place.line, place.function[-8:]) == (line_of("return lambda rate: rate"), "<lambda>")
    partial = functools.partial(plain, 1)
    assert last_change((partial, (1,), {}), (functools.partial(plain, 1), (1,), {})).place is None


def test_a_cache_that_was_emptied() -> None:
    reader, keys = KeyReader(jax), Keys()
    info = SimpleNamespace(static_argnums=(), static_argnames=())
    keys.add(1, reader.read(plain, info, (1, 2), {}), 7)
    keys.cleared(1, None)
    assert keys.add(2, reader.read(plain, info, (1, 2), {}), 7) == (
        1,
        [("nothing", "", "", "jax.clear_caches()", None)],
    )
    assert keys.add(3, reader.read(plain, info, (1, 2), {}), 7) == (2, [])


def test_branches_made_anew_are_known_by_their_lines() -> None:
    launched: list[Any] = []
    original = pjit._infer_params

    def infer(function: Any, info: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ == "cond":
            launched.append(reader.read(function, info, args, kwargs))
        return original(function, info, args, kwargs)

    def chosen(x: Any, grow: bool) -> Any:
        return jax.lax.cond(
            grow,
            lambda v: v * 2,
            lambda v: v / 2,
            x,
        )

    reader, keys = KeyReader(jax), Keys()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pjit, "_infer_params", infer)
        for grow in (True, False):
            chosen(jnp.ones(1239), grow)
    assert [keys.add(1, key, 7)[1] for key in launched][-1] == [
        ("function", "", "", "cond", (__file__, line_of("lambda v: v * 2,"), "chosen"))
    ]


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
    assert [change[:4] for change in found] == [("configuration", "context", "2", "5")]


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
        "dynamic['rest'][0]",
        "dynamic['rest'][1]",
    ]


def test_a_static_value_that_cannot_be_shown_is_named_by_its_type() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise ValueError

    assert changes((plain, (Broken(), 1), {}), (plain, (1, 1), {}), static=(0,))[1][2] == "<Broken>"


def test_of_calls_that_are_as_much_alike_the_same_call_is_compared() -> None:
    reader, keys = KeyReader(jax), Keys()
    info = SimpleNamespace(static_argnums=(), static_argnames=())
    for number, (call, x) in enumerate(
        [
            ("losses[t]", np.ones(2, "f4")),
            ("steps[t]", np.ones(2, "i4")),
            ("steps[t]", np.ones(3, "i4")),
            ("losses[t]", np.ones(3, "f4")),
        ],
        1,
    ):
        against, found = keys.add(number, reader.read(plain, info, (1, x), {}), 7, call)
    assert (against, found[0][:4]) == (1, ("shape", "x", "float32[2]", "float32[3]"))


def test_single_operations_are_the_frameworks_own_functions() -> None:
    def kind(file: str) -> int:
        return int(FRAMEWORK if file.startswith(str(Path(jax.__file__).parent)) else USER)

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
