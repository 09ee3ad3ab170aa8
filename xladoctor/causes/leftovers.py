"""Finds graphs that begin with work that an earlier step recorded below its barrier.

What a loop records below its barrier is compiled into the next step's graph. So the first step has
none of it, and the second differs; so does the third, if that work becomes an input. Within a
function, a line below the barrier can only have run before it in an earlier iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xladoctor.causes.interface import Cause, Causes, Change, Changes, Compilation, Place
from xladoctor.evidence.database import Database

_KINDS = ("operations", "input_count", "constant", "unknown")
#: Barriers at their own line; the barrier of a `with` block comes after the block's lines.
_BARRIERS = """
    SELECT DISTINCT process, file, line, function FROM step
    WHERE NOT tail AND via IN ('sync', 'mark_step', 'optimizer_step')
"""

Functions = dict[tuple[int, str | None, int | None], str | None]


def read_barriers(database: Database) -> Functions:
    """The functions of barriers that are calls, by process and line."""
    rows = database.table(_BARRIERS)[1]
    return {(process, file, line): function for process, file, line, function in rows}


def with_leftovers(causes: Causes, changes: Changes, barriers: Functions) -> Causes:
    """Name the line below the barrier that left work to the next step, if graphs differ in that."""
    if not barriers:
        return causes
    return {
        c: _named(c, cause, changes.get(c, ()), barriers) if cause.kind in _KINDS else cause
        for c, cause in causes.items()
    }


def _named(
    compilation: Compilation, cause: Cause, changes: Sequence[Change], barriers: Functions
) -> Cause:
    """The cause, replaced if work was left over by the first line of that work."""
    place = _left(compilation, cause, changes, barriers)
    if place is None:
        return cause
    op = next((each.op for each in changes if each.place.spot == place.spot), cause.op)
    return replace(cause, kind="leftover", place=place, op=op, role="used")


def _left(
    compilation: Compilation, cause: Cause, changes: Sequence[Change], barriers: Functions
) -> Place | None:
    """The first line below the barrier whose operations only one of the graphs has."""
    site = compilation.site
    function = barriers.get((site.process, site.file, site.line))
    if function is None or site.line is None:
        return None
    if cause.kind == "constant" and "input" not in (cause.was, cause.now):
        return None  # a changing number does not depend on where its line is
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
