"""Rewrites a call of the program with other operators.

Templates come from table ``replacement``: a call such as ``huber_loss(x, y, delta=delta)``, what
to write instead, and the definitions that it needs.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TypeGuard

_MODULES = ("torch", "F", "nn.functional", "torch.nn.functional", "torch.linalg")
_SIMPLE = (ast.Name, ast.Constant, ast.Attribute, ast.UnaryOp)


class _Named(ast.NodeTransformer):
    """Replaces a template's names with the program's expressions.

    Functions of the template are prefixed with the module that the program calls through, if any.
    """

    def __init__(self, values: Mapping[str, ast.expr], module: ast.expr | None) -> None:
        self._values = values
        self._module = module

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and self._module is not None:
            node.func = ast.Attribute(self._module, node.func.id)
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.BinOp(ast.Constant(1.0), ast.Mult(), factor):
                return factor
            case ast.BinOp(term, ast.Sub(), ast.Constant(0)):
                return term
        return node


def equivalent(call: str, template: str, instead: str, given: str) -> tuple[list[str], str] | None:
    """The statements to run before, and the expression that replaces ``call``.

    None if the call's arguments do not match the template's.
    """
    actual, formal = _expression(call), _expression(template)
    if not isinstance(actual, ast.Call) or not isinstance(formal, ast.Call):
        return None
    values = _bound(_arguments(actual), _arguments(formal))
    if values is None:
        return None
    taken = {node.id for node in ast.walk(actual) if isinstance(node, ast.Name)}
    uses = [node.id for node in ast.walk(ast.parse(f"{given}\n{instead}")) if _is_read(node)]
    before = []
    for name, value in values.items():
        if not isinstance(value, _SIMPLE) and uses.count(name) > 1:
            new = f"{name}_" if name in taken else name
            before.append(f"{new} = {ast.unparse(value)}")
            values[name] = ast.Name(new)
    module = (
        actual.func.value
        if isinstance(actual.func, ast.Attribute) and isinstance(formal.func, ast.Name)
        else None
    )
    named = _Named(values, module)
    before += [_written(named, each) for each in given.split(";") if each.strip()]
    return before, _written(named, instead)


def _is_read(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _written(named: _Named, text: str) -> str:
    return ast.unparse(named.visit(ast.parse(text.strip())))


def _arguments(call: ast.Call) -> tuple[list[ast.expr], dict[str | None, ast.expr]]:
    """The call's arguments by position, with a method's object first, and by name."""
    own: list[ast.expr] = []
    if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) not in _MODULES:
        own = [call.func.value]
    return [*own, *call.args], {keyword.arg: keyword.value for keyword in call.keywords}


def _bound(
    actual: tuple[list[ast.expr], dict[str | None, ast.expr]],
    formal: tuple[list[ast.expr], dict[str | None, ast.expr]],
) -> dict[str, ast.expr] | None:
    """The value of each of the template's names; numbers in the template are keyword defaults."""
    keys = [ast.unparse(name) for name in formal[0]] + [str(key) for key in formal[1]]
    names = [
        name.id if isinstance(name, ast.Name) else key
        for key, name in zip(keys, [*formal[0], *formal[1].values()], strict=True)
    ]
    values: dict[str, ast.expr] = {
        str(key): value
        for key, value in formal[1].items()
        if isinstance(value, ast.Constant | ast.UnaryOp)
    }
    if len(actual[0]) > len(keys) or not all(name.isidentifier() for name in names):
        return None
    values |= zip(keys, actual[0], strict=False)
    values |= {str(key): value for key, value in actual[1].items()}
    if set(values) != set(keys) or any(isinstance(v, ast.Starred) for v in values.values()):
        return None
    return {name: values[key] for key, name in zip(keys, names, strict=True)}
