"""Finds the expression in a line that a finding is about, for carets and for fixes that name it.

Only the line's own text is known, which may be part of a statement: a line that cannot be parsed
has no expression.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection
from dataclasses import dataclass

from xladoctor.diagnosis.source_line import without_comment
from xladoctor.frontends.equivalent import equivalent

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


@dataclass(frozen=True, slots=True)
class Expression:
    """A call in the line, or the condition that the line tests.

    Attributes:
        statement: the statement of the line, without a comment: ``total += loss.item()``.
        text: the text of the expression: ``loss.item()``.
        begin: its first column in the statement, from 0.
        value: what it reads, uploads or computes from: ``loss``; empty if there are several.
        number: the exponent of a power, or the index: ``step`` in ``levels[step]``; else empty.
        stored: whether that index is assigned to: ``levels[step] = level``.
        target: the variable that the statement assigns or adds to; empty if there is none.
        adds: whether it adds to that variable, or subtracts from it.
        collects: the list that the statement appends to; empty if there is none.
        span: the first column and the column after the last, from 0, in the line.
    """

    statement: str
    text: str
    begin: int
    value: str
    number: str
    stored: bool
    target: str
    adds: bool
    collects: str
    span: tuple[int, int]

    def instead(self, text: str) -> str:
        """The statement with this expression replaced."""
        end = self.begin + len(self.text)
        return self.statement[: self.begin] + text + self.statement[end:]

    def rewritten(self, call: str, instead: str, given: str | None) -> str:
        """The statement with this call replaced by ``instead``; empty if that is impossible.

        Args:
            call: the call that ``instead`` is written for, with names for its arguments.
            given: assignments that ``instead`` needs.
        """
        found = equivalent(self.text, call, instead, given or "")
        if found is None:
            return ""
        before, text = found
        bare, enclosed = self.instead(text), self.instead(f"({text})")
        return "; ".join([*before, bare if _same(bare, enclosed) else enclosed])


def expression(source: str, names: Collection[str]) -> Expression | None:
    """The only expression in the line that matches one of these names; None if it is not unique.

    Args:
        names: kinds of reads (``item``, ``bool``, …), or the last part of a call's name; if empty,
            what the line assigns, adds or evaluates.
    """
    text = without_comment(source).strip()
    found = _parsed(text)
    if found is None:
        return None
    tree, line, shift = found
    calls = {call for name in names for call in _READS.get(name, (name,))}
    nodes: list[ast.expr] = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) in calls
    ]
    if not nodes and "bool" in names:
        nodes = [
            node.test
            for node in ast.walk(tree)
            if isinstance(node, ast.If | ast.While | ast.Assert | ast.IfExp)
        ]
    if not nodes and names:
        nodes = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.BinOp | ast.Subscript) and _number(node, names)
        ]
    elif not names:
        nodes = [
            value
            for statement in tree.body
            if isinstance(value := getattr(statement, "value", None), ast.expr)
        ]
    nodes = [node for node in nodes if node.lineno == node.end_lineno == line]
    if len(nodes) != 1 or not text.isascii():  # a tree's columns count bytes
        return None
    (node,) = nodes
    indent = len(source) - len(source.lstrip())
    begin, end = node.col_offset - shift, (node.end_col_offset or 0) - shift
    target, adds, collects = _statement(tree, node)
    span = (begin + indent, end + indent)
    number = ast.unparse(changing) if (changing := _number(node, names)) else ""
    stored = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    return Expression(
        text, text[begin:end], begin, _value(node), number, stored, target, adds, collects, span
    )


def appended(source: str) -> tuple[str, str]:
    """``x`` and ``new`` of the line ``x = cat([x, new], 1)``, as it names them; else so called."""
    tree = _tree(source.strip())
    if tree is not None and not _is_deep(tree):
        match tree.body:
            case [
                ast.Assign(
                    [target],
                    ast.Call(args=[ast.List([x, new]) | ast.Tuple([x, new]), *_]),
                )
            ] if ast.unparse(x) == ast.unparse(target):
                return ast.unparse(x), ast.unparse(new)
    return "x", "new"


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


def _same(one: str, other: str) -> bool:
    """Whether two lines mean the same, whatever their parentheses."""
    trees = [_parsed(one), _parsed(other)]
    return all(trees) and len({ast.dump(tree[0]) for tree in trees if tree}) == 1


def _called(call: ast.Call) -> str:
    """The last part of a call's name: ``item`` in ``loss.item()``."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _number(node: ast.AST, names: Collection[str]) -> ast.expr | None:
    """The exponent or index that one of these operations has there, if it can change."""
    match node:
        case ast.BinOp(op=ast.Pow(), right=number):
            operations = {"pow"}
        case ast.Subscript(ctx=ast.Load(), slice=number):
            operations = _INDEXING
        case ast.Subscript(ctx=ast.Store(), slice=number):
            operations = _UPDATING
        case _:
            return None
    fixed = isinstance(number, ast.Slice | ast.Tuple) or not any(
        isinstance(part, ast.Name | ast.Attribute | ast.Call) for part in ast.walk(number)
    )
    return None if fixed or operations.isdisjoint(names) else number


def _value(node: ast.expr) -> str:
    """The call's object, unless that is a module, or else its only argument."""
    match node:
        case ast.BinOp(left=value) | ast.Subscript(value=value):
            return ast.unparse(value)
        case ast.Call(func=ast.Attribute(value=value), args=[]):
            return ast.unparse(value)
        case ast.Call(func=ast.Attribute(value=value, attr="to")):
            return ast.unparse(value)
        case ast.Call(args=[value]) if not isinstance(value, ast.Starred):
            return ast.unparse(value)
        case ast.Call():
            return ""
    return ast.unparse(node)


def _statement(tree: ast.Module, node: ast.expr) -> tuple[str, bool, str]:
    """What the expression's statement assigns to, whether it adds, and the list it appends to."""
    for statement in tree.body:
        match statement:
            case ast.Assign(value=ast.Tuple()):  # an argument of a call over several lines
                return "", False, ""
            case ast.AugAssign(target=target, op=operator):
                return ast.unparse(target), isinstance(operator, (ast.Add, ast.Sub)), ""
            case ast.Assign(targets=[target], value=ast.BinOp(op=ast.Add())) if ast.unparse(
                target
            ) in map(ast.unparse, ast.walk(statement.value)):
                return ast.unparse(target), True, ""
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                return ast.unparse(target), False, ""
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(attr="append", value=collected), args=[argument])
            ) if argument is node:
                return "", False, ast.unparse(collected)
    return "", False, ""
