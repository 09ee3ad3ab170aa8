"""Shows or checks a value in every tenth step instead of each."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from xladoctor.fixes.calls import LOGS, PRINTS
from xladoctor.fixes.carried import refuse_caught
from xladoctor.fixes.case import Case
from xladoctor.fixes.compose import applied
from xladoctor.fixes.counter import occasionally
from xladoctor.fixes.effects import refuse_effects
from xladoctor.fixes.interface import Change, Edit, Position, Refused
from xladoctor.fixes.source import Source
from xladoctor.fixes.step_end import due_barrier
from xladoctor.fixes.text import indented, lines_of
from xladoctor.fixes.values import refuse_unless_movable

_LOGGING = {"tqdm.tqdm.write", "tqdm.auto.tqdm.write", "wandb.log", "warnings.warn"}


def fix(case: Case) -> Change:
    """For the statement that the finding names."""
    return seldom(case, case.source.statement(case.line))


def seldom(case: Case, statement: cst.SimpleStatementLine, replaced: Sequence[Edit] = ()) -> Change:
    """The same for any statement around whose line the case has the barriers.

    Args:
        replaced: other edits of the statement, which keep its lines.

    Raises:
        Refused: it does more than show or check, or its loop cannot be counted.
    """
    source = case.source
    verb = _verb(source, statement)
    small = statement.body[0]
    shown = [small.value] if isinstance(small, cst.Expr) else []
    if isinstance(small, cst.Assert):
        refuse_effects(source, small.test, ordered=True)
    else:
        refuse_effects(source, small, but=shown, ordered=True)
    condition, loop, counted = occasionally(source, statement)
    refuse_caught(source, statement, source.loops_around(statement)[0])
    return Change(
        f"{verb} only if `{condition}`",
        (*_moved(case, statement, condition, replaced), *counted),
        behaviour=f"it {verb}s only if `{condition}`, not in each iteration of the loop in line"
        f" {loop}",
    )


def _verb(source: Source, statement: cst.SimpleStatementLine) -> str:
    match statement.body[0]:
        case cst.Assert():
            return "check"
        case cst.Expr(value=cst.Call(func=func)) if source.qualified(func) & (PRINTS | _LOGGING):
            return "log" if source.qualified(func) & _LOGGING else "print"
        case cst.Expr(value=cst.Call(func=cst.Attribute(attr=cst.Name(name)))) if (
            name in LOGS - source.methods
        ):
            return "show" if name.startswith("set_") else "log"
    raise Refused("the statement is not just a call of print(), a logger or a progress bar")


def _moved(
    case: Case, statement: cst.SimpleStatementLine, condition: str, replaced: Sequence[Edit]
) -> tuple[Edit, ...]:
    """The statement behind a condition, and below the barrier if that is possible."""
    source = case.source
    begin, end = source.whole_lines(statement)
    source.refuse_long_strings(statement)
    lines = lines_of(applied(source.text, replaced)) if replaced else source.lines
    body = indented("".join(lines[begin.line - 1 : end.line - 1]), source.module.default_indent)
    text = f"{source.indentation(statement)}if {condition}:{source.newline}{body}"
    due = due_barrier(case, statement)
    if due:
        return _below_due_barrier(case, statement, text, due)
    barrier = barrier_below(case, statement)
    if barrier is None:
        return (Edit(begin, end, text),)
    below = Position(source.end(barrier).line + 1, 0)
    return Edit(begin, end, ""), Edit(below, below, text)


def _below_due_barrier(
    case: Case, statement: cst.SimpleStatementLine, text: str, due: tuple[Edit, ...]
) -> tuple[Edit, ...]:
    """The statement below a barrier that the loop is given, too."""
    source = case.source
    block = source.parent(statement)
    if (
        not isinstance(block, cst.IndentedBlock)
        or block is not source.loops_around(statement)[0].body
    ):
        raise Refused("the loop has no barrier, and the statement is in an inner block")
    if block.body[-1] is not statement:
        raise Refused("the loop has no barrier, and the statement is not its last")
    begin, after = source.whole_lines(statement)
    return Edit(begin, after, ""), *due, Edit(after, after, text)


def barrier_below(case: Case, statement: cst.SimpleStatementLine) -> cst.SimpleStatementLine | None:
    """The barrier below which the statement shows the same; None if there is none."""
    source, line = case.source, case.barriers.get("barrier")
    if not line:
        return None
    block = source.parent(statement)
    body = list(block.body) if isinstance(block, cst.IndentedBlock) else []
    rest = body[body.index(statement) + 1 :] if statement in body else []
    for number, each in enumerate(rest):
        if source.begin(each).line == line and isinstance(each, cst.SimpleStatementLine):
            try:
                refuse_unless_movable(source, statement, rest[: number + 1])
            except Refused:
                return None
            return each
    return None
