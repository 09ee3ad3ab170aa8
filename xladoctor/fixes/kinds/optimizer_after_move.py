"""Makes the optimizer after the model moves to the device, which creates new parameters."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import refuse_effects
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.names import function
from xladoctor.fixes.source import Source, method_of

_PARAMETERS = ("parameters", "named_parameters")


def fix(case: Case) -> Change:
    """For the optimizer that steps in the finding's line, made in the same function as the move."""
    source = case.source
    name = _stepped(source, case.line)
    bound = source.bindings(name)
    body = source.body_around(bound[0] if len(bound) == 1 else name)
    made = _only([each for each in body if _makes(source, each, name.value)], name.value)
    model = _model(source, made)
    below = body[list(body).index(made) + 1 :]
    moves = [number for number, each in enumerate(below) if _moves(source, each, model)]
    if len(moves) != 1:
        raise Refused(f"its function does not move `{model}` once, below the optimizer")
    between, move = below[: moves[0]], below[moves[0]]
    _refuse_uses(source, made, [*between, move], name.value, model)
    refuse_effects(source, made, but=_understood(source, made))
    return Change(
        f"make the optimizer after `{model}` is moved",
        (source.delete(made), source.insert_after(move, *_lines(source, made))),
        behaviour="the model is trained",
    )


def _stepped(source: Source, line: int) -> cst.Name:
    """The variable of the optimizer that steps in a line."""
    call = source.only_call(source.statement(line))
    match call:
        case cst.Call(func=cst.Attribute(value=cst.Name() as name, attr=cst.Name("step"))):
            return name
    raise Refused(f"line {line} is not the step of an optimizer in a variable")


def _only(made: Sequence[cst.CSTNode], name: str) -> cst.SimpleStatementLine:
    found = made[0] if len(made) == 1 else None
    if not isinstance(found, cst.SimpleStatementLine):
        raise Refused(f"`{name}` is not made once, in one function or the module")
    return found


def _makes(source: Source, statement: cst.CSTNode, name: str) -> bool:
    if not isinstance(statement, cst.SimpleStatementLine):
        return any(
            isinstance(source.parent(each), (cst.AssignTarget, cst.AugAssign, cst.NamedExpr))
            for each in source.names_used(statement, name)
        )
    match statement.body:
        case [cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=target))])]:
            return target == name
    return bool(source.names_used(statement, name)) and any(
        isinstance(part, (cst.Assign, cst.AugAssign, cst.AnnAssign)) for part in statement.body
    )


def _model(source: Source, made: cst.SimpleStatementLine) -> str:
    """The variable of the model whose parameters an optimizer is given."""
    match made.body:
        case [cst.Assign(targets=[_], value=cst.Call(func=func))]:
            is_optimizer = any(each.startswith("torch.optim.") for each in source.qualified(func))
        case _:
            is_optimizer = False
    found = {
        owner.value
        for each in source.all(cst.Call, made)
        if isinstance(each.func, cst.Attribute)
        and each.func.attr.value in _PARAMETERS
        and isinstance(owner := each.func.value, cst.Name)
    }
    if not is_optimizer or len(found) != 1:
        raise Refused("the optimizer is not torch's, or not given the parameters of one variable")
    return found.pop()


def _understood(source: Source, made: cst.SimpleStatementLine) -> list[cst.Call]:
    """The calls by which an optimizer is made of a model's parameters."""
    return [
        call
        for call in source.all(cst.Call, made)
        if any(name.startswith("torch.optim.") for name in source.qualified(call.func))
        or method_of(call) in _PARAMETERS
    ]


def _moves(source: Source, statement: cst.CSTNode, model: str) -> bool:
    """Whether a statement is ``model.to(…)``, assigned to the model or to nothing."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    part = statement.body[0]
    if isinstance(part, cst.Assign) and [source.code(each.target) for each in part.targets] != [
        model
    ]:
        return False
    match source.only_call(statement):
        case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name("to"))):
            return name == model
    return False


def _refuse_uses(
    source: Source, made: cst.CSTNode, passed: Sequence[cst.CSTNode], name: str, model: str
) -> None:
    """Refuse if something that the optimizer passes by uses it, or changes what it is made of."""
    needed = {each.value for each in source.all(cst.Name, made)} - {name, model}
    for statement in passed:
        line = source.begin(statement).line
        if _uses(source, statement, name):
            raise Refused(f"`{name}` is used in line {line}, before the move")
        if statement is not passed[-1] and _uses(source, statement, model):
            raise Refused(f"`{model}` may change in line {line}")
        for each in source.all(cst.Name, statement):
            above = source.parent(each)
            if each.value in needed and isinstance(above, (cst.AssignTarget, cst.AugAssign)):
                raise Refused(f"`{each.value}` changes in line {line}")


def _uses(source: Source, statement: cst.CSTNode, name: str) -> bool:
    """Whether a statement names a variable, or calls functions of the file that do."""
    pending, seen = [statement], set[str]()
    while pending:
        code = pending.pop()
        if source.names_used(code, name):
            return True
        for call in source.all(cst.Call, code):
            called = function(source, source.code(call.func))
            if called is not None and called.name.value not in seen:
                seen.add(called.name.value)
                pending.append(called)
    return False


def _lines(source: Source, statement: cst.CSTNode) -> list[str]:
    """The lines of a statement, with their comments, without its indentation."""
    source.refuse_long_strings(statement)
    indentation = source.indentation(statement)
    lines = source.lines[source.begin(statement).line - 1 : source.end(statement).line]
    return [line.rstrip("\r\n").removeprefix(indentation) for line in lines]
