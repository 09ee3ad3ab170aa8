"""Removes a barrier in the middle of a step, so that the step is one graph."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.barriers import SYNC, barrier_in, has_barrier, random_numbers
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused


def fix(case: Case) -> Change:
    """For the barrier in the finding's line. One of an inner loop is put at the end of the outer
    loop, if that has no other.
    """
    source = case.source
    statement = source.statement(case.line)
    call = source.only_call(statement)
    if (
        call is None
        or not isinstance(statement.body[0], cst.Expr)
        or not source.qualified(call.func) & SYNC
    ):
        raise Refused(f"line {case.line} does not call a barrier and nothing else")
    edits = [source.delete(statement)]
    title = f"remove the barrier in line {case.line}"
    if case.cause.get("inner"):
        loop = source.loop(case.place("loop").line)
        if not has_barrier(source, loop, but=call):
            edits += barrier_in(source, loop, but=call)
            title += (
                f", and end each iteration of the loop in line {source.begin(loop).line} with it"
            )
    return Change(
        title,
        tuple(edits),
        behaviour=random_numbers(source),
        relies_on=("the device has enough memory for the step as one graph",),
    )
