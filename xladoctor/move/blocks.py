"""Blocks of statements of which some have gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst


def without_empty(body: Sequence[Any]) -> list[Any]:
    """Statements without those of which nothing is left; blank lines and comments that are set
    apart from one of these stay.
    """
    kept, carried = list[Any](), list[cst.EmptyLine]()
    for statement in body:
        if isinstance(statement, cst.SimpleStatementLine) and not statement.body:
            carried += _set_apart(statement.leading_lines)
            continue
        if carried:
            lines = [*carried, *statement.leading_lines]
            statement = statement.with_changes(leading_lines=lines)  # noqa: PLW2901
            carried = []
        kept.append(statement)
    return kept


def _set_apart(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """The comments above a statement that a blank line separates from it."""
    blanks = [number for number, line in enumerate(lines) if line.comment is None]
    above = list(lines[: blanks[-1]]) if blanks else []
    return above if any(line.comment for line in above) else []
