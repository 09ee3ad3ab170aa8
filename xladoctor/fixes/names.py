"""What the names of a file stand for: which a piece of code binds, and which it reads."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst.metadata import Assignment, BuiltinScope, GlobalScope
from libcst.metadata.scope_provider import LocalScope

from xladoctor.fixes.calls import ITERATORS
from xladoctor.fixes.interface import Refused
from xladoctor.fixes.source import Source


def read_from_around(source: Source, node: cst.CSTNode) -> dict[str, list[cst.Name]]:
    """The variables that an expression or function takes from the code around it, and where it
    reads them. Those that it binds itself and built-in ones are left out.
    """
    inside = _below(source, node)
    found: dict[str, list[cst.Name]] = {}
    for name in source.variables(node):
        if source.scope(name) is None or _is_bound(name, inside, source):
            continue
        found.setdefault(name.value, []).append(name)
    return found


def _is_bound(name: cst.Name, inside: set[int], source: Source) -> bool:
    scope = source.scope(name)
    for each in scope[name.value] if scope else ():
        if isinstance(each.scope, BuiltinScope):
            return True
        if isinstance(each.scope, LocalScope) and id(each.scope.node) in inside:
            return True
    return False


def bound_in(source: Source, node: cst.CSTNode) -> set[str]:
    """The variables that the statements of a piece of code bind, in the function that it is in."""
    scope = source.scope(node)
    inside = _below(source, node)
    return {
        each.name.split(".")[0]
        for each in (scope.assignments if scope else ())
        if isinstance(each, Assignment) and id(each.node) in inside
    }


def is_of_module(source: Source, name: cst.Name) -> bool:
    """Whether a variable is one of the module, and bound once in it."""
    scope = source.scope(name)
    bound = list(scope[name.value]) if scope else []
    return len(bound) == 1 and isinstance(bound[0].scope, GlobalScope)


def fresh(source: Source, name: str) -> str:
    """This name, or one made from it that the file does not use for anything yet."""
    taken = {each.value for each in source.all(cst.Name)}
    number, candidate = 2, name
    while candidate in taken:
        candidate = f"{name}_{number}"
        number += 1
    return candidate


def compiles(source: Source, decorator: cst.BaseExpression, by: frozenset[str]) -> bool:
    """Whether a decorator is one of these compilers, a call of it, or a partial one."""
    if not isinstance(decorator, cst.Call):
        return bool(source.qualified(decorator) & by)
    names, first = source.qualified(decorator.func), decorator.args[:1]
    is_partial = "functools.partial" in names and bool(first)
    return bool(names & by) or (is_partial and bool(source.qualified(first[0].value) & by))


def free(source: Source, name: str) -> str:
    """This name. Raises Refused if the file uses it for anything."""
    if any(each.value == name for each in source.all(cst.Name)):
        raise Refused(f"the name `{name}` is taken")
    return name


def function(source: Source, name: str) -> cst.FunctionDef | None:
    """The function of the module with this name, if there is exactly one."""
    found = [
        each
        for each in source.module.body
        if isinstance(each, cst.FunctionDef) and each.name.value == name
    ]
    return found[0] if len(found) == 1 else None


def root_of(node: cst.CSTNode) -> str | None:
    """The variable that an attribute or item is of."""
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        node = node.value
    return node.value if isinstance(node, cst.Name) else None


def definition_of(source: Source, call: cst.Call) -> cst.FunctionDef | None:
    """The function of the module that is called, if it is plain and its name means nothing else."""
    if not isinstance(call.func, cst.Name) or source.qualified(call.func) != {call.func.value}:
        return None
    found = function(source, call.func.value)
    if found is None or found.decorators or found.asynchronous:
        return None
    uses = source.names_used(source.module, found.name.value)
    return (
        None if any(source.is_bound_at(each) for each in uses if each is not found.name) else found
    )


def _below(source: Source, node: cst.CSTNode) -> set[int]:
    return {id(each) for each in source.all(cst.CSTNode, node)}


def varies(source: Source, name: cst.Name, within: cst.CSTNode) -> bool:
    """Whether what a variable holds may change while a loop or a function runs again and again: it
    is bound there, more than once in the module, by a ``global`` statement, or changed in place.
    """
    scope = source.scope(name)
    if name.value in bound_in(source, within) or name.value in changed_in_place(source):
        return True
    bound = list(scope[name.value]) if scope else []
    if not bound:
        return True  # nothing in the file says what it is
    if not isinstance(bound[0].scope, GlobalScope):
        return False
    return len(bound) > 1 or _is_declared_global(source, name.value)


def refuse_by_text(source: Source, attribute: str) -> None:
    """Refuse an attribute that the file may also reach by its name as a text."""
    for each in source.all((cst.SimpleString, cst.Call, cst.Attribute)):
        is_named = isinstance(each, cst.SimpleString) and each.evaluated_value == attribute
        is_vars = isinstance(each, cst.Call) and source.qualified(each.func) == {"builtins.vars"}
        is_dict = isinstance(each, cst.Attribute) and each.attr.value == "__dict__"
        if is_named or is_vars or is_dict:
            raise Refused(f"line {source.begin(each).line} has its name as a text, or may have it")


def changed_in_place(source: Source) -> set[str]:
    """The variables of which an element or attribute is assigned, or that a method changes."""
    found = set()
    for target in (
        *(each.target for each in source.all(cst.AssignTarget)),
        *(each.target for each in source.all(cst.AugAssign)),
        *(each.func for each in source.all(cst.Call) if _changes(source, each)),
    ):
        if not isinstance(target, cst.Name) and (root := root_of(target)) is not None:
            found.add(root)
    return found | _given_away(source, found)


def _given_away(source: Source, changed: set[str]) -> set[str]:
    """The variables that are given to functions of the module which change their arguments."""
    return {
        arg.value.value
        for call in source.all(cst.Call)
        for own in (function(source, source.code(call.func)),)
        if own is not None and changed & {each.name.value for each in own.params.params}
        for arg in call.args
        if isinstance(arg.value, cst.Name)
    }


_TAKING = frozenset(("pop", "popitem", "setdefault"))
_IN_PLACE = frozenset(("add", "append", "clear", "extend", "insert", "remove", "update"))


def _changes(source: Source, call: cst.Call) -> bool:
    """Whether a call is of a method that changes its object, and not of one that returns another,
    as ``update`` of an optimizer of optax does.
    """
    if not isinstance(call.func, cst.Attribute):
        return False
    name = call.func.attr.value
    return name in _TAKING or (name in _IN_PLACE and isinstance(source.parent(call), cst.Expr))


def _is_declared_global(source: Source, name: str) -> bool:
    return any(item.name.value == name for each in source.all(cst.Global) for item in each.names)


def varying_below(source: Source, name: cst.Name, within: cst.CSTNode) -> str | None:
    """A variable that a function of the module reads, itself or through others, and that may change
    meanwhile; None if there is none.
    """
    pending, seen = [name.value], set[str]()
    while pending:
        definition = function(source, pending.pop())
        if definition is None or definition.name.value in seen:
            continue
        seen.add(definition.name.value)
        for read, uses in read_from_around(source, definition).items():
            if read not in seen and varies(source, uses[0], within):
                return read
            pending.append(read)
    return None


def top_statement(source: Source, node: cst.CSTNode) -> cst.CSTNode:
    """The statement of the module that a node is in."""
    above = [node, *source.around(node)]
    return above[-2]


def is_iterator(source: Source, node: cst.CSTNode) -> bool:
    """Whether something may be used up by going through it: a variable that holds an iterator."""
    if isinstance(node, cst.Name):
        made = [
            each.value
            for each in source.all(cst.Assign)
            if any(source.code(target.target) == node.value for target in each.targets)
        ]
        return any(is_iterator(source, each) for each in made if not isinstance(each, cst.Name))
    if isinstance(node, cst.GeneratorExp):
        above = source.parent(node)
        return not isinstance(above, (cst.Arg, cst.CompFor))
    if isinstance(node, cst.Call):
        above = source.parent(node)
        if source.qualified(node.func) & ITERATORS:
            return isinstance(above, cst.Assign)
        if any(map(_goes_through_itself, _classes(source, node))):
            return True
        definition = definition_of(source, node)
        if definition is not None and any(source.all(cst.Yield, definition)):
            return isinstance(above, cst.Assign)
    return False


def _classes(source: Source, call: cst.Call) -> Iterator[cst.ClassDef]:
    """The class of the file that a call makes an object of."""
    names = source.qualified(call.func)
    return (each for each in source.all(cst.ClassDef) if each.name.value in names)


def _goes_through_itself(class_: cst.ClassDef) -> bool:
    body = class_.body.body
    return any(
        isinstance(each, cst.FunctionDef) and each.name.value in ("__iter__", "__next__")
        for each in body
    )
