"""Finds the construct that decides what an operation does: its loop, or the condition above it."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from xladoctor.diagnosis.rule import Construct
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.source import is_as_it_ran
from xladoctor.recording.bootstrap._xladoctor.loops import Loops

Place = tuple[str, int, str]
_Loop = tuple[str, int, int, str]

_MODULE = "_call_impl"  # what calls a module
_LEAVES = (ast.Continue, ast.Break, ast.Return, ast.Raise)
_STACK = """
    WITH RECURSIVE outwards AS (
        (SELECT *, 0 AS depth FROM hlo_frame
         WHERE process = $process AND file = $file AND line = $line
             AND coalesce(program_id = $program, TRUE)
         ORDER BY program_id, frame LIMIT 1)
        UNION ALL
        SELECT f.*, o.depth + 1 FROM outwards o JOIN hlo_frame f
            ON f.process = o.process AND f.program_id = o.program_id AND f.frame = o.parent
    )
    SELECT file, line, function FROM outwards ORDER BY depth
"""
_COPIED = """
    SELECT DISTINCT coalesce(user_line, line) AS line FROM repeated_place
    WHERE process = $process AND program_id = $program AND coalesce(user_file, file) = $file
        AND in_each_copy(in_entry, $copies)
"""
_ENDED = """
    SELECT DISTINCT b.loop_file AS file, b.first_line AS line
    FROM step s JOIN enclosing_loop b USING (process, file, line) WHERE NOT s.tail
"""


def deciding(construct: Construct, row: dict[str, Any], evidence: Evidence) -> Place | None:
    """File, line and function of the construct that decides about a row's line; None if there is
    none, or if the source is not here as it ran.
    """
    place = _own(row)
    if place is None:
        return None
    if construct == "condition":
        file, line, function = place
        at = _condition(file, line) if is_as_it_ran(evidence, file) else None
        return (file, at, function) if at else None
    ended = {tuple(each.values()) for each in evidence.database.rows(_ENDED)}
    loops = Loops()
    for frame in _outwards(place, row, evidence):
        found = loops.around([frame]) if is_as_it_ran(evidence, frame[0]) else []
        if found:
            file, first, _, function = _repeating(found, row, evidence)
            return None if (file, first) in ended else (file, first, function)
    return None


def _repeating(loops: Sequence[_Loop], row: dict[str, Any], evidence: Evidence) -> _Loop:
    """The loop whose turns the graph has, of those around a line, innermost first. One that made a
    single turn repeats nothing: the loop around it has other lines as often.
    """
    if len(loops) == 1 or (row.get("cause") or {}).get("program") is None:
        return loops[0]
    values = {
        "process": row.get("process") or 0,
        "program": row["cause"]["program"],
        "file": loops[0][0],
        "copies": row.get("count"),
    }
    copied = [each["line"] for each in evidence.database.rows(_COPIED, values)]
    for inner, outer in pairwise(loops):
        around = (line for line in copied if outer[1] < line <= outer[2])
        if all(inner[1] <= line <= inner[2] for line in around):
            return inner
    return loops[-1]


def _own(row: dict[str, Any]) -> Place | None:
    """The program's own line: that of the loop, if the cause has it."""
    loop = (row.get("cause") or {}).get("loop")
    if loop:
        return str(loop["file"]), int(loop["line"]), str(row.get("function") or "")
    prefix = "user_" if row.get("user_file") else ""
    file, line = row.get(f"{prefix}file"), row.get(f"{prefix}line")
    return (file, line, row.get(f"{prefix}function") or "") if file and line else None


def _outwards(place: Place, row: dict[str, Any], evidence: Evidence) -> list[Place]:
    """The line, and those that led to it, from inside out; of turns that call a model, those
    outside of it.
    """
    cause = row.get("cause") or {}
    values = {"process": row.get("process") or 0, "file": place[0], "line": place[1]}
    values["program"] = cause.get("program")
    rows = evidence.database.rows(_STACK, values)
    stack = [place, *((each["file"], each["line"], each["function"] or "") for each in rows[1:])]
    of_model = [nth for nth, (_, _, function) in enumerate(stack) if function == _MODULE]
    return stack[of_model[-1] + 1 :] if cause.get("turn") and of_model else stack


def _condition(file: str, line: int) -> int | None:
    """The line of the condition under which a line is reached, within its loop or function."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found, inside = None, False
    for node in _around(tree, line):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While)):
            found, inside = _leaving(node.body, line), True
        elif isinstance(node, ast.If) and inside and node.test.lineno < line:
            found = node.lineno
    return found


def _around(node: ast.AST, line: int) -> Iterator[ast.AST]:
    """The statements around a line, from outside in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and child.lineno <= line <= (child.end_lineno or 0):
            yield child
            yield from _around(child, line)


def _leaving(body: list[ast.stmt], line: int) -> int | None:
    """The last condition above a line of a block that leaves it."""
    above = (each for each in body if isinstance(each, ast.If) and (each.end_lineno or 0) < line)
    leaving = [each.lineno for each in above if isinstance(each.body[-1], _LEAVES)]
    return leaving[-1] if leaving else None
