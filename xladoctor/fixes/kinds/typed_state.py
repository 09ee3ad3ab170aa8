"""Starts state as an array with a type instead of a Python number, which has a weak type."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Edit, Refused, Unsuited
from xladoctor.fixes.source import Source

#: Functions that keep a number's weak type unless they are given a type, and which of their
#: arguments is the number, the last one before the type.
_MAKERS = {"jax.numpy.asarray": 0, "jax.numpy.array": 0, "jax.numpy.full": 1}


def fix(case: Case) -> Change:
    """For the line at which the state is made."""
    if case.frontend != "jax":
        raise Unsuited("only JAX has weak types")
    if case.cause.get("became"):
        raise Refused(
            "the function returns a number's weak type for an array",
            "give its result a type: jnp.asarray(value, dtype)",
        )
    source, argument = case.source, case.cause.get("argument") or "the state"
    statement = source.statement(case.line).body[0]
    if not isinstance(statement, (cst.Assign, cst.AnnAssign)) or statement.value is None:
        raise Refused(f"line {case.line} does not assign {argument}")
    found = [each for each in _elements(statement.value) if _number_in(source, each)]
    if len(found) != 1:
        count = "no number" if not found else f"{len(found)} numbers"
        raise Refused(f"line {case.line} gives {argument} {count}")
    return Change(
        f"start {argument} as an array that has a type",
        _typed(source, found[0]),
        behaviour=f"{argument} is an array from the start, to whose type others adapt",
    )


def _elements(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What a state consists of: itself, or the elements of a tuple, list or dict."""
    if isinstance(value, (cst.Tuple, cst.List)):
        for element in value.elements:
            yield from _elements(element.value)
    elif isinstance(value, cst.Dict):
        for item in value.elements:
            yield from _elements(item.value)
    else:
        yield value


def _number_in(source: Source, value: cst.BaseExpression) -> cst.Integer | cst.Float | None:
    """The number that an expression is, or that it makes an array of without a type."""
    if isinstance(value, cst.Call):
        places = [_MAKERS[name] for name in source.qualified(value.func) if name in _MAKERS]
        plain = all(arg.keyword is None and not arg.star for arg in value.args)
        if not places or not plain or len(value.args) != places[0] + 1:
            return None
        value = value.args[-1].value
    if isinstance(value, cst.UnaryOperation) and isinstance(value.operator, cst.Minus):
        value = value.expression
    return value if isinstance(value, (cst.Integer, cst.Float)) else None


def _typed(source: Source, value: cst.BaseExpression) -> tuple[Edit, ...]:
    """The same as an array of the type that its number has in JAX; ``float`` is float32, or float64
    where that is enabled.
    """
    kind = "int" if isinstance(_number_in(source, value), cst.Integer) else "float"
    if isinstance(value, cst.Call):
        last = value.args[-1].value
        return (source.replace(last, f"{source.code(last)}, {kind}"),)
    jnp, imports = source.import_of("jax.numpy", value)
    return (source.replace(value, f"{jnp}.asarray({source.code(value)}, {kind})"), *imports)
