"""The large arrays that a compiled function closes over, which become constants of its program.

XLA computes with constants while it compiles, which takes long where they are large, and keeps them
in the program beside the arrays themselves.
"""

from __future__ import annotations

import math
import sys
from types import CodeType
from typing import Any, Iterator

#: Bytes from which computing with a constant can take noticeable time.
_LARGE = 1 << 20
_MOST = 8  # constants that are named, the largest first


def large_constants(params: Any) -> list[Any]:
    """The arrays, largest first, of what JAX inferred for a call: the consts of its jaxpr."""
    consts = params.params["jaxpr"].consts
    arrays = [getattr(each, "val", each) for each in consts if size_of(each) >= _LARGE]
    return sorted(arrays, key=size_of, reverse=True)[:_MOST]


def size_of(array: Any) -> int:
    """The bytes of an array; 0 for what is none."""
    shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
    return math.prod(shape) * int(getattr(dtype, "itemsize", 0)) if shape is not None else 0


def text_of(array: Any) -> str:
    """The type and shape of an array, as ``float32[2,3]``."""
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def variables(function: Any, arrays: list[Any]) -> dict[int, tuple[str, Any]]:
    """The variable, global or closed over, that a function has each array in, and its value.

    By the id of the array. JAX may have copied one of NumPy: then the only variable of this type
    and shape.
    """
    kinds = (sys.modules["numpy"].ndarray, *map(type, arrays))
    held = [each for each in _held(function) if issubclass(type(each[1]), kinds)]
    found = {}
    for array in arrays:
        same = [each for each in held if each[1] is array]
        alike = [each for each in held if text_of(each[1]) == text_of(array)]
        if same or len(alike) == 1:
            found[id(array)] = (same or alike)[0]
    return found


def _held(function: Any) -> Iterator[tuple[str, Any]]:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if code is None:
        return
    known = getattr(function, "__globals__", {})
    yield from ((name, known[name]) for name in dict.fromkeys(_globals(code)) if name in known)
    for name, cell in zip(code.co_freevars, getattr(function, "__closure__", None) or ()):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue


def _globals(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals(inner)
