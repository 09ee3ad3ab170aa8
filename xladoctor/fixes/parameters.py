"""Gives a function more parameters, behind those that it has, and its calls more arguments."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from xladoctor.fixes.interface import Edit, Position, Refused
from xladoctor.fixes.source import Source


def refuse_signature(of: cst.CSTNode) -> None:
    """Refuse a function that takes no further parameter by place."""
    assert isinstance(of, (cst.Lambda, cst.FunctionDef))  # noqa: S101 - others take none
    params = of.params
    if (
        params.star_kwarg
        or params.kwonly_params
        or not isinstance(params.star_arg, cst.MaybeSentinel)
    ):
        raise Refused("it takes any number of arguments")
    if any(param.default for param in (*params.params, *params.posonly_params)):
        raise Refused("its arguments have defaults")


def place_of(source: Source, of: cst.CSTNode) -> Position:
    """Where further parameters of a function are added."""
    assert isinstance(of, (cst.Lambda, cst.FunctionDef))  # noqa: S101 - others take none
    params = [*of.params.posonly_params, *of.params.params]
    if params:
        last = params[-1]
        return source.end(last.annotation.annotation if last.annotation else last.name)
    if isinstance(of, cst.Lambda):
        begin = source.begin(of)
        return Position(begin.line, begin.column + len("lambda"))
    end = source.end(of.name)
    return Position(end.line, end.column + 1)


def more_parameters(of: cst.CSTNode, names: Sequence[str]) -> str:
    """The text to add there."""
    assert isinstance(of, (cst.Lambda, cst.FunctionDef))  # noqa: S101 - others take none
    if not names:
        return ""
    if of.params.posonly_params or of.params.params:
        return f", {', '.join(names)}"
    return f"{' ' * isinstance(of, cst.Lambda)}{', '.join(names)}"


def passing(source: Source, call: cst.Call, names: Sequence[str]) -> Edit:
    """What passes variables in a call, behind its other arguments."""
    if any(arg.star or arg.keyword for arg in call.args):
        raise Refused("it is called with * or with names of arguments")
    text = ", ".join(names)
    if call.args:
        at = source.end(call.args[-1].value)
        return Edit(at, at, f", {text}")
    end = source.end(call)
    at = Position(end.line, end.column - 1)
    return Edit(at, at, text)
