"""Sums up the time within the program's own labels."""

from __future__ import annotations

from xladoctor.diagnosis.device_use import LabelTime
from xladoctor.evidence.interface import Evidence

_MOST = 100


def label_times(evidence: Evidence) -> list[LabelTime]:
    """The labels of the process that spent most time in them, in the order of the program."""
    rows = evidence.database.rows(
        """
        WITH lead AS (
            SELECT process FROM region GROUP BY process ORDER BY sum(self_ns) DESC, process LIMIT 1
        ),
        label AS (
            SELECT path, count(*) AS count, sum(duration_ns) / 1e9 AS host_s,
                   sum(self_ns) / 1e9 AS own_s, sum(launches)::BIGINT AS launches,
                   sum(device_ns) / 1e9 AS device_s, sum(idle_ns) / 1e9 AS idle_s,
                   min(region) AS first
            FROM region JOIN lead USING (process) GROUP BY path
        )
        SELECT * EXCLUDE (first) FROM (SELECT * FROM label ORDER BY host_s DESC LIMIT $most)
        ORDER BY first
        """,
        {"most": _MOST},
    )
    return [LabelTime(**row) for row in rows]
