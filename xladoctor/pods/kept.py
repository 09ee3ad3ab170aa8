"""The form in which a host's evidence is kept: a Parquet file of one row.

Each table is a column, a list of its rows as structs, so that a column of the table is a column of
the file, compressed by itself. What is long is cut: of operations, lines and gaps the largest are
kept, and regions are added up by label. ``about`` is a JSON text with what is no table.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path

import duckdb
import msgspec

from xladoctor import __version__
from xladoctor.errors import XladoctorError
from xladoctor.evidence.database import Database
from xladoctor.evidence.schema import TABLES

#: Tables that are cut or added up, by the query that does so.
_REDUCED = {
    "hlo_module": """
        SELECT * REPLACE (NULL AS donated, NULL AS aliased) FROM hlo_module
        QUALIFY row_number() OVER (
            PARTITION BY process ORDER BY instructions DESC, name, program_id
        ) <= 200
    """,
    "device_op": """
        SELECT * FROM device_op QUALIFY row_number() OVER (
            PARTITION BY process, device ORDER BY self_ns DESC, hlo_op
        ) <= 200
    """,
    "host_sample": """
        SELECT * FROM host_sample QUALIFY row_number() OVER (
            PARTITION BY process ORDER BY count DESC, file, line
        ) <= 300
    """,
    "idle_gap": """
        SELECT process, device, step, begin_ns, duration_ns, reason, reason_ns, file, line,
               function, user_file, user_line, user_function, via
        FROM idle_gap QUALIFY row_number() OVER (
            PARTITION BY process, device ORDER BY duration_ns DESC, begin_ns
        ) <= 200
    """,
    "region": """
        SELECT process, row_number() OVER (PARTITION BY process ORDER BY path) - 1 AS region,
               NULL AS parent, any_value(name) AS name, path, min(step) AS step,
               min(begin_ns) AS begin_ns, sum(duration_ns)::BIGINT AS duration_ns,
               sum(self_ns)::BIGINT AS self_ns, sum(barriers)::BIGINT AS barriers,
               sum(launches)::BIGINT AS launches, sum(device_ns)::BIGINT AS device_ns,
               sum(idle_ns)::BIGINT AS idle_ns
        FROM region GROUP BY process, path QUALIFY row_number() OVER (
            PARTITION BY process ORDER BY sum(duration_ns) DESC
        ) <= 300
    """,
}
KEPT = (*(name for name, table in TABLES.items() if table.kept), *_REDUCED)


@dataclass(frozen=True, slots=True)
class About:
    """What is kept of a host besides its tables.

    Attributes:
        available, lost, frontend, cut: as in :class:`~xladoctor.evidence.interface.Evidence`.
        processes: how many it has.
        diagnosis: the host's own diagnosis, as JSON.
    """

    available: list[str]
    lost: list[str]
    frontend: str
    processes: int
    diagnosis: str
    cut: dict[str, str] = field(default_factory=dict)


class KeptHostError(XladoctorError):
    """A kept file that cannot be read."""


def write(database: Database, about: About, file: Path) -> None:
    """Write what is kept of a host to a file. Raises ``duckdb.Error`` where that cannot be done."""
    columns = [f'(SELECT list(r) FROM ({_query(table)}) AS r) AS "{table}"' for table in KEPT]  # noqa: S608
    text = json.dumps(msgspec.to_builtins(about))
    database.write(f"SELECT {', '.join(columns)}", file, {"about": text})


def is_whole(file: Path) -> bool:
    """Whether a kept file can be read; if not, it is removed, to be made again."""
    try:
        read_about([file])
    except KeptHostError:
        with suppress(OSError):
            file.unlink()
        return False
    return True


def read_about(files: Sequence[Path]) -> dict[Path, About]:
    """What is kept besides the tables, of each file.

    Raises:
        KeptHostError: one cannot be read.
    """
    with duckdb.connect(":memory:") as connection:
        try:
            rows = connection.execute(
                "SELECT filename, about FROM read_parquet($files, filename := true)",
                {"files": [str(file) for file in files]},
            ).fetchall()
            return {Path(name): msgspec.json.decode(text, type=About) for name, text in rows}
        except (duckdb.Error, msgspec.MsgspecError) as error:
            raise KeptHostError(f"the kept data of hosts cannot be read: {error}") from error


def fill(database: Database, files: Sequence[tuple[Path, int]]) -> None:
    """Append the rows of kept hosts to a database that is still open to the outside.

    Args:
        files: each with what to add to its numbers of processes; two hosts with the same evidence
            have the same file.
    """
    named = [(str(file).replace("'", "''"), first) for file, first in files]
    listed = ", ".join(f"'{name}'" for name in dict(named))
    firsts = ", ".join(f"('{name}', {first})" for name, first in named)
    for table in KEPT:
        own = ", ".join(
            "f.first + t.process AS process" if column == "process" else f't."{column}"'
            for column in TABLES[table].columns
        )
        database.insert_rows_of(
            table,
            f"""SELECT {own}
                FROM (SELECT filename, unnest("{table}") AS t
                      FROM read_parquet([{listed}], filename := true)) k
                JOIN (VALUES {firsts}) f(filename, first) ON f.filename = k.filename""",  # noqa: S608
        )


@cache
def made_by() -> str:
    """This version and its form of what is kept, which is read where both are the same."""
    form = [[table, _query(table), list(TABLES[table].columns)] for table in KEPT]
    return f"{__version__} {sha256(json.dumps(form).encode()).hexdigest()[:12]}"


def _query(table: str) -> str:
    """The rows of a table that are kept, with every column of it."""
    names = ", ".join(f'"{column}"' for column in TABLES[table].columns)
    return f"SELECT {names} FROM ({_REDUCED.get(table) or f'FROM {table}'})"  # noqa: S608
