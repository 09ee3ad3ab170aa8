"""What programs hold in a device's memory when they hold most: as the compiler planned it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from xladoctor.diagnosis.finding import Location
from xladoctor.diagnosis.findings import location
from xladoctor.diagnosis.memory_use import GrowingMemory, HeldMemory, Memory, ProgramMemory
from xladoctor.evidence.interface import Evidence
from xladoctor.frontends.vocabulary import vocabulary

Row = dict[str, Any]

_MOST = 8  # programs, and groups of arguments
_HELD = """
    WITH largest AS (
        FROM program_memory ORDER BY memory_bytes DESC, process, program_id LIMIT $most
    )
    SELECT l.*, b.role, b.bytes, b.count, b.reused, b.opcode, b.type, b.shape, b.op_name,
           coalesce(b.user_file, b.file) AS made_file, coalesce(b.user_line, b.line) AS made_line,
           coalesce(b.user_function, b.function) AS made_function
    FROM largest l JOIN memory_buffer b USING (process, program_id)
    ORDER BY l.memory_bytes DESC, l.process, l.program_id, b.bytes DESC, b.position
"""
#: The same of graphs that were compiled for TPUs.
_PLANNED = """
    WITH largest AS (
        SELECT 0 AS process, row_number() OVER (ORDER BY position) AS program_id, graph, topology,
               name, NULL AS file, NULL AS line, NULL AS function,
               coalesce(peak_bytes, needed_bytes) AS memory_bytes, compiled_for AS device_kind,
               1 AS variants
        FROM tpu_graph WHERE memory_bytes IS NOT NULL
        ORDER BY memory_bytes DESC, position LIMIT $most
    )
    SELECT l.*, b.* EXCLUDE (position, graph, topology, file, line, function, user_file, user_line,
                             user_function),
           coalesce(b.user_file, b.file) AS made_file, coalesce(b.user_line, b.line) AS made_line,
           coalesce(b.user_function, b.function) AS made_function
    FROM largest l JOIN tpu_peak_buffer b USING (graph, topology)
    ORDER BY l.memory_bytes DESC, l.program_id, b.bytes DESC, b.position
"""
_GROWING = """
    SELECT * REPLACE (coalesce(added_file, user_file, file) AS file,
                      coalesce(added_line, user_line, line) AS line,
                      coalesce(added_function, user_function, function) AS function)
    FROM memory_growth ORDER BY bytes_per_step DESC NULLS LAST, arrays_per_step DESC, name
"""
#: An argument's path as frameworks write it: ``state.params['w']``, ``p[0]``.
_STEP = re.compile(r"^\w+|\.\w+|\[[^\]]*\]")
#: By role, names in paths of arguments: fields of optimizers' states, and what programs call them.
_NAMES = {
    "optimizer state": re.compile(
        r"\b(opt|optimizer|\w*opt\w*_states?|mu|nu|momentum\w*|velocity|exp_avg\w*)\b", re.I
    ),
    "parameters": re.compile(r"\b(params?|parameters|weights?|kernel)\b", re.I),
}


def memory(evidence: Evidence) -> Memory | None:
    """What the program holds in the device's memory; None if no compiled program says so, and too
    few looks were taken between steps.
    """
    queries = {"memory_buffer": _HELD, "tpu_peak_buffer": _PLANNED}
    found = [
        evidence.database.rows(query, {"most": _MOST})
        for table, query in queries.items()
        if table in evidence.available
    ]
    rows = [row for each in found for row in each]
    programs = groupby(rows, lambda row: (row["process"], row["program_id"]))
    last = evidence.database.scalar("SELECT max(to_step) FROM memory_look")
    if not rows and last is None:
        return None
    growth = None
    if evidence.database.has_rows("live_memory"):
        growth = [_growing(row, evidence) for row in evidence.database.rows(_GROWING)]
    return Memory([_program([*held], evidence) for _, held in programs], growth, last)


def _growing(row: Row, evidence: Evidence) -> GrowingMemory:
    limit = "limited to its maxlen" if row["most"] else ""
    return GrowingMemory(
        f"{row['name']} in {row['owner']}" if row["name"] else "",
        located(row, evidence, ""),
        row["arrays"],
        row["arrays_per_step"],
        row["bytes_per_step"],
        limit or ("emptied or made again elsewhere" if row["released"] else ""),
    )


def _program(rows: Sequence[Row], evidence: Evidence) -> ProgramMemory:
    first = rows[0]
    return ProgramMemory(
        first["name"] or vocabulary(evidence.frontend).words.get("graph", "graph"),
        located(first, evidence, ""),
        first["device_kind"] or "",
        first["memory_bytes"],
        first["variants"],
        grouped(rows, lambda row: located(row, evidence, "made_")),
    )


def located(row: Row, evidence: Evidence, of: str) -> Location | None:
    """The line of a row's columns that begin with ``of``; None if unknown."""
    file, line, function = (row[f"{of}{name}"] for name in ("file", "line", "function"))
    return None if file is None or line is None else location(evidence, file, line, function)


def grouped(buffers: Sequence[Row], place: Callable[[Row], Location | None]) -> list[HeldMemory]:
    """Buffers by role and line, most bytes first; arguments by what they belong to."""
    arguments = [each for each in buffers if each["role"] == "argument"]
    found = list(_arguments(arguments, place))
    by_line = defaultdict(list)
    for each in buffers:
        if each["role"] != "argument":
            by_line[each["role"], each["made_file"], each["made_line"]].append(each)
    for (role, *_), rows in by_line.items():
        found.append(_together(role, _operation(rows[0]), place(rows[0]), rows))
    return sorted(found, key=lambda each: -each.bytes)


def _arguments(
    rows: Sequence[Row], place: Callable[[Row], Location | None]
) -> Iterator[HeldMemory]:
    """Those with a path by the longest beginning of it that leaves a few groups; the others by
    line.
    """
    named = [row for row in rows if _has_path(row)]
    groups: dict[str, list[Row]] = {}
    for depth in (4, 3, 2, 1):
        groups = defaultdict(list)
        for row in named:
            groups["".join(_STEP.findall(row["op_name"])[:depth])].append(row)
        if len(groups) <= _MOST:
            break
    for path, members in groups.items():
        alone = len(members) == 1
        name = members[0]["op_name"] if alone else path
        what = f"{name} {_array(members[0])}" if alone else f"{name}…"
        yield _together(_role(members), what, None, members)
    unnamed = defaultdict(list)
    for row in rows:
        if not _has_path(row):
            unnamed[row["made_file"], row["made_line"]].append(row)
    for members in unnamed.values():
        yield _together("argument", _array(members[0]), place(members[0]), members)


def _together(role: str, what: str, at: Location | None, rows: Sequence[Row]) -> HeldMemory:
    size, arrays = (sum(row[name] for row in rows) for name in ("bytes", "count"))
    return HeldMemory(role, what, at, size, arrays, all(row["reused"] for row in rows))


def _has_path(row: Row) -> bool:
    """Whether the name of an argument is its path, and not an operation's name with scopes."""
    name = row["op_name"]
    return bool(name) and "".join(_STEP.findall(name)) == name


def _role(rows: Sequence[Row]) -> str:
    for role, names in _NAMES.items():
        if all(names.search(row["op_name"]) for row in rows):
            return role
    return "argument"


def _operation(row: Row) -> str:
    """The operation as the framework names it, and what it makes."""
    name = (row["op_name"] or "").rpartition("/")[2] or row["opcode"] or ""
    return f"{name} {_array(row)}".strip()


def _array(row: Row) -> str:
    if not row["type"] or row["shape"] is None:
        return ""
    return f"{row['type']}[{','.join(map(str, row['shape']))}]"
