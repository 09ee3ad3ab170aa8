"""Where the texts of two graphs differ first, and which line of the program that is.

The text is MLIR's generic form with locations: operations in their order, each with ``loc(#loc7)``,
then a definition of each location: a file and line, a name around another location, or a call site
(https://mlir.llvm.org/docs/Dialects/Builtin/#location-attributes).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Literal

#: What differs: a number compiled in; an argument; the result alone; the order alone; a call of
#: foreign code; another operation; only names and lines; nothing that the text shows.
Kind = Literal[
    "constant", "argument", "result", "order", "kernel", "operation", "metadata", "unknown"
]
_DEFINITION = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_FILE = re.compile(r'"([^"]+)":(\d+):\d+')
_LOCATION = re.compile(r'\s*loc\((?:#loc\d*|unknown|"(?:[^"\\]|\\.)*"(?:\(#loc\d*\))?)\)')
_AT_END = re.compile(r"loc\((#loc\d*)\)\s*$")
_REFERENCE = re.compile(r"#loc\d*")
_DIGEST = "// constant "
_ELIDED = "__elided__"
_NAME = re.compile(r'(?:[%\w#:, ]+ = )?"?([a-z_]+\.[\w.]+)')
_RESULT = re.compile(r"^(%[\w#:]+) = ")
_VALUE = re.compile(r"%[\w#]+")
_ARGUMENT = re.compile(
    r"%arg\d+: (?P<type>[^ ,({]+(?:<[^>]*>)?)(?: \{(?P<attributes>[^}]*)\})?"
    r'(?: loc\((?:"(?P<name>[^"]*)"|#loc\d*|unknown)\))?'
)
_HEAD = "func.func"
_CONSTANT = "stablehlo.constant"
_FOREIGN = "custom_call"

#: A file, and a line in it.
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference of two graphs.

    Attributes:
        what: the operation, or the argument, by name.
        was, now: the operation, or the type; empty where one has none.
        places: the lines that it was traced from, innermost first, in the graph of now.
    """

    kind: Kind
    what: str = ""
    was: str = ""
    now: str = ""
    places: tuple[Place, ...] = ()


class Computation:
    """The text of a graph."""

    def __init__(self, text: str) -> None:
        lines = text.splitlines()
        self._digests = iter([each for each in lines if each.startswith(_DIGEST)])
        self._located = dict(_definitions(lines))
        self._lines = [each for each in lines if each and not each.startswith((_DIGEST, "#loc"))]

    @cached_property
    def operations(self) -> list[str]:
        """Each operation without its location; the values of a large constant as a digest."""
        return [self._with_values(_LOCATION.sub("", line).strip()) for line in self._lines]

    def _with_values(self, operation: str) -> str:
        if _ELIDED not in operation:
            return operation
        digest = next(self._digests, "").removeprefix(_DIGEST)
        return operation.replace(_ELIDED, f"values {digest or 'unknown'}")

    def arguments(self, index: int) -> list[re.Match[str]]:
        """The arguments of the function that an operation begins."""
        return list(_ARGUMENT.finditer(self._lines[index]))

    def places(self, index: int) -> tuple[Place, ...]:
        """The lines that an operation was traced from, innermost first; of a constant, those of
        what first takes it, as a constant has no line of its own.
        """
        if index >= len(self._lines):
            return ()
        taker = self._taker(index) if _CONSTANT in self.operations[index] else None
        found = self._location(index if taker is None else taker)
        return tuple(self._resolved(found)) if found else ()

    def _location(self, index: int) -> str | None:
        """The location of an operation, which one with a body has behind its last bracket."""
        line = self._lines[index]
        if found := _AT_END.search(line):
            return found[1]
        if not line.endswith("{"):
            return None
        closing = line[: len(line) - len(line.lstrip())] + "}"
        ends = (each for each in self._lines[index + 1 :] if each.startswith(closing))
        found = _AT_END.search(next(ends, ""))
        return found[1] if found else None

    def _taker(self, index: int) -> int | None:
        """The first operation that takes the result of another; what only shapes it is passed."""
        result = _RESULT.match(self.operations[index])
        if result is None:
            return None
        for later in range(index + 1, len(self.operations)):
            operation = self.operations[later]
            if result[1] in _VALUE.findall(operation.partition(" = ")[2]):
                return later
            if operation == "}":
                return None
        return None

    def _resolved(self, location: str, depth: int = 0) -> Iterator[Place]:
        content = self._located.get(location, "")
        if found := _FILE.match(content):
            yield found[1], int(found[2])
        elif depth < 64:
            for inner in _REFERENCE.findall(content):
                yield from self._resolved(inner, depth + 1)

    def all_places(self) -> list[Place]:
        """Every line that is named, in the order of the text."""
        return [(m[1], int(m[2])) for m in map(_FILE.match, self._located.values()) if m]


def _definitions(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if found := _DEFINITION.match(line):
            yield found[1], found[2]


def first_difference(was: Computation, now: Computation) -> Difference:
    """Where ``now`` differs first from ``was``: the first operation that only one of them has."""
    added, removed = _surplus(now, was), _surplus(was, now)
    if added or removed:
        return _different(was, now, added, removed)
    for index, (old, new) in enumerate(zip(was.operations, now.operations, strict=False)):
        if old != new:
            return Difference("order", operation_of(new), old, new, now.places(index))
    named = zip_longest(was.all_places(), now.all_places(), fillvalue=("", 0))
    for before, after in named:
        if before != after:
            places = (after,) if after[0] else ()
            return Difference("metadata", "", _place(before), _place(after), places)
    return Difference("unknown")


def _place(place: Place) -> str:
    return f"{place[0]}:{place[1]}" if place[0] else ""


def _surplus(graph: Computation, other: Computation) -> list[int]:
    """The positions of operations that a graph has more of than the other, in order."""
    there = Counter(map(_shape, other.operations))
    found = []
    for index, operation in enumerate(graph.operations):
        shape = _shape(operation)
        if there[shape]:
            there[shape] -= 1
        elif operation_of(operation):
            found.append(index)
    return found


def _shape(operation: str) -> str:
    """An operation without the names of values, which follow from its position."""
    return _VALUE.sub("%", operation)


def _different(
    was: Computation, now: Computation, added: list[int], removed: list[int]
) -> Difference:
    graph, positions = (now, added) if added else (was, removed)
    index = next((each for each in positions if _tells(graph, each)), positions[0])
    operation = graph.operations[index]
    what = operation_of(operation)
    if what == _HEAD and added and removed:
        return _signature(was, now, removed[0], index)
    others = was if added else now
    alike = [
        each for each in (removed if added else []) if operation_of(others.operations[each]) == what
    ]
    old = others.operations[alike[0]] if alike else ""
    pair = (old, operation) if added else (operation, "")
    kind: Kind = "operation"
    if what == _CONSTANT and old:
        kind = "constant"
    elif what.endswith(_FOREIGN) and old:
        kind = "kernel"
    return Difference(kind, what, *pair, graph.places(index))


def _tells(graph: Computation, index: int) -> bool:
    """Whether a line is of the program, or of its arguments: not a declaration beside it."""
    return operation_of(graph.operations[index]) == _HEAD or bool(graph.places(index))


def operation_of(line: str) -> str:
    """The name of an operation, such as ``stablehlo.add``; empty for other lines."""
    found = _NAME.match(line)
    return found[1] if found else ""


def _signature(was: Computation, now: Computation, before: int, after: int) -> Difference:
    """The first argument that differs, or the result."""
    pairs = zip_longest(was.arguments(before), now.arguments(after))
    for number, (old, new) in enumerate(pairs):
        if _described(old) != _described(new):
            known = new or old
            name = (known["name"] if known else None) or f"number {number}"
            return Difference("argument", name, _described(old), _described(new))
    old_result, new_result = (
        graph.operations[index].partition(" -> ")[2].rstrip("{ ")
        for graph, index in ((was, before), (now, after))
    )
    return Difference("result", "", old_result, new_result, now.places(after))


def _described(argument: re.Match[str] | None) -> str:
    if argument is None:
        return ""
    return " ".join(filter(None, (argument["type"], argument["attributes"])))
