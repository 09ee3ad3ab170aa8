"""Replaces attributes of the framework with wrappers, and restores the originals."""

from __future__ import annotations

import functools
from typing import Any, Callable


def _texts(original: Any) -> list[str]:
    """The attributes to copy to a wrapper: on methods of extension modules some are not texts."""
    names = functools.WRAPPER_ASSIGNMENTS
    return [name for name in names if isinstance(getattr(original, name, None), str | dict)]


class Patches:
    """Remembers what it replaces."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace an attribute with ``make(original)``, which gets the original's name."""
        original = getattr(owner, name)
        wrapper = functools.wraps(original, assigned=_texts(original))(make(original))
        if isinstance(owner, type):  # so that the wrapper can be pickled by name
            wrapper.__module__, wrapper.__qualname__ = owner.__module__, f"{owner.__name__}.{name}"
        self.put(owner, name, wrapper)

    def put(self, owner: Any, name: str, wrapper: Any) -> None:
        """Replace an attribute with ``wrapper`` as it is."""
        self._replaced.append((owner, name, wrapper, getattr(owner, name)))
        setattr(owner, name, wrapper)

    def undo(self) -> None:
        """Restore all originals, except where the program has replaced a wrapper since."""
        for owner, name, wrapper, original in reversed(self._replaced):
            if owner.__dict__.get(name) is wrapper:
                delattr(owner, name)
                if getattr(owner, name, None) is not original:  # the original was not inherited
                    setattr(owner, name, original)
        self._replaced.clear()
