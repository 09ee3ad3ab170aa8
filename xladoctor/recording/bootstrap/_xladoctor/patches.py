"""Attributes of the framework that wrappers stand in for, and what was there before."""

from __future__ import annotations

import functools
from typing import Any, Callable


def _texts(original: Any) -> list[str]:
    """What to copy to its wrapper: methods of extension modules have other things in its place."""
    names = functools.WRAPPER_ASSIGNMENTS
    return [name for name in names if isinstance(getattr(original, name, None), str | dict)]


class Patches:
    """Remembers what it replaces."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Put ``make(original)`` in its place, under the original's name."""
        original = getattr(owner, name)
        wrapper = functools.wraps(original, assigned=_texts(original))(make(original))
        if isinstance(owner, type):  # so that it can be pickled by its name
            wrapper.__module__, wrapper.__qualname__ = owner.__module__, f"{owner.__name__}.{name}"
        self.put(owner, name, wrapper)

    def put(self, owner: Any, name: str, wrapper: Any) -> None:
        """Put it in its place as it is."""
        self._replaced.append((owner, name, wrapper, getattr(owner, name)))
        setattr(owner, name, wrapper)

    def undo(self) -> None:
        """Put everything back, unless the program has replaced it since."""
        for owner, name, wrapper, original in reversed(self._replaced):
            if owner.__dict__.get(name) is wrapper:
                delattr(owner, name)
                if getattr(owner, name, None) is not original:  # it was not inherited
                    setattr(owner, name, original)
        self._replaced.clear()
