"""What still needs the large arguments of a compiled function after a call: nothing, if the result
takes their names, and they can be donated.

At some launches of a line, weak references to its largest arguments are kept. Until the line
launches again, each launch and each read is looked at; whatever then is alive, the program has
kept. What the program keeps of every hundredth step is seen, as the looks come in threes.
"""

from __future__ import annotations

import weakref
from collections.abc import Set as AbstractSet
from typing import Any, Callable, Iterator

from .call_arrays import LARGE
from .constants import size_of

#: Launches of a line before those at which it is looked at.
LOOKS = frozenset({3, 4, *(number for number in range(10, 300) if number % 10 < 3)})
_MOST = 32  # arguments of a line, the largest
_SITES = 64

#: Number of the argument, function and line that it was passed to, and a reference to it.
_Passed = tuple[int, str, "int | None", Any]


class Uses:
    """Remembers arguments until their line launches again.

    Attributes:
        pending: those, by their ids.
    """

    def __init__(self, leaves: Callable[[Any], list[Any]], operations: AbstractSet[int | None]):
        """
        Args:
            leaves: returns the leaves of a tree.
            operations: sites of single operations, which no line defines.
        """
        self.pending: dict[int, _Passed] = {}
        self._leaves = leaves
        self._operations = operations
        #: By line and function, the arguments that are looked at, and those that something needs.
        self._looked: dict[tuple[int | None, str], tuple[list[int], set[int]]] = {}
        self._found: list[dict[str, Any]] = []

    def called(
        self, launches: int, site: int | None, function: Any, args: Any, kwargs: Any
    ) -> list[dict[str, Any]]:
        """Called when a call has returned; returns what is known now, each as the fields of an
        :class:`~..argument_facts.ArgumentUse`.
        """
        given = self._leaves(dynamic(function, args, kwargs))
        self.note("launch", given, site)
        for key, (number, name, line, array) in list(self.pending.items()):
            if line == site:
                self.pending.pop(key, None)
                if array() is not None:
                    self._needed("kept", number, name, site)
        if launches in LOOKS and site not in self._operations:
            self._look(site, str(getattr(function, "__name__", "")), given)
        found, self._found = self._found, []
        return found

    def note(self, how: str, values: Any, site: int | None = None) -> None:
        """Called with what is read, or passed to a launch, of the line ``site`` if known."""
        for array in self._leaves(values):
            passed = self.pending.get(id(array))
            if passed is not None and passed[3]() is array:
                number, name, line, _ = self.pending.pop(id(array))
                again = how == "launch" and site is not None and line == site
                self._needed("again" if again else how, number, name, line)

    def _needed(self, how: str, number: int, name: str, site: int | None) -> None:
        needed = self._looked[site, name][1]
        if number not in needed:
            needed.add(number)
            self._found.append({"compiled": name, "number": number, "used": how, "site": site})

    def _look(self, site: int | None, name: str, given: list[Any]) -> None:
        looked = self._looked.get((site, name))
        if looked is None:
            if len(self._looked) == _SITES:
                return
            looked = self._looked[site, name] = list(_largest(given)), set()
            for number in looked[0]:
                self._found.append({"compiled": name, "number": number, "site": site})
        for number in looked[0]:
            array: Any = given[number] if number < len(given) else None
            if not hasattr(type(array), "is_deleted") or array.is_deleted():
                continue
            twice = self.pending.get(id(array))
            if twice is not None and twice[3]() is array:  # could be donated only once
                self._needed("again", twice[0], name, site)
                self._needed("again", number, name, site)
            self.pending[id(array)] = number, name, site, weakref.ref(array)


def _largest(arrays: list[Any]) -> Iterator[int]:
    """The numbers of the largest arrays of a device."""
    sizes = [
        (size_of(array), number)
        for number, array in enumerate(arrays)
        if hasattr(type(array), "is_deleted")  # asked for more, a donated one raises
    ]
    chosen = sorted((each for each in sizes if each[0] >= LARGE), reverse=True)[:_MOST]
    return (number for _, number in chosen)


def dynamic(function: Any, args: Any, kwargs: Any) -> Any:
    """The arguments that are not static, as JAX flattens them."""
    info = getattr(function, "_jit_info", None)
    numbers = {*(getattr(info, "static_argnums", None) or ())}
    names = {*(getattr(info, "static_argnames", None) or ())}
    if not numbers and not names:
        return args, kwargs
    passed = [
        value for number, value in enumerate(args) if not numbers & {number, number - len(args)}
    ]
    return passed, {name: kwargs[name] for name in kwargs if name not in names}
