"""Blocks of statements of which some have gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

#: Stands where a statement was until its block is done: libcst would drop its comments with it.
_GONE = cst.Expr(cst.Name("__gone__"))


def without_gone(block: Any) -> Any:
    """A block without the statements of which nothing is left; the comments above these that a
    blank line sets apart from them stay.
    """
    kept, carried = list[Any](), list[cst.EmptyLine]()
    for statement in block.body:
        if isinstance(statement, cst.SimpleStatementLine) and statement.body[0] is _GONE:
            carried += _set_apart(statement.leading_lines)
            continue
        if carried:
            lines = [*carried, *getattr(statement, "leading_lines", ())]
            statement = statement.with_changes(leading_lines=lines)  # noqa: PLW2901
            carried = []
        kept.append(statement)
    if kept and block.body[0] is not kept[0] and isinstance(block, cst.Module):
        kept[0] = kept[0].with_changes(leading_lines=without_blank(kept[0].leading_lines))
    return block.with_changes(body=kept, footer=[*carried, *block.footer])


def gone(lines: Sequence[cst.EmptyLine]) -> cst.SimpleStatementLine:
    """What stands in the place of a statement that has gone.

    Args:
        lines: those above it.
    """
    return cst.SimpleStatementLine([_GONE], list(lines))


def without_blank(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Lines without the blank ones before the first comment."""
    first = next((n for n, line in enumerate(lines) if line.comment), len(lines))
    return list(lines[first:])


def _set_apart(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """The comments above a statement that a blank line separates from it."""
    blanks = [number for number, line in enumerate(lines) if line.comment is None]
    above = list(lines[: blanks[-1]]) if blanks else []
    return above if any(line.comment for line in above) else []
