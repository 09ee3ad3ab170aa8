"""Keeps the largest or smallest value in a buffer instead of reading it with ``item()``."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused, Unsuited
from xladoctor.fixes.kinds.attribute_as_tensor import first_assignment, registered, uses
from xladoctor.fixes.source import Source

_FUNCTIONS = {"builtins.max": "maximum", "builtins.min": "minimum"}


def fix(case: Case) -> Change:
    """For ``self.largest = max(self.largest, y.max().item())`` in a module."""
    source, line = case.source, case.line
    assign = source.statement(line).body[0]
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        raise Unsuited(f"line {line} is not an assignment")
    target, call = assign.targets[0].target, assign.value
    if not isinstance(target, cst.Attribute) or source.code(target.value) != "self":
        raise Refused(f"line {line} does not keep the value in an attribute of the module")
    read, name = _read(source, call, source.code(target))
    attribute = target.attr.value
    begin = first_assignment(source, attribute)
    for use in uses(source, attribute):
        if not source.covers(assign, source.begin(use).line) and use is not begin.targets[0].target:
            raise Refused(f"line {source.begin(use).line} uses self.{attribute} as a number")
    torch, _ = source.import_of("torch", assign)
    text = f"{torch}.{name}(self.{attribute}, {source.code(read)}.detach())"
    return Change(
        f"keep `self.{attribute}` on the device",
        (registered(source, begin, attribute, whole=False), source.replace(call, text)),
        behaviour=f"self.{attribute} becomes NaN with the first NaN, which {name[:3]}() ignores",
        relies_on=(f"other files do not use {attribute} as a number",),
    )


def _read(source: Source, call: cst.BaseExpression, own: str) -> tuple[cst.BaseExpression, str]:
    """The tensor that is read, and the function of tensors for ``max`` or ``min``."""
    names = source.qualified(call.func) if isinstance(call, cst.Call) else set()
    found = [_FUNCTIONS[name] for name in names if name in _FUNCTIONS]
    if not found or not isinstance(call, cst.Call) or len(call.args) != 2:
        raise Refused("the value is not a max(…) or min(…) of two numbers")
    if any(arg.keyword or arg.star for arg in call.args):
        raise Refused("max or min has other arguments")
    match [arg.value for arg in call.args if source.code(arg.value) != own]:
        case [cst.Call(func=cst.Attribute(value=read, attr=cst.Name("item")), args=[])]:
            return read, found[0]
    raise Refused(f"it is not the larger or smaller of {own} and one value that is read")
