"""The capture's hooks in a framework: attributes replaced by wrappers, and modules awaited."""

from __future__ import annotations

import functools
from typing import Any, Callable

from .disguise import pass_on
from .import_hook import when_imported


def _texts(original: Any) -> list[str]:
    """The attributes to copy to a wrapper: on methods of extension modules some are not texts."""
    names = functools.WRAPPER_ASSIGNMENTS
    return [name for name in names if isinstance(getattr(original, name, None), str | dict)]


class Hooks:
    """Installs hooks, and remembers how to undo each.

    Attributes:
        missing: hooks that this release of the framework does not support, with the reason.
    """

    def __init__(self) -> None:
        self.missing: dict[str, str] = {}
        self._undo: list[Callable[[], object]] = []

    def attempt(self, name: str, install: Callable[..., object], *args: Any) -> None:
        """Install hooks in private parts of a framework, which any release may change."""
        try:
            install(*args)
        except Exception as error:
            self.missing[name] = repr(error)

    def examine(self, name: str, look: Callable[..., Any], *args: Any) -> Any:
        """What ``look`` finds in private parts of a framework; None if it fails, which is noted."""
        try:
            return look(*args)
        except Exception as error:
            pass_on(error)
            self.missing.setdefault(name, repr(error))
            return None

    def await_module(self, name: str, module: str, install: Callable[[Any], object]) -> None:
        """Attempt to install hooks in a module: now, or once the program has imported it."""
        self.on_undo(when_imported(module, functools.partial(self.attempt, name, install)))

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any], *aliases: Any) -> None:
        """Replace an attribute with ``make(original)``, which gets the original's name.

        Args:
            aliases: other modules that hold the same function by the same name.
        """
        original = getattr(owner, name)
        wrapper = functools.wraps(original, assigned=_texts(original))(make(original))
        if isinstance(owner, type):  # so that the wrapper can be pickled by name
            wrapper.__module__, wrapper.__qualname__ = owner.__module__, f"{owner.__name__}.{name}"
        for each in (owner, *aliases):
            self.put(each, name, wrapper)

    def put(self, owner: Any, name: str, wrapper: Any) -> None:
        """Replace an attribute with ``wrapper`` as it is."""
        self.on_undo(functools.partial(_restore, owner, name, wrapper, getattr(owner, name)))
        setattr(owner, name, wrapper)

    def on_undo(self, undo: Callable[[], object]) -> None:
        """Have ``undo`` called by :meth:`undo`."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Undo all hooks, the latest first, except where the program has replaced a wrapper."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()


def _restore(owner: Any, name: str, wrapper: Any, original: Any) -> None:
    if owner.__dict__.get(name) is wrapper:
        delattr(owner, name)
        if getattr(owner, name, None) is not original:  # the original was not inherited
            setattr(owner, name, original)
