"""What the source of a program does with a variable that holds arrays: where it adds to it, whether
it ever takes something out, and whether it reads it again.
"""

from __future__ import annotations

import ast
import linecache
from typing import Iterator, NamedTuple

from .census import Variable
from .loops import Loops

_LARGEST = 20_000  # lines; larger files are generated, and take long to parse
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ADDS = frozenset(("append", "appendleft", "extend", "add", "insert", "update", "setdefault"))
_TAKES = frozenset(("clear", "pop", "popleft", "popitem", "remove", "discard"))
#: Calls that may read any variable.
_READS_ALL = frozenset(("locals", "globals", "vars", "eval", "exec"))

#: File, line and function.
Line = tuple[str, int, str]


class Use(NamedTuple):
    """What the source does with a variable, attribute or entry.

    Attributes:
        added: the line that adds to it, if there is one such line.
        released: whether it takes entries out, limits them, or makes the object anew in the loop;
            None if the source is not known.
    """

    added: Line | None = None
    released: bool | None = None


class _Spot(NamedTuple):
    """A node of a file's syntax tree, with the names of the functions around it, the outermost
    first, and whether a loop is around it in the innermost of these.
    """

    node: ast.AST
    functions: tuple[str, ...]
    looping: bool


class Sources:
    """The program's files. Used on the background thread, as parsing one takes milliseconds."""

    def __init__(self) -> None:
        self._files: dict[str, list[_Spot] | None] = {}
        self._loops = Loops()

    def use(self, variable: Variable, path: tuple[str, ...], files: list[str]) -> Use:
        """
        Args:
            path: labels from the variable to what holds the arrays.
            files: of the variable, and of the classes of objects on the path.
        """
        labels = [label for label in path if label and not label.startswith("[")]
        name = labels[-1].lstrip(".")
        known = [(file, spots) for file in files if (spots := self._spots(file)) is not None]
        if not known:
            return Use()
        running = [function.rpartition(".")[2] for _, _, function in variable.stack]
        adds: list[tuple[bool, Line]] = []
        released = False
        for file, spots in known:
            for spot in spots:
                inner = spot.functions[-1] if spot.functions else "<module>"
                if _adds(spot.node, name):
                    line = (file, getattr(spot.node, "lineno", 1), inner)
                    adds.append((inner in running, line))
                elif _takes(spot.node, name):
                    released = True
                elif _assigns(spot.node, name):
                    released = released or self._is_anew(spot, inner, running, variable)
        lines = {line for _, line in adds}
        if len(lines) > 1:
            lines = {line for runs, line in adds if runs}
        return Use(lines.pop() if len(lines) == 1 else None, released)

    def _is_anew(self, spot: _Spot, inner: str, running: list[str], variable: Variable) -> bool:
        """Whether an assignment is one of a loop that goes on, so that the object is made anew."""
        if spot.looping:
            return True
        if inner in ("__init__", "__post_init__", "<module>"):
            return False
        if inner not in running:
            return True
        callers = variable.stack[running.index(inner) + 1 :]
        return bool(self._loops.around(callers))

    def unread(self, variable: Variable) -> Line | None:
        """The line that last assigned a variable that nothing reads any more; None if something
        may read it.
        """
        file, now, function = variable.stack[0]
        scope = function.rpartition(".")[2]
        spots = None if "<" in file else self._spots(file)
        if spots is None or variable.parameter:
            return None
        loops = [first for _, first, _, _ in self._loops.around(variable.stack[:1])]
        again = min([now, *loops])  # lines from there on run later, or now
        assigned = []
        for spot in spots:
            inner = spot.functions[-1] if spot.functions else "<module>"
            if isinstance(spot.node, ast.Call) and _name(spot.node.func) in _READS_ALL:
                return None
            if isinstance(spot.node, ast.Global | ast.Nonlocal) and variable.name in spot.node.names:
                return None
            if not (isinstance(spot.node, ast.Name) and spot.node.id == variable.name):
                continue
            if inner != scope:
                if scope == "<module>" or scope in spot.functions:
                    return None  # a function within reads it, or has one of its own by this name
            elif isinstance(spot.node.ctx, ast.Store) and spot.node.lineno < again:
                assigned.append(spot.node.lineno)
            elif spot.node.lineno >= again:
                return None
        return (file, max(assigned), function) if assigned else None

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


def _name(node: ast.AST | None) -> str | None:
    """The last name of what an expression stands for: of ``self.history['loss']``, ``history``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return getattr(node, "id", None) or getattr(node, "attr", None)


def _adds(node: ast.AST, name: str) -> bool:
    """Whether a statement or call adds to it: ``x.append(…)``, ``x[key] = …``, ``x += …``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _ADDS and _name(node.func.value) == name
    if isinstance(node, ast.AugAssign):
        return _name(node.target) == name
    if isinstance(node, ast.Assign):
        entry = [each for each in node.targets if isinstance(each, ast.Subscript)]
        if any(_name(each) == name and not isinstance(each.slice, ast.Slice) for each in entry):
            return True
        again = any(_name(each) == name for each in node.targets)
        return again and isinstance(node.value, ast.BinOp) and _name(node.value.left) == name
    return False


def _takes(node: ast.AST, name: str) -> bool:
    """Whether it takes entries out, or looks at how many there are."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _TAKES and _name(node.func.value) == name
    if isinstance(node, ast.Delete):
        return any(isinstance(each, ast.Subscript) and _name(each) == name for each in node.targets)
    if isinstance(node, ast.Compare):
        sizes = [each for each in (node.left, *node.comparators) if isinstance(each, ast.Call)]
        return any(
            _name(each.func) == "len" and any(_name(given) == name for given in each.args)
            for each in sizes
        )
    return False


def _assigns(node: ast.AST, name: str) -> bool:
    """Whether it makes the object anew: ``x = …``, ``x[:] = …``."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    flat = [each for top in targets for each in (getattr(top, "elts", None) or [top])]
    return any(
        _name(each) == name and (not isinstance(each, ast.Subscript) or isinstance(each.slice, ast.Slice))
        for each in flat
    )
