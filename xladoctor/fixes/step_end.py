"""Where a statement belongs with regard to the barrier of its step (torch_xla)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import libcst as cst

from xladoctor.fixes.barriers import barrier_in
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Edit, Refused
from xladoctor.fixes.source import Source
from xladoctor.fixes.values import refuse_unless_movable


def refuse_barrier_elsewhere(case: Case) -> None:
    """Refuse a step whose barrier is in a function that the loop calls: what the loop itself
    computes becomes a part of the next step.
    """
    if case.barriers.get("barrier_called"):
        called = case.barriers["barrier_called"]
        raise Refused(f"the step ends in {called}, and so before line {case.line}")


def above_barrier(
    case: Case,
    statement: cst.SimpleStatementLine,
    text: str,
    own: Collection[str] = (),
    computed: cst.CSTNode | None = None,
) -> tuple[Edit, ...]:
    """Write a statement anew, and above its step's barrier, so that it is a part of the step.

    Args:
        own: variables whose objects nothing else can reach.
        computed: the part of the statement that the text computes; by default, all of it.

    Raises:
        Refused: it would then compute something else.
    """
    source = case.source
    if not case.barriers.get("below_barrier"):
        return (source.replace(statement.body[0], text), *due_barrier(case, statement))
    barrier = source.statement(int(case.barriers["barrier"]))
    between = [barrier, *_between(source, barrier, statement)]
    refuse_unless_movable(source, computed or statement, between, own)
    bound = source.names_bound(barrier).union(*map(source.names_bound, between))
    changed = bound & {name.value for name in source.variables(statement.body[0])}
    if changed:
        raise Refused(f"`{min(changed)}` changes between the barrier and line {case.line}")
    comment = statement.trailing_whitespace.comment
    whole = source.dedented(statement, f"{text}  {comment.value}" if comment else text)
    return source.delete(statement), source.insert_before(barrier, whole)


def due_barrier(case: Case, statement: cst.CSTNode) -> tuple[Edit, ...]:
    """The barrier that the loop around a statement lacks; nothing if it has one."""
    unbarred = case.barriers.get("unbarred")
    if case.frontend != "torch_xla" or not unbarred:
        return ()
    for loop in case.source.loops_around(statement):
        if case.source.begin(loop).line == unbarred["line"]:
            return tuple(barrier_in(case.source, loop))
    raise Refused(f"the loop in line {unbarred['line']} has no barrier")


def _between(
    source: Source, first: cst.SimpleStatementLine, last: cst.SimpleStatementLine
) -> Sequence[cst.CSTNode]:
    block = source.parent(first)
    if block is None or block is not source.parent(last) or not hasattr(block, "body"):
        raise Refused(f"line {source.begin(last).line} is not in the same block as its barrier")
    body = list(block.body)
    return body[body.index(first) + 1 : body.index(last)]
