"""Finds what is new in a compiled function's key when it is compiled again.

JAX compiles a function for each combination of static arguments, of the tree structure of the other
arguments, of the shape, type, weak type and sharding of each leaf, and of JAX's configuration, and
again for each new function object. Keys are taken when JAX misses its cache, and compared with the
most similar key of the same function.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from .assignments import Place
from .static import Static, short, without_addresses

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
UNPLACED = "uncommitted"


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
    key = before if was is True or was == UNPLACED else after
    place = key.places.get(path) if name == "weak_type" or UNPLACED in (was, now) else None
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
