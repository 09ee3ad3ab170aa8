"""Finds the barrier of the loop around a finding's line, for fixes that depend on it."""

from __future__ import annotations

import re
from typing import Any

from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.source import source_line

_NEAREST = """
    SELECT s.file, s.line, s.file = $file AND s.function IS NOT DISTINCT FROM $function AS here
    FROM step s
    JOIN enclosing_loop b ON b.process = s.process AND b.file = s.file AND b.line = s.line
        AND b.depth = 0
    JOIN enclosing_loop r ON r.process = s.process AND r.loop_file = b.loop_file
        AND r.first_line = b.first_line AND r.file = $file AND r.line = $line
    WHERE NOT s.tail AND s.process = $process
    GROUP BY ALL ORDER BY min(r.depth), here DESC, count(*) DESC, s.file, s.line LIMIT 1
"""
_LOOP = """
    SELECT e.loop_file AS file, e.first_line AS line, e.last_line FROM enclosing_loop e
    LEFT JOIN piling p ON p.process = e.process AND p.cause.kind = 'loop'
        AND p.cause.loop.file = e.loop_file AND p.cause.loop.line = e.first_line
    WHERE e.process = $process AND e.file = $file AND e.line = $line
    ORDER BY p.process IS NULL, e.depth LIMIT 1  -- the loop that a barrier is due in comes first
"""
#: Blocks that end with the barrier: a loop over a loader that ends steps, or a step as a block.
_ENDS_ITS_BLOCK = re.compile(r"\s*(async\s+)?(for|with)\b")


def around(row: dict[str, Any], source: str | None, evidence: Evidence) -> dict[str, Any]:
    """Facts about barriers around a row's line, whose text is ``source``, for use in fixes.

    Returns:
        ``barrier``, the barrier's line if it is in the same function; ``below_barrier``, whether
        the row's line comes after it; ``barrier_called``, file and line of a barrier in a function
        that the loop calls; ``unbarred``, first line, last line and file of a loop without a
        barrier. Each is None if it is unknown or does not exist.
    """
    place = {key: row.get(key) for key in ("process", "file", "line")}
    nearest = evidence.database.rows(_NEAREST, place | {"function": row.get("function")})
    facts = dict[str, Any].fromkeys(("barrier", "below_barrier", "barrier_called", "unbarred"))
    if not nearest:
        loops = evidence.database.rows(_LOOP, place)
        if loops:
            facts["unbarred"] = loops[0] | {"file": evidence.shown(loops[0]["file"])}
        return facts
    (barrier,) = nearest
    if not barrier["here"]:
        facts["barrier_called"] = f"{evidence.shown(barrier['file'])}:{barrier['line']}"
        return facts
    facts["barrier"] = int(barrier["line"])
    facts["below_barrier"] = _comes_after(row["line"], source, barrier, evidence)
    return facts


def _comes_after(
    line: int, source: str | None, barrier: dict[str, Any], evidence: Evidence
) -> bool:
    text = source_line(evidence, barrier["file"], barrier["line"]) or ""
    within = bool(_ENDS_ITS_BLOCK.match(text)) and source and _indent(source) > _indent(text)
    return line > barrier["line"] and not within


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
