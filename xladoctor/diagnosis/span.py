"""Finds the expression in a line that a finding is about, for carets.

Only the line's own text is known, which may be part of a statement: a line that cannot be parsed
has no expression.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection

from xladoctor.diagnosis.source_line import without_comment

#: Kind of read, as the capture names it -> the calls that it may be written as.
_READS = {
    "repr": ("print", "format", "str", "repr"),
    "fetch": ("float", "int", "item", "asarray", "array", "tolist", "device_get"),
    "cpu": ("cpu", "to"),
    "numpy": ("numpy", "asarray", "array"),
}
#: Operations that an index is lowered to, where it is read and where it is assigned to.
_INDEXING = {"generic_slice", "select", "slice"}
_UPDATING = {"update_slice", "unselect"}
_DEEPEST = 50  # levels of a tree
#: Templates that complete a line that is part of a statement.
_COMPLETIONS = ("{}", "{} pass", "if 1: pass\n{} pass", "f({}\n)", "{})", "({}", "f({}")


def span(source: str, names: Collection[str]) -> tuple[int, int] | None:
    """The first column, and the column after the last, of the only expression in the line that
    matches one of these names; from 0; None if it is not unique.

    Args:
        names: kinds of reads (``item``, ``bool``, …), or the last part of a call's name; if empty,
            what the line assigns, adds or evaluates.
    """
    text = without_comment(source).strip()
    found = _parsed(text)
    if found is None or not text.isascii():  # a tree's columns count bytes
        return None
    tree, line, shift = found
    nodes = [node for node in _named(tree, names) if node.lineno == node.end_lineno == line]
    if len(nodes) != 1:
        return None
    (node,) = nodes
    moved = len(source) - len(source.lstrip()) - shift
    return node.col_offset + moved, (node.end_col_offset or 0) + moved


def _named(tree: ast.Module, names: Collection[str]) -> list[ast.expr]:
    """Calls, else conditions, else powers and indices by these names."""
    if not names:
        values = [getattr(statement, "value", None) for statement in tree.body]
        return [value for value in values if isinstance(value, ast.expr)]
    nodes = list(ast.walk(tree))
    calls = {call for name in names for call in _READS.get(name, (name,))}
    called = [node for node in nodes if isinstance(node, ast.Call) and _called(node) in calls]
    if called:
        return [*called]
    tests = [
        node.test for node in nodes if isinstance(node, ast.If | ast.While | ast.Assert | ast.IfExp)
    ]
    if "bool" in names and tests:
        return tests
    return [
        node
        for node in nodes
        if isinstance(node, ast.BinOp | ast.Subscript) and _has_number(node, names)
    ]


def _parsed(text: str) -> tuple[ast.Module, int, int] | None:
    """The line's tree, its line number in the tree, and the columns that it moved to the right."""
    for completion in _COMPLETIONS:
        before = completion.partition("{}")[0]
        tree = _tree(completion.replace("{}", text))
        if tree is None:
            continue
        if _is_deep(tree):
            return None
        return tree, before.count("\n") + 1, len(before.rpartition("\n")[2])
    return None


def _tree(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are the program's business
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_deep(tree: ast.AST) -> bool:
    """Whether a tree is nested deeper than people write, and than recursive functions bear."""
    level = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)


def _called(call: ast.Call) -> str:
    """The last part of a call's name: ``item`` in ``loss.item()``."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _has_number(node: ast.expr, names: Collection[str]) -> bool:
    """Whether one of these operations has an exponent or index there that can change."""
    match node:
        case ast.BinOp(op=ast.Pow(), right=number):
            operations = {"pow"}
        case ast.Subscript(ctx=ast.Load(), slice=number):
            operations = _INDEXING
        case ast.Subscript(ctx=ast.Store(), slice=number):
            operations = _UPDATING
        case _:
            return False
    changes = not isinstance(number, ast.Slice | ast.Tuple) and any(
        isinstance(part, ast.Name | ast.Attribute | ast.Call) for part in ast.walk(number)
    )
    return changes and not operations.isdisjoint(names)
