"""What a table of the evidence is, and the columns that many have."""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """A column: DuckDB type and meaning."""

    type: str
    text: str


class Table(NamedTuple):
    """A table: what it holds, where it is read from, its columns."""

    text: str
    source: str
    columns: dict[str, Column]


def columns(text: str) -> dict[str, Column]:
    """Parse ``name TYPE meaning`` lines."""
    rows = (line.split(None, 2) for line in text.splitlines() if line.strip())
    return {name: Column(kind, meaning) for name, kind, meaning in rows}


PROCESS = "process INTEGER number of the process in this evidence, from 0\n"
THREAD = "thread BIGINT operating-system id of the thread\n"
PLACE = """
file VARCHAR path of the named line
line INTEGER the named line, from 1
function VARCHAR function that the named line is in
user_file VARCHAR path of the user's line that led there, where the named one is a library's
user_line INTEGER that line
user_function VARCHAR function that it is in
"""
SITE = f"""{PLACE}
via VARCHAR function of the framework that the named line called, if any
"""
