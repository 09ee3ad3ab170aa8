"""Reads the key of a call from JAX's own records of it."""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Any, Callable, Iterator, Sequence

from ..call_site import FRAMEWORK, USER
from ..disguise import pass_on
from .assignments import Assignments, Place, defined, made_on_the_stack
from .keys import UNPLACED, Function, Key
from .static import is_jaxpr, static
from .wrapped_arguments import WrappedArguments


class KeyReader:
    """Takes keys from calls of compiled functions."""

    def __init__(self, jax: Any, kind: Callable[[str], int] = lambda _: USER) -> None:
        """``kind``: classifies a file, see :mod:`..call_site`."""
        from jax._src import config, core

        self._tree = jax.tree_util
        self._passed = WrappedArguments(jax.tree_util, kind)
        self._assigned = Assignments(kind)
        self._config = config
        self._tracer = core.Tracer
        self._abstract = getattr(core, "shaped_abstractify", None) or core.get_aval

    def read(self, function: Any, info: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Key:
        """The key of a call.

        Args:
            info: JAX's own record of it, with ``static_argnums`` and ``static_argnames``.
        """
        values = _parameters(function)
        compiled = _function(function)
        names = _argument_names(function, compiled.code, len(args))
        numbers = {
            number if number >= 0 else number + len(args) for number in info.static_argnums or ()
        }
        for number in sorted(numbers & {*range(len(args))}):
            values[names[number]] = args[number]
        dynamic = {names[number]: arg for number, arg in enumerate(args) if number not in numbers}
        for name, value in kwargs.items():
            if name in (info.static_argnames or ()):
                values[name] = value
            else:
                dynamic[name] = value
        flat, tree = self._tree.tree_flatten_with_path(dynamic)
        named = self._passed.names(leaf for _, leaf in flat)
        leaves = {
            named.pop(id(leaf), "") or self._path(path): self._leaf(leaf) for path, leaf in flat
        }
        leaves = {**self._closed_over(function), **leaves}
        traced = any(isinstance(leaf, self._tracer) for _, leaf in flat)
        compiled = compiled._replace(traced=traced)
        structure = dict(zip(sorted(dynamic), map(_structure, tree.children())))
        places = {} if compiled.code is None else self._places({**dynamic, **values}, flat)
        fixed = {name: static(value) for name, value in values.items()}
        return Key(compiled, fixed, leaves, structure, self._configuration(), places)

    def _closed_over(self, function: Any) -> dict[str, tuple[Any, ...]]:
        """The arrays in a function's closure, which would be leaves if they were arguments."""
        found = {}
        for plain in _layers(function):
            names = getattr(getattr(plain, "__code__", None), "co_freevars", ())
            for name, cell in zip(names, getattr(plain, "__closure__", None) or ()):
                value = cell.cell_contents if _is_filled(cell) else None
                if hasattr(value, "shape") and not isinstance(value, self._tracer):
                    found[name] = self._leaf(value)
        return found

    def _places(
        self, arguments: dict[str, Any], leaves: Sequence[tuple[Any, Any]]
    ) -> dict[str, Place]:
        """The lines that assigned these arguments, or their leaves, to the program's variables."""
        places = self._assigned.places([*arguments.values(), *(leaf for _, leaf in leaves)])
        found = {name: places.get(id(value)) for name, value in arguments.items()}
        found.update(
            {
                self._path(path): places.get(id(leaf)) or found.get(path[0].key)
                for path, leaf in leaves
            }
        )
        return {name: place for name, place in found.items() if place is not None}

    def _path(self, path: Sequence[Any]) -> str:
        """``params['dense']['kernel']``: the first key is the argument's name."""
        first = getattr(path[0], "key", "")
        return f"{first}{self._tree.keystr(tuple(path[1:]))}"

    def _leaf(self, value: Any) -> tuple[Any, ...]:
        try:
            aval = self._abstract(value)
        except Exception as error:  # not an array: JAX will report it
            pass_on(error)
            return ((), type(value).__name__, False, "")
        weak = bool(getattr(aval, "weak_type", False))
        dtype = getattr(aval, "dtype", type(value).__name__)
        return tuple(getattr(aval, "shape", ())), str(dtype), weak, _sharding(value)

    def _configuration(self) -> tuple[Any, ...]:
        """The other parts of each key, with the names of options where they are known."""
        values = self._config.trace_context()
        named = sorted(
            (name, value)
            for name, value in getattr(self._config.config, "values", {}).items()
            if name.startswith("jax_") and isinstance(value, (str, int, float, bool, type(None)))
        )
        plain = [value for value in values if isinstance(value, (str, int, float, bool))]
        return (*named, ("context", tuple(plain)))


def _structure(tree: Any) -> str:
    """The text of a tree, with that of its static fields."""
    try:
        return str(tree)
    except Exception as error:  # the program's own code may raise anything
        pass_on(error)
        return f"tree of {tree.num_leaves}"


def _sharding(value: Any) -> str:
    """The sharding of an array if the program chose it: such arrays are *committed*."""
    if not getattr(value, "_committed", False):
        return UNPLACED
    return str(getattr(value, "sharding", ""))


def _parameters(function: Any) -> dict[str, Any]:
    """The parameters of a primitive that is called by itself, outside of a compiled function."""
    if not getattr(function, "_apply_primitive", False):
        return {}
    return {name: value for name, value in _cell(function, "params").items() if not _body(value)}


def _function(function: Any) -> Function:
    plain = function
    for _ in range(16):
        inner = getattr(plain, "func", None) or getattr(plain, "__wrapped__", None)
        inner = inner or getattr(plain, "__func__", None)
        if inner is None or hasattr(plain, "__code__"):
            break
        plain = inner
    name = str(getattr(plain, "__qualname__", type(plain).__name__))
    if getattr(function, "_apply_primitive", False):  # JAX makes one for each set of parameters
        bodies = _bodies(function)
        place = min(filter(None, map(made_on_the_stack, bodies)), default=None)
        return Function(name, None, tuple(map(_reference, bodies)), place=place)
    code = getattr(plain, "__code__", None)
    return Function(name, code, (_reference(function),), place=defined(code))


def _layers(function: Any) -> Iterator[Any]:
    """The function, and what it wraps."""
    for _ in range(16):
        if function is None:
            return
        yield function
        function = getattr(function, "func", None) or getattr(function, "__wrapped__", None)


def _is_filled(cell: Any) -> bool:
    """Whether the closure's variable has a value yet."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def is_operation(function: Any, kind: Callable[[str], int]) -> bool:
    """Whether a compiled function is the framework's own and contains no function of the program.

    Args:
        kind: classifies a file, see :mod:`..call_site`.
    """
    for layer in _layers(function):
        if getattr(layer, "_apply_primitive", False):
            return not _bodies(layer)
        function = layer
    code = getattr(function, "__code__", None)
    return code is not None and kind(code.co_filename) == FRAMEWORK


def _bodies(primitive: Any) -> list[Any]:
    """The functions that a primitive applies, such as a loop's body."""
    return [body for value in _cell(primitive, "params").values() for body in _body(value)]


def _body(value: Any) -> tuple[Any, ...]:
    """The functions in a parameter; a condition has several branches."""
    bodies = value if isinstance(value, tuple) else (value,)
    return bodies if all(is_jaxpr(body) or callable(body) for body in bodies) else ()


def _cell(function: Any, name: str) -> dict[str, Any]:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    contents = cells[name].cell_contents if name in cells else {}
    return contents if isinstance(contents, dict) else {}


def _reference(value: Any) -> Callable[[], Any]:
    """A weak reference to an object.

    A dead one equals no other: its function is gone, and a later one is new.
    """
    try:
        weak = weakref.ref(value)
    except TypeError:
        return lambda: None  # cannot be identified
    gone = object()

    def target() -> Any:
        alive = weak()
        return gone if alive is None else alive

    return target


def _argument_names(function: Any, code: CodeType | None, count: int) -> list[str]:
    bound = 1 if getattr(function, "__self__", None) is not None else 0
    names = list(code.co_varnames[bound : code.co_argcount]) if code else []
    return [
        names[number] if number < len(names) else f"argument {number}" for number in range(count)
    ]
