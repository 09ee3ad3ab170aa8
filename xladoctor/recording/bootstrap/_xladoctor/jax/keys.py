"""Finds what is new in a compiled function's key when it is compiled again.

JAX compiles a function for each combination of static arguments, of the tree structure of the other
arguments, of the shape, type, weak type and sharding of each leaf, and of JAX's configuration, and
again for each new function object. Keys are taken when JAX misses its cache, and compared with the
most similar key of the same function.
"""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from ..call_site import FRAMEWORK, USER
from .assignments import Assignments, Place, defined, made_on_the_stack
from .static import Static, is_jaxpr, short, static, without_addresses
from .wrapped_arguments import WrappedArguments

_KEPT = 64  # keys of a function that are kept
_MOST_CHANGES = 12  # differences that are recorded


class Change(NamedTuple):
    """One difference.

    Attributes:
        what: shape, type, weak_type, sharding, static, structure, configuration, or function. The
            last is for an object that is equal only to itself: the compiled function, or an
            argument with the same text.
        argument: its path, such as ``batch['x']``; empty if no argument differs.
        was: its text in the earlier key. now: its text in this one.
        place: the line that made what differs, if known.
    """

    what: str
    argument: str
    was: str
    now: str
    place: Place | None = None


class Function(NamedTuple):
    """The function that was compiled: where it is defined, and which object it is.

    Attributes:
        references: to the object; or to the bodies, for a loop or condition called by itself.
        traced: whether a transformation, such as differentiation, calls it: that makes another
            graph of it.
        place: where it was made, if it is defined within another function.
    """

    name: str
    code: CodeType | None
    references: tuple[Callable[[], Any], ...]
    traced: bool = False
    place: Place | None = None

    def is_same(self, other: Function) -> bool:
        """Whether it is the same object."""
        pairs = zip(self.references, other.references)
        return all(mine() is its() for mine, its in pairs)


class Key(NamedTuple):
    """All that decides whether a function must be compiled.

    Attributes:
        structure: by argument, the text of its tree.
        places: by path of an argument or leaf, the line that assigned it to its variable.
    """

    function: Function
    static: dict[str, Static]
    leaves: dict[str, tuple[Any, ...]]
    structure: dict[str, str]
    configuration: tuple[Any, ...]
    places: dict[str, Place]


class Keys:
    """The keys of all functions so far, each with the number of its compilation."""

    def __init__(self) -> None:
        self._of: dict[Any, list[tuple[int, Any, Key]]] = {}
        self._cleared: tuple[int, Place | None] = 0, None

    def cleared(self, number: int, place: Place | None) -> None:
        """Called when a line clears the framework's caches, after ``number`` compilations."""
        self._cleared = number, place

    def add(
        self, number: int, key: Key, site: int | None, call: Any = None
    ) -> tuple[int | None, list[Change]]:
        """Add a compilation; return the most similar earlier one and the differences.

        The earlier one is None for a function's first compilation, and if the keys do not differ.
        A primitive that is called by itself counts as one function per line.

        Args:
            key: the key of the call that compiled.
            call: which call on that line; among equally similar compilations its own come first.
        """
        function = key.function
        name = function.code or (function.name, site)
        earlier = self._of.setdefault((name, function.traced), [])
        best: tuple[tuple[int, bool], int, list[Change]] | None = None
        for old_number, old_call, old in reversed(earlier):
            changes = _changes(old, key)
            distance = len(changes), old_call != call
            if best is None or distance < best[0]:
                best = (distance, old_number, changes)
        earlier.append((number, call, key))
        del earlier[: len(earlier) - _KEPT]
        if best is None or (function.traced and not best[2]):  # tracers do not show batching
            return None, []
        _, against, changes = best
        until, place = self._cleared
        if against <= until and all(change.what == "function" for change in changes):
            changes = [Change("nothing", "", "", "jax.clear_caches()", place)]
        return against, changes[:_MOST_CHANGES]


def _changes(old: Key, new: Key) -> list[Change]:
    changes = []
    if not old.function.is_same(new.function):
        changes.append(Change("function", "", "", new.function.name, new.function.place))
    changes += _static(old, new)
    if old.structure != new.structure:
        changes += _structure(old, new)
    for path, leaf in new.leaves.items():
        before = old.leaves.get(path)
        if before is not None and before != leaf:
            changes += _leaf(path, old, new)
    if old.configuration != new.configuration:
        changes += _configuration(old.configuration, new.configuration)
    return changes


def _static(old: Key, new: Key) -> Iterator[Change]:
    for name in {**old.static, **new.static}:
        was, now = old.static.get(name, Static("")), new.static.get(name, Static(""))
        if was.text != now.text:
            yield Change("static", name, was.shown, now.shown)
        elif was != now:
            yield Change("function", name, "", now.shown, new.places.get(name))


def _structure(old: Key, new: Key) -> Iterator[Change]:
    gone = [path for path in old.leaves if path not in new.leaves]
    come = [path for path in new.leaves if path not in old.leaves]
    if gone or come:
        counts = f"{len(old.leaves)} leaves", f"{len(new.leaves)} leaves"
        yield Change("structure", (come or gone)[0], *counts)
        return
    for name, now in new.structure.items():
        was = old.structure.get(name, "")
        if without_addresses(was) != without_addresses(now):
            yield Change("structure", name, short(was), short(now))
        elif was != now:
            yield Change("function", name, "", short(without_addresses(now)), new.places.get(name))


_NAMES = ("shape", "type", "weak_type", "sharding")
_UNPLACED = "uncommitted"


def _leaf(path: str, before: Key, after: Key) -> Iterator[Change]:
    """The first difference among shape, type, weak type and sharding: the others follow from it.

    For weak types and shardings, the place is the line that made the weak or unplaced value.
    """
    old, new = before.leaves[path], after.leaves[path]
    name = next(name for name, was, now in zip(_NAMES, old, new) if was != now)
    if name in ("shape", "type"):
        yield Change(name, path, _typed(old), _typed(new))
        return
    number = _NAMES.index(name)
    was, now = old[number], new[number]
    key = before if was is True or was == _UNPLACED else after
    place = key.places.get(path) if name == "weak_type" or _UNPLACED in (was, now) else None
    yield Change(name, path, short(str(was)), short(str(now)), place)


def _typed(leaf: tuple[Any, ...]) -> str:
    shape, dtype = leaf[0], leaf[1]
    return f"{dtype}[{','.join(map(str, shape))}]"


def _configuration(old: Sequence[Any], new: Sequence[Any]) -> list[Change]:
    pairs = [(was, now) for was, now in zip(old, new) if was != now]
    if len(pairs) > 1:
        pairs = pairs[:-1]  # the last is the context, which contains the named options
    elif pairs and _option(*pairs[0]) == "context":
        pairs = [_differing(*pairs[0])]
    return [
        Change("configuration", _option(was, now), _value(was), _value(now)) for was, now in pairs
    ]


def _differing(was: Any, now: Any) -> tuple[Any, Any]:
    """The parts that differ between two values without names."""
    both = [*zip(was[1], now[1])] if len(was[1]) == len(now[1]) else [(was[1], now[1])]
    differ = [(str(a), str(b)) for a, b in both if a != b]
    return (was[0], ", ".join(a for a, _ in differ)), (was[0], ", ".join(b for _, b in differ))


def _option(was: Any, now: Any) -> str:
    named = isinstance(was, tuple) and isinstance(now, tuple) and len(was) == len(now) == 2
    return str(now[0]) if named and was[0] == now[0] else ""


def _value(item: Any) -> str:
    return short(str(item[1] if isinstance(item, tuple) and len(item) == 2 else item))


class KeyReader:
    """Takes keys from calls of compiled functions."""

    def __init__(self, jax: Any, kind: Callable[[str], int] = lambda _: USER) -> None:
        """
        Args:
            kind: classifies a file, see :mod:`..call_site`.
        """
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
        structure = dict(zip(sorted(dynamic), map(str, tree.children())))
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
        except Exception:  # not an array: JAX will report it
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


def _sharding(value: Any) -> str:
    """The sharding of an array if the program chose it: such arrays are *committed*."""
    if not getattr(value, "_committed", False):
        return _UNPLACED
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
