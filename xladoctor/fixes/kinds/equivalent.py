"""Replaces an operator without a lowering by others that have one (from the vocabulary)."""

from __future__ import annotations

import ast
from itertools import takewhile

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.equivalent import equivalent
from xladoctor.fixes.interface import Change, Edit, Refused
from xladoctor.fixes.source import SOMETIMES, Source, keyword

_FUNCTIONAL = "torch.nn.functional"
#: Methods that give another type of element, in which others compute.
_CASTS = frozenset(("bfloat16", "double", "float", "half", "int", "long", "to", "type"))


def fix(case: Case) -> Change:
    """For the only call of the operator in the finding's line."""
    source, cause = case.source, case.cause
    given = cause.get("where") or ""
    statement = source.statement(case.line)
    template = cause["call"]
    found = [
        (call, written)
        for call in source.all(cst.Call, statement)
        if _is_called(source, call, template)
        and (written := equivalent(source.code(call), template, cause["instead"], given))
    ]
    if len(found) != 1:
        raise Refused(
            f"line {case.line} does not call it as {template}",
            f"{cause['instead']}, in place of {template}",
        )
    call, (before, text) = found[0]
    for each in source.all(cst.Attribute, call):
        if each.attr.value in _CASTS:
            raise Refused(
                f"`{source.code(each)}` gives a different type, and so a different result"
            )
    _refuse_values(source, call)
    if before:
        _refuse_before(source, call, statement)
        _refuse_names(source, call, before)
    edits = [source.replace_part(statement, call, text)]
    if before:
        edits.append(source.insert_before(statement, *before))
    return Change(
        f"compute {_function(template)[0]} with operators that XLA has",
        (
            *edits,
            *_imports(source, call, "\n".join([*before, text]), f"{given}\n{cause['instead']}"),
        ),
        behaviour=cause.get("but") or "",
        relies_on=(f"the call means {template}",),
    )


def _function(template: str) -> tuple[str, bool]:
    """The name of the function that a template calls, and whether tensors have it as a method."""
    match ast.parse(template, mode="eval").body:
        case ast.Call(ast.Name(name)):
            return name, False
        case ast.Call(ast.Attribute(_, name)):
            return name, True
    return template, False


def _is_called(source: Source, call: cst.Call, template: str) -> bool:
    """Whether a call is of torch's function, or of a method by that name."""
    name, is_method = _function(template)
    full = source.qualified(call.func)
    if any(each.startswith("torch.") and each.endswith(f".{name}") for each in full):
        return True
    named = isinstance(call.func, cst.Attribute) and call.func.attr.value == name
    return named and is_method and not _is_imported(source, call.func)


def _is_imported(source: Source, node: cst.BaseExpression) -> bool:
    """Whether a name is of a module that the file imports, or is ``self``."""
    while isinstance(node, cst.Attribute):
        node = node.value
    if not isinstance(node, cst.Name):
        return False
    return node.value in source.imported | {"self", "cls"}


def _refuse_values(source: Source, call: cst.Call) -> None:
    """Refuse calls that are given several numbers where a template computes with one, or a scale
    that is not whole.
    """
    for arg in call.args:
        held = source.value_of(arg.value) if isinstance(arg.value, cst.Name) else arg.value
        is_scale = keyword(arg) == "scale_factor"
        if isinstance(held, (cst.Tuple, cst.List)) or (is_scale and isinstance(held, cst.Float)):
            raise Refused(f"`{source.code(arg.value)}` is not one integer")


def _refuse_before(source: Source, call: cst.Call, statement: cst.CSTNode) -> None:
    """Refuse calls of which a part cannot be computed before their statement."""
    around = [*takewhile(lambda above: above is not statement, source.around(call))]
    if any(isinstance(above, SOMETIMES) for above in around):
        raise Refused("a part of it has to be computed before, but may not be, or not just once")
    outside = [
        each
        for each in source.all((cst.Call, cst.NamedExpr, cst.Await, cst.Yield), statement)
        if each not in around and each is not call and call not in source.around(each)
    ]
    if any(source.begin(each) < source.begin(call) for each in outside):
        raise Refused("its line computes something else first")


def _refuse_names(source: Source, call: cst.Call, before: list[str]) -> None:
    function = source.function_around(call)
    scope = function or source.module
    for node in ast.walk(ast.parse("\n".join(before))):
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and source.names_used(scope, node.id)
        ):
            raise Refused(
                f"`{node.id}` is a name of the program", f"write {'; '.join(before)} before it"
            )


def _imports(source: Source, call: cst.Call, written: str, template: str) -> list[Edit]:
    """Imports of the functions of a template that the new code calls by their bare names, in place
    of that of the call's function if nothing else uses it.
    """
    bare = _bare(written) & _bare(template)
    missing = [
        name
        for name in sorted(bare - {"torch"})
        if not _means(source, name, f"{_FUNCTIONAL}.{name}")
    ]
    unused = _import_of_only(source, call)
    edits = [source.replace(unused, missing.pop(0))] if unused and missing else []
    lines = [f"from {_FUNCTIONAL} import {name}" for name in missing]
    if "torch" in bare and not _means(source, "torch", "torch"):
        lines.append("import torch")
    return [*edits, *map(source.insert_import, lines)]


def _import_of_only(source: Source, call: cst.Call) -> cst.Name | None:
    """The name of the call's function in its import, if the call is its only use."""
    name = call.func
    if not isinstance(name, cst.Name):
        return None
    uses = [each for each in source.names_used(source.module, name.value) if each is not name]
    above = source.parent(uses[0]) if len(uses) == 1 else None
    imported = source.parent(above) if isinstance(above, cst.ImportAlias) else None
    is_functional = (
        isinstance(imported, cst.ImportFrom)
        and imported.module is not None
        and source.code(imported.module) == _FUNCTIONAL
    )
    return uses[0] if is_functional else None


def _bare(code: str) -> set[str]:
    """The functions that are called by their names alone, and ``torch`` if it is named."""
    nodes = list(ast.walk(ast.parse(code)))
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = {func.id for func in called if isinstance(func, ast.Name)}
    return names | {node.id for node in nodes if isinstance(node, ast.Name) and node.id == "torch"}


def _means(source: Source, name: str, full: str) -> bool:
    """Whether a name is what it is taken for at the top of the module; False if it is not there.

    Raises:
        Refused: it is something else.
    """
    scope = source.scope(source.module.body[0]) if source.module.body else None
    assigned = list(scope[name]) if scope is not None and name in scope else []
    if not assigned:
        return False
    names = {each.name for one in assigned for each in one.get_qualified_names_for(name)}
    if full not in names:
        raise Refused(f"`{name}` is a name of the program")
    return True
