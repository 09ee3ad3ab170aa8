"""Finds the loops of the program around a line, from its source as it was when it ran."""

from __future__ import annotations

import ast
import linecache
from typing import Iterator, NamedTuple, Sequence

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LARGEST = 20_000  # lines; larger files are generated, and take long to parse


class _Span(NamedTuple):
    """The lines of a loop with its head, and the function it is in; or those of a function."""

    first: int
    last: int
    scope: int
    is_loop: bool


class Loops:
    """Parses each file once. Used on the background thread, since it takes milliseconds."""

    def __init__(self) -> None:
        self._files: dict[str, list[_Span]] = {}

    def around(self, stack: Sequence[tuple[str, int, str]]) -> list[tuple[str, int, int, str]]:
        """The loops around a call, innermost first: file, first and last line, and function.

        Args:
            stack: file, line and function of the program's frames, innermost first.
        """
        return [
            (file, loop.first, loop.last, function)
            for file, line, function in stack
            for loop in self._enclosing(file, line)
        ]

    def _enclosing(self, file: str, line: int) -> list[_Span]:
        """The loops around a line in the same function, innermost first."""
        known = self._files.get(file)
        if known is None:
            known = self._files[file] = _spans(linecache.getlines(file))
        around = [span for span in known if span.first <= line <= span.last]
        scope = max((span.first for span in around if not span.is_loop), default=0)
        loops = [span for span in around if span.is_loop and span.scope == scope]
        return sorted(loops, key=lambda span: span.last - span.first)


def _spans(source: list[str]) -> list[_Span]:
    if len(source) > _LARGEST:
        return []
    try:
        return [*_below(ast.parse("".join(source)), 0)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _below(node: ast.AST, scope: int) -> Iterator[_Span]:
    for child in ast.iter_child_nodes(node):
        inside = scope
        if isinstance(child, _SCOPES):
            inside = child.lineno
            yield _Span(child.lineno, child.end_lineno or child.lineno, scope, is_loop=False)
        elif isinstance(child, _LOOPS):
            end = child.body[-1].end_lineno or child.body[-1].lineno
            yield _Span(child.lineno, end, scope, is_loop=True)
        yield from _below(child, inside)
