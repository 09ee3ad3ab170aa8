"""The imports of a moved file, and the functions that are added to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, ImportItem
from libcst.metadata import ImportAssignment, MetadataWrapper, ScopeProvider

from xladoctor.move.blocks import gone, without_blank, without_gone
from xladoctor.move.interface import Target
from xladoctor.move.table import Names

_WORD = r"(?<![\w.]){}\b"


def completed(
    module: cst.Module,
    names: Names,
    helpers: set[str],
    renamed: Mapping[str, str],
    target: Target,
) -> cst.Module:
    """A file without the imports that it no longer uses, with those that it now needs, and with the
    helpers that it calls.

    Args:
        renamed: names of helpers in this file, where they are other ones.
    """
    added = {renamed.get(name, name) for name in helpers}
    module = _without_unused(module, names, added)
    text = "\n\n\n".join(
        _adapted(names.helpers[name], renamed, target) for name in names.with_needed(helpers)
    )
    module = _with_helpers(module, text)
    for package in ("contextlib", *names.modules):
        if re.search(_WORD.format(package) + r"\.", module.code) and not _imports(module, package):
            context = CodemodContext()
            needed = [ImportItem(package)]
            module = AddImportsVisitor(context, needed).transform_module(module)
    return module


def _imports(module: cst.Module, package: str) -> bool:
    scope = MetadataWrapper(module, unsafe_skip_copy=True).resolve(ScopeProvider)[module]
    return scope is not None and any(isinstance(each, ImportAssignment) for each in scope[package])


def _adapted(text: str, renamed: Mapping[str, str], target: Target) -> str:
    """A helper's text for a file and a target."""
    lines = text.splitlines()
    text = "\n".join(line for line in lines if not any(each in line for each in target.without))
    text = text.replace("BACKEND", f'"{target.backend}"')
    for old, new in renamed.items():
        text = re.sub(rf"(?<![\w.]){old}(?=\()|(?<=def ){old}\b|(?<=class ){old}\b", new, text)
    return text


def _with_helpers(module: cst.Module, text: str) -> cst.Module:
    """The file with functions below its first imports, or above what uses them first."""
    if not text:
        return module
    added = cst.parse_module(text).body
    called = {each.name.value for each in added if isinstance(each, cst.FunctionDef | cst.ClassDef)}
    blank = [cst.EmptyLine(indent=False), cst.EmptyLine(indent=False)]
    body = list(module.body)
    place = _place(body, called)
    if place < len(body) and not _is_spaced(body[place]):
        lines = [*blank, *without_blank(getattr(body[place], "leading_lines", ()))]
        body[place] = body[place].with_changes(leading_lines=lines)
    spaced = [each.with_changes(leading_lines=blank) for each in added]
    return module.with_changes(body=[*body[:place], *spaced, *body[place:]])


def _is_spaced(statement: Any) -> bool:
    lines = getattr(statement, "leading_lines", ())
    return len([line for line in lines if line.comment is None]) > 1


def _place(body: Sequence[Any], called: set[str]) -> int:
    """Where functions are added: below the last import of the beginning, but above any use."""
    place = 0
    for number, statement in enumerate(body):
        if isinstance(statement, cst.FunctionDef | cst.ClassDef):
            break
        if _is_import(statement) or (number == 0 and _is_text(statement)):
            place = number + 1
        elif called & set(re.findall(r"\w+", cst.Module([statement]).code)):
            break
    return place


def _is_import(statement: Any) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and isinstance(
        statement.body[0], cst.Import | cst.ImportFrom
    )


def _is_text(statement: Any) -> bool:
    match statement:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.BaseString()), *_]):
            return True
    return False


def _without_unused(module: cst.Module, names: Names, added: set[str]) -> cst.Module:
    """The file without imports of the package that nothing uses any more.

    Args:
        added: names that are to stand for helpers.
    """
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    used = set[str]()
    for scope in set(wrapper.resolve(ScopeProvider).values()):
        for each in scope.assignments if scope is not None else ():
            if isinstance(each, ImportAssignment) and each.references:
                used.add(each.name)
    return wrapper.module.visit(_Unused(names, used - added))


class _Unused(cst.CSTTransformer):
    def __init__(self, names: Names, used: set[str]) -> None:
        super().__init__()
        self._names = names
        self._used = used

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> Any:
        return self._kept(updated_node, "")

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> Any:
        if updated_node.module is None or updated_node.relative:
            return updated_node
        return self._kept(updated_node, f"{cst.Module([]).code_for_node(updated_node.module)}.")

    def _kept(self, statement: Any, package: str) -> Any:
        if isinstance(statement.names, cst.ImportStar):
            return statement
        kept = [alias for alias in statement.names if not self._is_unused(alias, package)]
        if len(kept) == len(statement.names):
            return statement
        if not kept:
            return cst.RemoveFromParent()
        kept[-1] = kept[-1].with_changes(comma=statement.names[-1].comma)
        return statement.with_changes(names=kept)

    def _is_unused(self, alias: cst.ImportAlias, package: str) -> bool:
        name = f"{package}{cst.Module([]).code_for_node(alias.name)}"
        bound = alias.evaluated_alias or (
            name.partition(".")[0] if not package else alias.evaluated_name
        )
        return self._names.is_of_package(name) and bound not in self._used

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> Any:
        return updated_node if updated_node.body else gone(updated_node.leading_lines)

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> Any:
        return without_gone(updated_node)

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> Any:
        return without_gone(updated_node)
