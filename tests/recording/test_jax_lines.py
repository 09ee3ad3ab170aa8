"""Lines that a function's equations come from, asked of JAX's own tracing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from xladoctor.recording.bootstrap._xladoctor.call_site import FRAMEWORK, LIBRARY, OURS, USER
from xladoctor.recording.bootstrap._xladoctor.jax import lines
from xladoctor.recording.bootstrap._xladoctor.jax.lines import Traced, named_as, traced

TABLE = jnp.ones((600, 1000))


def kind(file: str) -> int:
    return int(USER if file == __file__ else FRAMEWORK)


def of(function: Any, *args: Any, kind: Any = kind) -> Traced:
    return traced(jax.jit(function).trace(*args).jaxpr, kind)


def unrolled(x: Any) -> Any:
    for _ in range(200):
        x = jnp.sin(x) * 2.0
    return x


def line_of(text: str) -> int:
    lines = Path(__file__).read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def counted(found: Traced) -> dict[int | None, int]:
    return {each.place and each.place.line: each.equations for each in found.lines}


def test_a_line_of_an_unrolled_loop() -> None:
    found = of(unrolled, jnp.ones(3))
    place = (__file__, line_of("x = jnp.sin(x) * 2.0"), "unrolled")
    assert found.repeated == (place, "sin", 200, 400, 1.0)
    assert (found.equations, found.complete) == (400, True)
    assert found.lines == [(place, 400, "sin", 200, 0)]


def test_a_line_whose_operations_go_through_the_captures_wrapper() -> None:
    wrapper: dict[str, Any] = {"jnp": jnp}
    exec(compile("def sine(x): return jnp.sin(x)", "/_xladoctor/wrapper.py", "exec"), wrapper)

    def through(x: Any) -> Any:
        for _ in range(200):
            x = wrapper["sine"](x)
        return x

    found = of(
        through,
        jnp.ones(3),
        kind=lambda file: int(OURS if "_xladoctor/wrapper" in file else kind(file)),
    )
    assert found.repeated is not None
    assert found.repeated.place.line == line_of('x = wrapper["sine"](x)')


def test_a_loop_that_is_kept_counts_once() -> None:
    def kept(x: Any) -> Any:
        return jax.lax.fori_loop(0, 200, lambda _, v: jnp.sin(v) * 2.0, x)

    found = of(kept, jnp.ones(3))
    assert found.repeated is None
    assert found.equations < 10


def test_a_line_of_a_library_counts_for_the_line_that_calls_it() -> None:
    library: dict[str, Any] = {"jnp": jnp}
    text = "def turns(x):\n for _ in range(200):\n  x = jnp.sin(x)\n return x"
    exec(compile(text, "/library.py", "exec"), library)

    def calling(x: Any) -> Any:
        return library["turns"](x) + 1.0

    kinds = {__file__: USER, "/library.py": LIBRARY}
    found = of(calling, jnp.ones(3), kind=lambda file: int(kinds.get(file, FRAMEWORK)))
    assert found.repeated is None  # the loop is not the program's
    assert counted(found) == {line_of('return library["turns"](x) + 1.0'): 201}


def test_an_inner_function_counts_at_each_call_and_the_frameworks_at_its_line() -> None:
    def clipped(x: Any) -> Any:
        return jnp.clip(x, 0.0, 1.0)

    inner = jax.jit(clipped)

    def outer(x: Any) -> Any:
        first = jnp.clip(x, 0.0, 1.0)
        return inner(inner(first)) + x

    found = counted(of(outer, jnp.ones(3)))
    each = found[line_of("first = jnp.clip(x, 0.0, 1.0)")]
    assert found[line_of("return jnp.clip(x, 0.0, 1.0)")] == 2 * each
    assert found[line_of("return inner(inner(first)) + x")] == 1


def test_an_iteration_may_have_an_operation_twice() -> None:
    def turns(x: Any) -> Any:
        for _ in range(100):
            x = jnp.sin(jnp.sin(x)) * 3.0 + 1.0
        return x

    found = of(turns, jnp.ones(3)).repeated
    assert found is not None
    assert (found.copies, found.part) == (100, 1.0)


def test_constants_count_where_they_are_used() -> None:
    def lookup(x: Any) -> Any:
        scaled = x * 2.0
        return (TABLE * scaled).sum()

    found = {each.place and each.place.line: each.constants for each in of(lookup, 1.0).lines}
    assert found == {
        line_of("scaled = x * 2.0"): 0,
        line_of("return (TABLE * scaled).sum()"): TABLE.nbytes,
    }


def test_of_the_longest_functions_a_part_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_MOST_VISITED", 100)
    found = of(unrolled, jnp.ones(3))
    assert (found.equations, found.complete) == (99, False)


def test_a_function_without_equations() -> None:
    assert of(lambda x: x, 1.0) == (0, True, [], None)


def test_a_jaxpr_has_the_name_of_its_function() -> None:
    jaxpr = jax.jit(unrolled).trace(1.0).jaxpr
    assert named_as(jaxpr, "unrolled")
    assert not named_as(jaxpr, "rolled")
    assert named_as(jax.jit(lambda x: x).trace(1.0).jaxpr, "_lambda")
