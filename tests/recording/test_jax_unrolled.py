"""Lines of a function that it goes through many times, asked of JAX's own lowering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from xladoctor.recording.bootstrap._xladoctor.call_site import FRAMEWORK, LIBRARY, OURS, USER
from xladoctor.recording.bootstrap._xladoctor.jax.unrolled import repeated


def kind(file: str) -> int:
    return int(USER if file == __file__ else FRAMEWORK)


def lowered(function: Any, *args: Any) -> Any:
    return jax.jit(function).lower(*args).compiler_ir("stablehlo")


def unrolled(x: Any) -> Any:
    for _ in range(200):
        x = jnp.sin(x) * 2.0
    return x


def line_of(text: str) -> int:
    lines = Path(__file__).read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def test_a_line_of_an_unrolled_loop() -> None:
    found = repeated(lowered(unrolled, jnp.ones(3)), kind)
    assert found is not None
    assert found.place == (__file__, line_of("x = jnp.sin(x) * 2.0"), "unrolled")
    assert (found.copies, found.part > 0.9) == (200, True)


def test_a_line_whose_operations_go_through_the_captures_wrapper() -> None:
    wrapper: dict[str, Any] = {"jnp": jnp}
    exec(compile("def sine(x): return jnp.sin(x)", "/_xladoctor/wrapper.py", "exec"), wrapper)

    def through(x: Any) -> Any:
        for _ in range(200):
            x = wrapper["sine"](x)
        return x

    found = repeated(
        lowered(through, jnp.ones(3)),
        lambda file: int(OURS if "_xladoctor/wrapper" in file else kind(file)),
    )
    assert found is not None
    assert found.place[1] == line_of('x = wrapper["sine"](x)')


def test_the_line_is_not_that_of_a_constant() -> None:
    def constants(x: Any) -> Any:
        for _ in range(200):
            x = x * 1.5 + 2.5
        return x

    found = repeated(lowered(constants, jnp.ones(3)), kind)
    assert found is not None
    assert (found.op != "stablehlo.constant", found.place[1]) == (
        True,
        line_of("x = x * 1.5 + 2.5"),
    )


def test_a_loop_that_is_kept() -> None:
    def kept(x: Any) -> Any:
        return jax.lax.fori_loop(0, 200, lambda _, v: jnp.sin(v) * 2.0, x)

    assert repeated(lowered(kept, jnp.ones(3)), kind) is None


def test_a_line_of_a_library_is_none_of_the_programs() -> None:
    library = repeated(
        lowered(unrolled, jnp.ones(3)),
        lambda file: int(LIBRARY if file == __file__ else FRAMEWORK),
    )
    assert library is None


def test_of_a_long_function_some_operations_are_looked_at() -> None:
    def longer(x: Any) -> Any:
        for _ in range(8):
            x = unrolled(x)
        return x

    found = repeated(lowered(longer, jnp.ones(3)), kind)
    assert found is not None
    assert found.copies == 1600
