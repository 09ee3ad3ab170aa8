"""Wrappers in place of a framework's functions, and the way back."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from xladoctor.recording.bootstrap._xladoctor.hooks import Hooks


class Base:
    def inherited(self) -> str:
        return "inherited"


class Owner(Base):
    def method(self) -> str:
        """Its own."""
        return "method"


def louder(original: Callable[..., str]) -> Callable[..., str]:
    def wrapper(*args: Any) -> str:
        return original(*args).upper()

    return wrapper


def test_methods_are_wrapped_and_put_back() -> None:
    before = dict(Owner.__dict__)
    hooks = Hooks()
    for name in ("method", "inherited"):
        hooks.replace(Owner, name, louder)
    assert (Owner().method(), Owner().inherited()) == ("METHOD", "INHERITED")
    assert Owner.method.__doc__ == "Its own."
    assert Base().inherited() == "inherited"
    hooks.undo()
    assert dict(Owner.__dict__) == before
    assert Owner().inherited() == "inherited"


def test_wrapped_method_is_pickled_by_its_name() -> None:
    hooks = Hooks()
    hooks.replace(Owner, "method", louder)
    try:
        assert pickle.loads(pickle.dumps(Owner.method)) is Owner.method
    finally:
        hooks.undo()


def test_what_the_program_replaced_since_is_left_alone() -> None:
    hooks = Hooks()
    original = Owner.method
    hooks.replace(Owner, "method", louder)
    Owner.method = lambda self: "theirs"  # type: ignore[method-assign]
    try:
        hooks.undo()
        assert Owner().method() == "theirs"
    finally:
        Owner.method = original  # type: ignore[method-assign]
