"""Graphs that begin with work which an earlier step recorded below its barrier.

What a loop records below its barrier is compiled into the next step's graph: the first step has
none of it, the second has it, and where it becomes an input of its own, so does the third. In a
function, a line below the barrier's can only have run before it in an earlier turn of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xladoctor.causes.interface import Cause, Causes, Change, Changes, Compilation, Place
from xladoctor.evidence.database import Database

_KINDS = ("operations", "input_count", "constant", "unknown")
#: Barriers at their own line; that of a block, whose lines are below it, ends the block.
_BARRIERS = """
    SELECT DISTINCT process, file, line, function FROM step
    WHERE NOT tail AND via IN ('sync', 'mark_step', 'optimizer_step')
"""

Functions = dict[tuple[int, str | None, int | None], str | None]


def read_barriers(database: Database) -> Functions:
    """The functions of the barriers that are calls, by process and line."""
    rows = database.table(_BARRIERS)[1]
    return {(process, file, line): function for process, file, line, function in rows}


def with_leftovers(causes: Causes, changes: Changes, barriers: Functions) -> Causes:
    """Name what a line below the barrier left to the step, where the graphs differ in that."""
    if not barriers:
        return causes
    return {
        c: _named(c, cause, changes.get(c, ()), barriers) if cause.kind in _KINDS else cause
        for c, cause in causes.items()
    }


def _named(
    compilation: Compilation, cause: Cause, changes: Sequence[Change], barriers: Functions
) -> Cause:
    """The cause, or that work was left over, with the first line of that work."""
    place = _left(compilation, cause, changes, barriers)
    if place is None:
        return cause
    op = next((each.op for each in changes if each.place.spot == place.spot), cause.op)
    return replace(cause, kind="leftover", place=place, op=op, role="used")


def _left(
    compilation: Compilation, cause: Cause, changes: Sequence[Change], barriers: Functions
) -> Place | None:
    """The first line below the barrier whose operations only one of both graphs has."""
    site = compilation.site
    function = barriers.get((site.process, site.file, site.line))
    if function is None or site.line is None:
        return None
    if cause.kind == "constant" and "input" not in (cause.was, cause.now):
        return None  # a number that changes does so wherever its line stands
    places = [cause.place, *(each.place for each in changes if each.nature in ("added", "removed"))]
    below = [
        place
        for place in places
        if place.file == site.file
        and place.function == function
        and place.line is not None
        and place.line > site.line
    ]
    known = [place for place in places if place.file]
    return below[0] if below and 2 * len(below) > len(known) else None
