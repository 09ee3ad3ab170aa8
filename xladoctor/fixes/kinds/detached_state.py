"""Detaches state that is carried from step to step from the history of earlier steps."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused, Unsuited
from xladoctor.fixes.source import LOOPS, Source, method_of
from xladoctor.fixes.values import is_read_only


def fix(case: Case) -> Change:
    """For a loop on a line of the finding or around it, which carries one state."""
    source = case.source
    if case.frontend != "torch_xla":
        raise Unsuited("only PyTorch detaches")
    places = {place.line for place in case.finding.locations}
    places |= {
        int(each["line"])
        for each in case.cause.get("changed_lines") or ()
        if str(each.get("file", "")).endswith(source.path.name)
    }
    statements = [
        statement
        for loop in source.all(LOOPS)
        if _goes_backward(source, loop) and not source.loops_around(loop)
        for statement in source.all(cst.SimpleStatementLine, loop.body)
    ]
    named = [each for each in statements if any(source.covers(each, line) for line in places)]
    found = _all_carried(source, named) or _all_carried(source, statements)
    if len(found) != 1:
        what = f"several: {', '.join(sorted(found))}" if found else "none that is clear"
        raise Refused(f"it is not clear which state carries its history from step to step: {what}")
    return next(iter(found.values()))


def _all_carried(
    source: Source, statements: Iterable[cst.SimpleStatementLine]
) -> dict[str, Change]:
    return {name: change for each in statements for name, change in _carried(source, each).items()}


def _goes_backward(source: Source, loop: cst.BaseCompoundStatement) -> bool:
    return any(method_of(call) == "backward" for call in source.all(cst.Call, loop.body))


def _carried(source: Source, statement: cst.SimpleStatementLine) -> dict[str, Change]:
    """``total += loss`` and ``prediction, state = model(x, state)``."""
    small = statement.body[0]
    if len(statement.body) != 1:
        return {}
    if isinstance(small, cst.AugAssign) and isinstance(small.operator, cst.AddAssign):
        return _sum(source, small)
    if not isinstance(small, cst.Assign) or not isinstance(small.value, cst.Call):
        return {}
    names = {name.value for target in small.targets for name in source.variables(target)}
    if any(each.attr.value == "detach" for each in source.all(cst.Attribute, small.value)):
        return {}
    return {
        name.value: Change(
            f"detach `{name.value}` from its history",
            (source.replace(name, f"{name.value}.detach()"),),
            behaviour="gradients no longer flow into earlier steps",
            relies_on=(f"{name.value} is one tensor",),
        )
        for arg in small.value.args
        if isinstance(name := arg.value, cst.Name) and not arg.star and name.value in names
    }


def _sum(source: Source, small: cst.AugAssign) -> dict[str, Change]:
    """A sum that nothing in the loop reads, and that nothing goes backward from."""
    if not isinstance(small.target, cst.Name) or not isinstance(small.value, cst.Name):
        return {}
    name, loops = small.target.value, source.loops_around(small)
    if len(source.names_used(loops[-1], name)) != 1:
        return {}
    for call in source.all(cst.Call, source.owner(small)):
        if method_of(call) == "backward" and loops[-1] not in source.around(call):
            return {}
    edit = source.replace(small.value, f"{small.value.value}.detach()")
    return {
        name: Change(
            f"sum `{small.value.value}` detached from its history",
            (edit,),
            behaviour="" if is_read_only(source, small, name) else f"`{name}` has no gradient",
        )
    }
