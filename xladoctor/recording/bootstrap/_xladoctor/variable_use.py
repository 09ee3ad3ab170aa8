"""What the source of a program does with a variable that holds arrays: where it adds to it, whether
it ever takes something out, and whether it reads it again.
"""

from __future__ import annotations

import ast
import linecache
from typing import Any, Iterator, NamedTuple

from .census import Variable
from .loops import Loops

_LARGEST = 20_000  # lines; larger files are generated, and take long to parse
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ADDS = frozenset(("append", "appendleft", "extend", "add", "insert", "update", "setdefault"))
_TAKES = frozenset(("clear", "pop", "popleft", "popitem", "remove", "discard"))
_ONCE = ("__init__", "__post_init__", "<module>")  # run once for each object
#: Calls that may read any variable.
_READS_ALL = frozenset(("locals", "globals", "vars", "eval", "exec"))

#: File, line and function.
Line = tuple[str, int, str]


class _Spot(NamedTuple):
    """A node of a syntax tree, the functions around it, and whether a loop is, in the innermost."""

    node: ast.AST
    functions: tuple[str, ...]
    looping: bool

    @property
    def inner(self) -> str:
        return self.functions[-1] if self.functions else "<module>"


class Sources:
    """The program's files. Used on the background thread, as parsing one takes milliseconds."""

    def __init__(self) -> None:
        self._files: dict[str, list[_Spot] | None] = {}
        self._loops = Loops()

    def use(
        self, variable: Variable, path: tuple[str, ...], files: list[str]
    ) -> tuple[Line | None, bool | None]:
        """The line that adds to an object, if there is one such line; and whether any line takes
        entries out, looks at how many there are, or makes the object again in the loop, which is
        None if no source is known. ``files``: of the variable, and of the classes on the path.
        """
        labels = [label for label in path if label and not label.startswith("[")]
        name, scope = labels[-1].lstrip("."), _last(variable.stack[0][2])
        running = [_last(function) for _, _, function in variable.stack]
        known = [(file, spots) for file in files if (spots := self._spots(file)) is not None]
        adds, released = set[Line](), False
        for file, spots in known:
            shared = {spot.inner for spot in spots if _declares(spot.node, name)}
            for spot in spots:
                effect = _effect(spot.node, name)
                if not effect or (len(labels) == 1 and not _sees(spot, scope, effect, shared)):
                    continue
                if effect == "adds":
                    adds.add((file, getattr(spot.node, "lineno", 1), spot.inner))
                elif effect == "takes" or self._is_again(spot, running, variable):
                    released = True
        if len(adds) > 1:
            adds = {line for line in adds if line[2] in running}
        return (adds.pop() if len(adds) == 1 else None), (released if known else None)

    def _is_again(self, spot: _Spot, running: list[str], variable: Variable) -> bool:
        """Whether an assignment is part of a loop that goes on, or may be."""
        if spot.looping or spot.inner in _ONCE:
            return spot.looping
        if spot.inner not in running:
            return True
        return bool(self._loops.around(variable.stack[running.index(spot.inner) + 1 :]))

    def unread(self, variable: Variable) -> Line | None:
        """The line that last assigned a variable; None if something may still read it."""
        file, now, function = variable.stack[0]
        spots = None if "<" in file or variable.parameter else self._spots(file)
        around = self._loops.around(variable.stack[:1])
        again = min([now, *(first for _, first, _, _ in around)])  # lines from there on still run
        scope, assigned = _last(function), 0
        for node, functions, _ in spots or ():
            if isinstance(node, ast.Call) and _name(node.func) in _READS_ALL:
                return None
            if _declares(node, variable.name):
                return None
            if not (isinstance(node, ast.Name) and node.id == variable.name):
                continue
            if (functions or ("<module>",))[-1] != scope:
                if scope == "<module>" or scope in functions:
                    return None  # a function within reads it, or has one of its own by this name
            elif node.lineno >= again:
                return None
            elif isinstance(node.ctx, ast.Store):
                assigned = max(assigned, node.lineno)
        return (file, assigned, function) if assigned else None

    def _spots(self, file: str) -> list[_Spot] | None:
        if file not in self._files:
            source = linecache.getlines(file)
            try:
                tree = ast.parse("".join(source)) if 0 < len(source) <= _LARGEST else None
                self._files[file] = None if tree is None else [*_below(tree, (), False)]
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._files[file] = None
        return self._files[file]


def _below(node: ast.AST, functions: tuple[str, ...], looping: bool) -> Iterator[_Spot]:
    for child in ast.iter_child_nodes(node):
        yield _Spot(child, functions, looping)
        if isinstance(child, _FUNCTIONS):
            inside = (*functions, getattr(child, "name", "<lambda>"))
            yield from _below(child, inside, False)
        else:
            yield from _below(child, functions, looping or isinstance(child, _LOOPS))


def _last(function: str) -> str:
    return function.rpartition(".")[2]


def _declares(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Global | ast.Nonlocal) and name in node.names


def _sees(spot: _Spot, scope: str, effect: str, shared: set[str]) -> bool:
    if scope != "<module>":
        return scope in spot.functions
    return effect != "makes" or spot.inner in (scope, *shared)


def _name(node: ast.AST | None) -> str | None:
    """The last name of what an expression stands for: of ``self.history['loss']``, ``history``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return getattr(node, "id", None) or getattr(node, "attr", None)


def _effect(node: ast.AST, name: str) -> str:
    """What a statement or an expression does to an object: adds, takes, makes, or nothing."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return _of_assignment(node, name)
    takes: list[Any] = []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = node.func.attr if _name(node.func.value) == name else ""
        return "adds" if method in _ADDS else "takes" if method in _TAKES else ""
    if isinstance(node, ast.AugAssign):
        return "adds" if _name(node.target) == name else ""
    if isinstance(node, ast.Delete):
        takes = [each for each in node.targets if isinstance(each, ast.Subscript)]
    elif isinstance(node, ast.Compare):
        sides = [each for each in (node.left, *node.comparators) if isinstance(each, ast.Call)]
        takes = [each.args[0] for each in sides if _name(each.func) == "len" and each.args]
    return "takes" if name in map(_name, takes) else ""


def _of_assignment(node: ast.Assign | ast.AnnAssign, name: str) -> str:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] * bool(node.value)
    for target in [each for top in targets for each in (getattr(top, "elts", None) or [top])]:
        if _name(target) == name:
            entry = isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice)
            longer = isinstance(node.value, ast.BinOp) and _name(node.value.left) == name
            return "adds" if entry or longer else "makes"
    return ""
