"""Reads the steps of a whole run and their time, to scale a process's timeline to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xladoctor.evidence.database import Database

_ENOUGH = 5  # steps outside the window are enough to leave out the slower ones inside


@dataclass(frozen=True, slots=True)
class Rates:
    """What is known about a whole run.

    Attributes:
        steps: number of steps (iterations of the loop), or 0.
        barriers: steps of the step log or the timeline; an iteration may have several.
        steady_s: time of that many steps in the steady state.
        compilations: seconds of each compilation, by its number.
        late: numbers of the compilations after warm-up, in the loop.
        regions_s: for a loop without barriers, seconds of reads, uploads and waits for input,
            without compilation; else empty.
    """

    steps: int
    barriers: int
    steady_s: float
    compilations: dict[int, float]
    late: frozenset[int]
    regions_s: dict[str, float] = field(default_factory=dict)

    @property
    def late_compile_s(self) -> float:
        """Time spent compiling after warm-up."""
        return sum(self.compilations.get(number, 0.0) for number in self.late)

    @property
    def limiting_compile_s(self) -> float:
        """Time spent compiling that can limit the loop: after warm-up, if it has barriers."""
        return sum(self.compilations.values()) if self.regions_s else self.late_compile_s

    @property
    def step_s(self) -> float | None:
        """A step after warm-up, on average."""
        return (self.steady_s + self.late_compile_s) / self.steps if self.steps else None


def read_rates(database: Database, process: int) -> Rates | None:
    """The rates from the step log, or else the timeline; None if neither shows any time."""
    some = database.has_rows("compilation")
    compiled = database.rows(_COMPILED, {"process": process}) if some else []
    compilations = {row["index"]: row["duration_ns"] / 1e9 for row in compiled}
    late = frozenset(row["index"] for row in compiled if row["late"])
    for query, more in ((_LOG, {"enough": _ENOUGH}), (_TIMELINE, {})):
        rows = database.rows(query, {"process": process, **more})
        if rows and rows[0]["steady_ns"]:
            row = rows[0]
            return Rates(
                int(row["steps"] or 0),
                int(row["barriers"] or 0),
                row["steady_ns"] / 1e9,
                compilations,
                late,
                _regions(row),
            )
    return None


def _regions(row: dict[str, Any]) -> dict[str, float]:
    if not row.get("without_barrier"):
        return {}
    return {
        name: row[f"{name}_ns"] / 1e9 for name in ("read", "input", "upload") if row[f"{name}_ns"]
    }


_COMPILED = """
    SELECT c.index, c.duration_ns, l.index IS NOT NULL AND NOT l.ahead AS late
    FROM compilation c
    LEFT JOIN late_compilation l ON l.process = c.process AND l.index = c.index
    WHERE c.process = $process AND c.duration_ns IS NOT NULL
"""
#: The steps of the thread with the longest loop. A loop without barriers is taken as a whole.
_LOG = """
    WITH lead_of AS (
        SELECT * FROM loop WHERE process = $process
        ORDER BY duration_ns DESC, thread LIMIT 1
    ),
    steady AS (
        SELECT s.traced, sum(s.duration_ns) AS duration_ns, sum(s.barriers) AS barriers
        FROM steady_step s JOIN lead_of USING (process, thread) GROUP BY s.traced
    ),
    mean AS (
        SELECT coalesce(
            max(duration_ns / barriers) FILTER (NOT traced AND barriers >= $enough),
            sum(duration_ns) / sum(barriers)
        ) AS each_ns FROM steady
    )
    SELECT l.steps, l.barriers, l.without_barrier, l.read_ns, l.input_ns, l.upload_ns,
           coalesce(m.each_ns * l.barriers, l.duration_ns - l.compile_ns) AS steady_ns
    FROM lead_of l CROSS JOIN mean m
"""
_TIMELINE = """
    SELECT count(*) AS steps, count(*) AS barriers,
           sum(duration_ns - compile_ns) AS steady_ns
    FROM timeline_step WHERE process = $process
"""
