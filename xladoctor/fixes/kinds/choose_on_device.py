"""Replaces an ``if`` on a tensor that picks one of two values by a choice on the device."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.calls import Does
from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import refuse_effects, what
from xladoctor.fixes.interface import Change, Edit, Position, Refused
from xladoctor.fixes.source import Source, argument, called
from xladoctor.fixes.step_end import due_barrier
from xladoctor.fixes.values import is_kept, is_read_only

#: Functions that make a tensor.
_TENSORS = {"tensor", "zeros", "ones", "full", "zeros_like", "ones_like", "asarray", "array"}


def fix(case: Case) -> Change:
    """For ``if loss < best: best = loss``, with or without an ``else``, that the finding names."""
    if case.frontend not in ("torch_xla", "jax"):
        raise Refused(f"conditions of {case.frontend} programs are not rewritten")
    source = case.source
    statement = _condition(source, case.line)
    name, chosen = _assignment(source, statement.body)
    if statement.orelse is None:
        other = name
        _refuse_numbers(case, statement, name)
    else:
        if not isinstance(statement.orelse, cst.Else):
            raise Refused("it has an `elif`")
        also, otherwise = _assignment(source, statement.orelse.body)
        if also != name:
            raise Refused(f"one branch sets `{name}`, the other `{also}`")
        _refuse_in_vain(source, otherwise)
        other = _text(case, otherwise, statement, name)
    refuse_effects(source, statement.test)
    _refuse_reads(source, statement.test)
    _refuse_in_vain(source, chosen)
    if isinstance(statement.test, (cst.BooleanOperation, cst.UnaryOperation)) or (
        isinstance(statement.test, cst.Comparison) and len(statement.test.comparisons) != 1
    ):
        raise Refused("its condition combines several")
    module, imported = source.import_of(
        "jax.numpy" if case.frontend == "jax" else "torch", statement
    )
    test, value = source.code(statement.test), _text(case, chosen, statement, name)
    return Change(
        f"choose `{name}` on the device",
        (
            Edit(
                source.begin(statement),
                _end(source, statement),
                f"{name} = {module}.where({test}, {value}, {other})",
            ),
            *due_barrier(case, statement),
            *imported,
        ),
        behaviour=_behaviour(case, statement, name, chosen),
    )


def _behaviour(case: Case, statement: cst.If, name: str, chosen: cst.BaseExpression) -> str:
    same = case.frontend == "jax" or is_kept(case.source, chosen)
    if same and is_read_only(case.source, statement, name):
        return ""
    return (
        f"`{name}` is a new value of the type and shape common to both values, not one of the two"
    )


def _text(case: Case, value: cst.BaseExpression, statement: cst.If, name: str) -> str:
    """The text of a value, without its gradient, of which a choice would keep each step's."""
    source = case.source
    text = source.code(value)
    if case.frontend == "jax" or called(value) == "detach":
        return text
    if not is_read_only(source, statement, name):
        if isinstance(value, cst.BaseNumber):
            raise Refused(f"`{name}` may be a number, and has other uses")
        raise Refused(f"`{name}` may be used with its gradient", f"choose {text}.detach()")
    if isinstance(value, cst.BaseNumber):
        return text
    return f"{text}.detach()" if isinstance(value, (cst.Name, cst.Call)) else f"({text}).detach()"


def _condition(source: Source, line: int) -> cst.If:
    for each in source.all(cst.If):
        if source.begin(each).line == line and source.end(each.test).line == line:
            above = source.parent(each)
            if isinstance(above, cst.If) and above.orelse is each:
                raise Refused("it is an `elif`")
            return each
    raise Refused(
        f"line {line} is not a separate `if`",
        "read the value every few iterations or a step late, or choose on the device",
    )


def _assignment(source: Source, body: cst.BaseSuite) -> tuple[str, cst.BaseExpression]:
    """The variable that a block sets, and to what; it does nothing else."""
    match body.body:
        case [
            cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))], value=value)]
            )
            | cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))], value=value)
        ] if not any(source.all(cst.Comment, body)):
            return name, value
    raise Refused("a branch does more than set one variable")


def _refuse_reads(source: Source, value: cst.BaseExpression) -> None:
    """Refuse what is no tensor, as it is read from one."""
    for call in source.all(cst.Call, value):
        if what(source, call) is Does.reads:
            raise Refused(f"`{source.code(call)}` reads a value")


def _refuse_in_vain(source: Source, value: cst.BaseExpression) -> None:
    """Refuse what must not be computed in vain, or what is no tensor."""
    refuse_effects(source, value)
    _refuse_reads(source, value)
    if any(source.all((cst.Subscript, cst.BaseComp, cst.IfExp, cst.List, cst.Dict), value)):
        raise Refused(f"`{source.code(value)}` may fail if it is not chosen")


def _refuse_numbers(case: Case, statement: cst.If, name: str) -> None:
    """Refuse a variable that may not be a tensor of the device before."""
    source = case.source
    for each in source.all(cst.Assign, source.owner(statement)):
        match each.targets:
            case [cst.AssignTarget(target=cst.Name(target))] if target == name and source.begin(
                each
            ) < source.begin(statement):
                if _is_on_device(case, each.value):
                    return
    raise Refused(f"`{name}` is not set to a tensor of the device before")


def _is_on_device(case: Case, value: cst.BaseExpression) -> bool:
    """Whether a value is made as a tensor, and not left on the host."""
    is_moved = case.frontend == "jax"
    while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
        if called(value) in _TENSORS:
            return is_moved or argument(value, "device") is not None
        if called(value) not in ("to", "detach", "clone"):
            return False
        is_moved = is_moved or called(value) == "to"
        value = value.func.value
    return False


def _end(source: Source, statement: cst.If) -> Position:
    last = statement.orelse.body if isinstance(statement.orelse, cst.Else) else statement.body
    return source.end(last.body[-1])
