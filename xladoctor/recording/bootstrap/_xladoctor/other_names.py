"""Finds where the program's files use names of a package that its framework has replaced.

The files are read at the end: what they import need not be installed.
"""

from __future__ import annotations

import ast
import os
import sys
from itertools import islice
from typing import Callable, Iterator, NamedTuple

from .call_site import USER, CallSites
from .files import announce

_MOST_FILES = 200
_MOST_NAMES = 500  # noted at most
_LARGEST = 2_000_000  # bytes of a file


class Use(NamedTuple):
    """A name, in full, and the line that uses it."""

    name: str
    file: str
    line: int
    function: str


def announce_uses(run: str, package: str, main: str | None, sites: CallSites) -> None:
    """Note the uses in the program's files in the run directory; arguments as of :func:`uses`."""
    own = uses(package, main, lambda file: sites.kind(file) == USER)
    for use in islice(own, _MOST_NAMES):
        announce(run, f"uses {use.name} {use.line} {use.function} {use.file}")


def uses(package: str, main: str | None, users: Callable[[str], bool]) -> Iterator[Use]:
    """The uses in the program's files that can be read and parsed.

    Args:
        package: the package; importing it counts as a use of its name.
        main: the program's main file.
        users: whether a file is the program's own.
    """
    for file in _files(main, users)[:_MOST_FILES]:
        try:
            if os.path.getsize(file) > _LARGEST:
                continue
            with open(file, "rb") as opened:
                source = opened.read()
            if package.encode() not in source:
                continue
            tree = ast.parse(source)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        visitor = _Visitor(package, file)
        visitor.bind(tree)
        visitor.visit(tree)
        yield from visitor.found


def _files(main: str | None, users: Callable[[str], bool]) -> list[str]:
    """The program's files: of its modules, and of the exception that ended it."""
    names = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    traceback = getattr(getattr(sys, "last_value", None), "__traceback__", None)
    while traceback is not None:  # a module whose import fails is gone
        names.append(traceback.tb_frame.f_code.co_filename)
        traceback = traceback.tb_next
    files = [os.path.abspath(name) for name in names if isinstance(name, str)]
    own = [file for file in files if file.endswith(".py") and users(file)]
    return list(dict.fromkeys(([main] if main else []) + own))


class _Visitor(ast.NodeVisitor):
    """Collects the uses of a file, in the order of its text."""

    def __init__(self, package: str, file: str) -> None:
        self.found: list[Use] = []
        self._package = package
        self._file = file
        self._function = "<module>"
        self._bound: dict[str, str] = {}  # names of the file, with what they stand for

    def bind(self, tree: ast.AST) -> None:
        """Learn what the imports of the file give names to, wherever they stand."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in filter(self._is_of_package, node.names):
                    self._bound[alias.asname or self._package] = (
                        alias.name if alias.asname else self._package
                    )
            elif isinstance(node, ast.ImportFrom) and self._from_package(node):
                for alias in node.names:
                    self._bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit_Import(self, node: ast.Import) -> None:
        if any(map(self._is_of_package, node.names)):
            self._use(self._package, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if self._from_package(node):
            self._use(self._package, node.lineno)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        outer, self._function = self._function, node.name
        self.visit(node.args)
        for statement in node.body:
            self.visit(statement)
        self._function = outer

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self._bound:
            name = ".".join((self._bound[inner.id], *reversed(parts)))
            self._use(name, node.lineno)
        else:
            self.visit(inner)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id in self._bound:
            self._use(self._bound[node.id], node.lineno)

    def _use(self, name: str, line: int) -> None:
        self.found.append(Use(name, self._file, line, self._function))

    def _is_of_package(self, alias: ast.alias) -> bool:
        return alias.name.split(".")[0] == self._package

    def _from_package(self, node: ast.ImportFrom) -> bool:
        return not node.level and (node.module or "").split(".")[0] == self._package
