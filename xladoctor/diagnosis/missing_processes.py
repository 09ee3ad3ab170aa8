"""What cannot be judged of a process of a job without the others: whom it waits for.

A device that waits in a collective for another process looks busy. With the runs of all processes
it shows who is late (:mod:`.pods`); without them it is only known not to be the device's work.
"""

from __future__ import annotations

from xladoctor.evidence.database import Database

_MISSING = """
    SELECT max(world_size) AS of, list(DISTINCT rank ORDER BY rank) AS ranks FROM process
    WHERE rank IS NOT NULL HAVING count(DISTINCT rank) < of
"""
_IN_COLLECTIVES = """
    SELECT least(1, sum(c.ns) / sum(d.busy_ns)) FROM device_step d
    LEFT JOIN (SELECT process, device, step, sum(duration_ns) AS ns FROM collective GROUP BY ALL) c
        USING (process, device, step)
    WHERE d.process = $process
"""


def missing_processes(database: Database) -> str:
    """A sentence, if other processes of the job are missing from the evidence; else empty."""
    rows = database.rows(_MISSING)
    if not rows:
        return ""
    of, ranks = rows[0]["of"], rows[0]["ranks"]
    here = f"process {ranks[0]} is" if len(ranks) == 1 else f"{len(ranks)} processes are"
    return f"Only {here} here of a job of {of}: waits for the others were not judged"


def waiting_share(database: Database, process: int) -> float:
    """The share of the device's busy time in collectives, 0 to 1, where processes are missing."""
    if not database.rows(_MISSING):
        return 0.0
    return float(database.scalar(_IN_COLLECTIVES, {"process": process}) or 0.0)
