"""Finds the program's names for arguments that a library passes on to a compiled function.

Equinox, for example, takes a call's arrays apart and compiles a function of ``rest`` and numbers.
But the arrays are the objects that the program passed. So a frame of the library has them by
position or name, and the function that it wraps has their names.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any, Callable, Iterable, Iterator

from ..call_site import LIBRARY, USER

_MOST = 12  # frames of a library that are searched


class WrappedArguments:
    """Searches the current stack."""

    def __init__(self, tree: Any, kind: Callable[[str], int]) -> None:
        """
        Args:
            tree: ``jax.tree_util``.
            kind: classifies a file, see :mod:`..call_site`.
        """
        self._tree = tree
        self._kind = kind

    def names(self, leaves: Iterable[Any]) -> dict[int, str]:
        """Paths of arrays by their id; empty if the program calls JAX directly."""
        wanted = {id(leaf) for leaf in leaves}
        for frame in self._library():
            found = self._arguments(frame)
            named = {key: path for key, path in reversed([*found]) if key in wanted}
            if named:
                return named
        return {}

    def _library(self) -> Iterator[FrameType]:
        """Frames of libraries, from the one that called JAX to the one that the program called."""
        frame: FrameType | None = sys._getframe(2)
        seen = 0
        while frame is not None and seen < _MOST:
            kind = self._kind(frame.f_code.co_filename)
            if kind == USER:
                return
            if kind == LIBRARY:
                seen += 1
                yield frame
            frame = frame.f_back

    def _arguments(self, frame: FrameType) -> Iterator[tuple[int, str]]:
        """The ids and paths of leaves in ``*args`` and ``**kwargs`` of a frame."""
        known, code = frame.f_locals, frame.f_code
        args, kwargs = known.get("args"), known.get("kwargs")
        if not isinstance(args, tuple) or not code.co_varnames:
            return
        names = _parameters(known.get(code.co_varnames[0]))
        named = {
            names[at] if at < len(names) else f"argument {at}": value
            for at, value in enumerate(args)
        }
        named.update(kwargs if isinstance(kwargs, dict) else {})
        for name, value in named.items():
            for path, leaf in self._tree.tree_flatten_with_path(value)[0]:
                yield id(leaf), f"{name}{self._tree.keystr(tuple(path))}"


def _parameters(wrapper: Any) -> tuple[str, ...]:
    """The parameters of the function that an object, such as a decorator's, wraps."""
    code = getattr(getattr(wrapper, "__wrapped__", None), "__code__", None)
    return code.co_varnames[: code.co_argcount] if isinstance(code, CodeType) else ()
