"""A state that goes from step to step without the history of the steps before."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused, Unsuited
from xladoctor.fixes.source import Source
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
    found: dict[str, Change] = {}
    for loop in source.all((cst.For, cst.While)):
        backward = [call for call in source.all(cst.Call, loop.body) if _is_backward(call)]
        if not backward or source.loops_around(loop):
            continue
        for statement in source.all(cst.SimpleStatementLine, loop.body):
            if places & set(range(source.begin(statement).line, source.end(statement).line + 1)):
                found |= _carried(source, statement)
    if not found:
        found = _carried_by_loops(source)
    if len(found) != 1:
        what = f"several: {', '.join(sorted(found))}" if found else "none that is clear"
        raise Refused(f"which state carries its history from step to step is not seen: {what}")
    return next(iter(found.values()))


def _carried_by_loops(source: Source) -> dict[str, Change]:
    """The states of all loops that go backward, where the finding names no line in them."""
    found: dict[str, Change] = {}
    for loop in source.all((cst.For, cst.While)):
        if any(_is_backward(call) for call in source.all(cst.Call, loop.body)):
            for statement in source.all(cst.SimpleStatementLine, loop.body):
                found |= _carried(source, statement)
    return found


def _is_backward(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "backward"


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
    if any(name == "detach" for name in _methods(source, small.value)):
        return {}
    return {
        name.value: Change(
            f"carry `{name.value}` over without its history",
            (source.replace(name, f"{name.value}.detach()"),),
            behaviour="gradients no longer flow into the steps before",
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
    for call in source.all(cst.Call, source.function_around(small) or source.module):
        if _is_backward(call) and loops[-1] not in source.around(call):
            return {}
    edit = source.replace(small.value, f"{small.value.value}.detach()")
    return {
        name: Change(
            f"sum `{small.value.value}` without its history",
            (edit,),
            behaviour="" if is_read_only(source, small, name) else f"`{name}` has no gradient",
        )
    }


def _methods(source: Source, value: cst.BaseExpression) -> list[str]:
    return [each.attr.value for each in source.all(cst.Attribute, value)]
