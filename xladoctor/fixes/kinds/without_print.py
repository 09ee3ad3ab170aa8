"""Removes a line that only prints or logs from a compiled function."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.calls import LEVELS, PRINTS
from xladoctor.fixes.carried import refuse_caught
from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import effects, refuse_effects
from xladoctor.fixes.interface import Change, Edit, Refused, Unsuited
from xladoctor.fixes.source import Source


def fix(case: Case) -> Change:
    """For the line that prints."""
    source = case.source
    line = case.line
    statement = source.statement(line)
    call = statement.body[0].value if isinstance(statement.body[0], cst.Expr) else None
    if not isinstance(call, cst.Call):
        raise Unsuited(f"line {line} does more than print")
    if not _prints(source, call):
        raise Refused(f"line {line} calls `{source.code(call.func)}`, which may do more than print")
    refuse_caught(source, statement, source.owner(statement))
    logger = call.func.value if isinstance(call.func, cst.Attribute) else None
    refuse_effects(source, call, but=[call, *([logger] if logger else [])], ordered=True)
    return Change(
        f"remove line {line} from the compiled function",
        (_without(source, statement),),
        behaviour=f"line {line} no longer prints",
    )


def _prints(source: Source, call: cst.Call) -> bool:
    if source.qualified(call.func) & PRINTS:
        return True
    func = call.func
    return (
        isinstance(func, cst.Attribute)
        and func.attr.value in LEVELS
        and _is_logger(source, func.value)
    )


def _is_logger(source: Source, value: cst.BaseExpression) -> bool:
    """Whether this is the module ``logging``, a call of ``getLogger``, or a variable of the module
    that holds one.
    """
    if isinstance(value, cst.Call):
        return "logging.getLogger" in source.qualified(value.func)
    if "logging" in source.qualified(value):
        return True
    if not isinstance(value, cst.Name):
        return False
    assigned = source.assigned(value.value)
    return bool(assigned) and all(
        isinstance(each, cst.Call) and _is_logger(source, each) for each in assigned
    )


def _without(source: Source, statement: cst.SimpleStatementLine) -> Edit:
    """Delete a statement, and the block around it if nothing else is in that and nothing depends
    on whether it runs.
    """
    block = source.parent(statement)
    if not isinstance(block, cst.IndentedBlock) or len(block.body) != 1:
        return source.delete(statement)
    above = source.parent(block)
    if (
        isinstance(above, cst.If)
        and above.orelse is None
        and not isinstance(source.parent(above), cst.If)  # an elif
        and not _calls(source, above.test)
    ):
        return source.delete(above)
    return source.replace(statement, "pass")


def _calls(source: Source, test: cst.BaseExpression) -> bool:
    is_known = effects(source, test).unknown is None
    return not is_known or any(source.all((cst.Call, cst.NamedExpr, cst.Await), test))
