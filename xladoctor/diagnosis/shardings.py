"""How programs for several devices divide their arrays, and what moves for it in a step."""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter
from typing import Any

from xladoctor.diagnosis.memory import located
from xladoctor.diagnosis.sharding_use import DividedArray, DividedProgram, Movement
from xladoctor.evidence.interface import Evidence

Row = dict[str, Any]

_OF = itemgetter("process", "program_id")
_QUERIES = (
    "FROM divided_array ORDER BY process, program_id, role, bytes DESC, number",
    "FROM moved ORDER BY process, program_id, bytes DESC, kind, axes, reason, file, line",
)
_PROGRAMS = "SELECT * EXCLUDE (rank) FROM ranked_program ORDER BY rank"
_DIGITS = re.compile(r"(\d+)")


def shardings(evidence: Evidence) -> list[DividedProgram] | None:
    """Programs for several devices, that which moves most in a step first; None without any
    compiled program.
    """
    rows = evidence.database.rows
    if not evidence.database.has_rows("hlo_module"):
        return None
    arrays, moved = ({key: [*of] for key, of in groupby(rows(query), _OF)} for query in _QUERIES)
    programs: dict[Any, DividedProgram] = {}
    for row in rows(_PROGRAMS):
        found = DividedProgram(
            location=located(row, evidence, ""),
            arrays=[_array(each) for each in arrays.get(_OF(row), ())],
            moved=[_movement(each, evidence) for each in moved.get(_OF(row), ())],
            **_without(row, "process", "program_id", "file", "line", "function"),
        )
        programs.setdefault((row["name"], row["file"], row["line"]), found)  # of one process
    return [*programs.values()]


def _array(row: Row) -> DividedArray:
    """With ``*`` where numbers in paths differ; without a path it is known by its type."""
    paths = row["paths"] or [f"{row['type']}[{','.join(map(str, row['shape']))}]"]
    parts = zip(*map(_DIGITS.split, paths), strict=True)
    path = "".join(same[0] if len({*same}) == 1 else "*" for same in parts)
    return DividedArray(path=path, **_without(row, "process", "program_id", "paths", "number"))


def _movement(row: Row, evidence: Evidence) -> Movement:
    rest = _without(row, "process", "program_id", "file", "line", "function")
    return Movement(location=located(row, evidence, ""), **rest)


def _without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}
