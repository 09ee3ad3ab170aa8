"""Puts ``@jax.jit`` on a function of the module whose operations run one by one."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused, Unsuited
from xladoctor.fixes.names import top_statement
from xladoctor.fixes.pure import Pure
from xladoctor.fixes.source import Source


def fix(case: Case) -> Change:
    """For the function that the finding's line is in."""
    source = case.source
    if case.frontend != "jax":
        raise Unsuited("jax.jit compiles only JAX functions")
    definitions = [
        each
        for each in source.module.body
        if isinstance(each, cst.FunctionDef) and source.covers(each, case.line)
    ]
    if not definitions:
        raise Refused(
            "the line is in no function of the module",
            "put all operations of a step into one function under @jax.jit",
        )
    definition = definitions[0]
    _refuse(source, definition)
    while (caller := _caller(source, definition)) is not None:
        definition = caller
    name = definition.name.value
    if not any(source.loops_around(each) for each in _called(source, definition)):
        raise Refused(f"{name} is not called in a loop of this file")
    jax, imports = source.import_of("jax", definition)
    return Change(
        f"compile `{name}`",
        (source.insert_before(definition, f"@{jax}.jit"), *imports),
        behaviour="fused operations may round differently",
        relies_on=(
            f"what {name} is given are arrays or numbers, in few shapes",
            "global arrays that it reads are never changed",
        ),
    )


def _refuse(source: Source, definition: cst.FunctionDef) -> None:
    if definition.decorators:
        raise Refused(f"{definition.name.value} has a decorator")
    Pure(source).check(definition)
    for each in source.all(cst.Return, definition.body):
        values = each.value.elements if isinstance(each.value, cst.Tuple) else [each]
        for part in values:
            value = part.value
            made = source.value_of(value) if isinstance(value, cst.Name) else value
            if made is not None and _is_number(source, made):
                line = source.begin(each).line
                raise Refused(f"line {line} returns a number of Python, which becomes an array")


def _is_number(source: Source, value: cst.BaseExpression) -> bool:
    """Whether it is a number of Python: a constant, a length, or a size of an array."""
    match value:
        case cst.Call(func=func):
            return source.qualified(func) == {"builtins.len"}
        case cst.Subscript(value=cst.Attribute(attr=cst.Name("shape"))):
            return True
        case cst.Attribute(attr=cst.Name("ndim" | "size")):
            return True
        case cst.BinaryOperation(left=left, right=right):
            return _is_number(source, left) and _is_number(source, right)
    return isinstance(value, cst.BaseNumber)


def _called(source: Source, definition: cst.FunctionDef) -> list[cst.Name]:
    """Where else a function of the module is called."""
    return [
        each
        for each in source.names_used(source.module, definition.name.value)
        if isinstance(source.parent(each), cst.Call) and definition not in source.around(each)
    ]


def _caller(source: Source, definition: cst.FunctionDef) -> cst.FunctionDef | None:
    """The one function that alone calls a function, if it can be compiled too."""
    tops = {
        id(top): top
        for each in _called(source, definition)
        for top in (top_statement(source, each),)
    }
    (caller,) = tops.values() if len(tops) == 1 else (None,)
    if not isinstance(caller, cst.FunctionDef):
        return None
    try:
        _refuse(source, caller)
    except Refused:
        return None
    return caller
