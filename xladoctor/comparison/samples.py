"""Reads the step times that a run is judged by."""

from __future__ import annotations

from dataclasses import dataclass

from xladoctor.comparison.interface import LEAST
from xladoctor.evidence.interface import Evidence

# A step is an iteration of the loop: `period` steady barriers in a row. In very long runs a row
# covers many barriers, and is one sample of their average.
_OF_STEP_LOG = """
    SELECT sum(s.duration_ns) / sum(s.barriers) * coalesce(any_value(p.barriers), 1) / 1e6 AS ms,
           bool_or(s.traced) AS traced, min(s.index) AS first
    FROM lead l JOIN steady_step s USING (process, thread)
    LEFT JOIN step_period p USING (process, thread)
    GROUP BY s.index // coalesce(p.barriers, 1)
    HAVING sum(s.barriers) >= coalesce(any_value(p.barriers), 1)
    ORDER BY first
"""
_OF_TIMELINE = """
    SELECT duration_ns / 1e6 AS ms FROM timeline_step
    WHERE steady AND process = (
        SELECT process FROM timeline_step GROUP BY process
        ORDER BY sum(duration_ns) DESC, process LIMIT 1
    ) ORDER BY begin_ns
"""


@dataclass(frozen=True, slots=True)
class Samples:
    """Steps after warm-up, in the order in which they ran.

    Attributes:
        ms: how long each took, in milliseconds.
        traced: whether the profiler was running, which slows steps down.
    """

    ms: tuple[float, ...]
    traced: bool


def step_samples(evidence: Evidence) -> Samples:
    """Step times of the thread with the longest loop, outside the timeline's window if enough."""
    rows = evidence.database.rows(_OF_STEP_LOG)
    if not rows:
        times = evidence.database.rows(_OF_TIMELINE)
        return Samples(tuple(float(row["ms"]) for row in times), traced=bool(times))
    traced = [float(row["ms"]) for row in rows if row["traced"]]
    free = [float(row["ms"]) for row in rows if not row["traced"]]
    slowed = len(free) < min(LEAST, len(traced))
    return Samples(tuple(traced if slowed else free), slowed)
