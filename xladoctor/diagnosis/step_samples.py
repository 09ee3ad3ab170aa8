"""The times of steps after warm-up, by which a run is described and compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xladoctor.evidence.interface import Evidence  # which loads the database

#: Steps that are enough to know how long one takes.
ENOUGH = 12
_OF_STEP_LOG = """
    SELECT i.duration_ns / i.steps / 1e6 AS ms, i.traced
    FROM lead l JOIN iteration i USING (process, thread) WHERE i.steady ORDER BY i.number
"""
_OF_TIMELINE = """
    SELECT duration_ns / 1e6 AS ms FROM divided_step
    WHERE steady AND process = (
        SELECT process FROM divided_step GROUP BY process
        ORDER BY sum(duration_ns) DESC, process LIMIT 1
    ) ORDER BY begin_ns
"""


@dataclass(frozen=True, slots=True)
class Samples:
    """Steps after warm-up, in the order in which they ran.

    Attributes:
        ms: how long each took, in milliseconds; in very long runs the average of several.
        traced: whether the profiler was running, which slows steps down.
    """

    ms: tuple[float, ...] = ()
    traced: bool = False


def step_samples(evidence: Evidence) -> Samples:
    """Step times of the thread with the longest loop, outside the timeline's window if enough."""
    rows = evidence.database.rows(_OF_STEP_LOG)
    if not rows:
        times = evidence.database.rows(_OF_TIMELINE)
        return Samples(tuple(float(row["ms"]) for row in times), traced=bool(times))
    traced = [float(row["ms"]) for row in rows if row["traced"]]
    free = [float(row["ms"]) for row in rows if not row["traced"]]
    slowed = len(free) < min(ENOUGH, len(traced))
    return Samples(tuple(traced if slowed else free), slowed)
