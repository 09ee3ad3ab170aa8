"""Removes eager mode, and adds a barrier at the end of the loop, so that each step is a graph."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.barriers import barrier_in, has_barrier, random_numbers
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused

_EAGER = frozenset(f"torch_xla.experimental{module}.eager_mode" for module in ("", ".eager"))
_COMPILED = frozenset(("torch_xla.compile", "torch_xla.experimental.compile"))


def fix(case: Case) -> Change:
    """For the only statement of the file that switches it on, and the loop around the update."""
    source = case.source
    calls = source.calls_of(_EAGER, source.module)
    compiled = any(source.qualified(each) & _COMPILED for each in source.all(cst.Attribute))
    if len(calls) != 1 or compiled:
        raise Refused("the file does not switch eager mode on once, for the whole program")
    statement = source.statement(source.begin(calls[0]).line)
    if (
        not isinstance(statement.body[0], cst.Expr)
        or source.only_call(statement) is not calls[0]
        or [source.code(arg) for arg in calls[0].args] not in (["True"], ["enable=True"])
    ):
        raise Refused(f"line {source.begin(statement).line} does not just switch eager mode on")
    update = source.statement(case.place("launched", "caller", "guilty").line)
    loop = source.loop_around(update)
    barrier = [] if has_barrier(source, loop) else barrier_in(source, loop)
    line = source.begin(loop).line
    return Change(
        f"remove eager mode, and end each iteration of the loop in line {line} with a barrier",
        (source.delete(statement), *barrier),
        behaviour=random_numbers(source),
        relies_on=("the loop's iterations are the steps of the program",),
    )
