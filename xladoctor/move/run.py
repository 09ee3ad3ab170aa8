"""What a run of a program tells about its move."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xladoctor.evidence.interface import Evidence
from xladoctor.move.interface import FileMove, Move, Remark
from xladoctor.repository import whole

_FALLBACKS = """
SELECT DISTINCT op, file, line FROM fallback WHERE op IS NOT NULL AND line IS NOT NULL ORDER BY ALL
"""
_WHY = "it ran on the CPU; where the new framework has no such operator either, it raises an error"


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the program.

    Attributes:
        processes: how many it had.
        fallbacks: operators that ran on the CPU, each with its file, absolute, and line.
    """

    processes: int
    fallbacks: tuple[tuple[str, str, int], ...]


def of_run(evidence: Evidence) -> Run:
    """What is of interest in the evidence of a run."""
    rows = evidence.database.rows(_FALLBACKS)
    cwd = evidence.manifest.cwd if evidence.manifest else None
    found = tuple((row["op"], whole(row["file"], cwd), int(row["line"])) for row in rows)
    (count,) = evidence.database.rows("SELECT count(*) AS processes FROM process")
    return Run(int(count["processes"]), found)


def with_run(move: Move, run: Run) -> Move:
    """The move, with remarks about lines whose operators have no lowering."""
    return replace(move, files=tuple(_noted(file, run) for file in move.files))


def _noted(file: FileMove, run: Run) -> FileMove:
    remarks = {Remark(line, op, _WHY) for op, path, line in run.fallbacks if path == str(file.path)}
    return replace(file, relies=tuple(sorted({*file.relies, *remarks})))
