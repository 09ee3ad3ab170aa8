"""What a program did until its first step had ended: imports, its device, compiling, its lines."""

from __future__ import annotations

from xladoctor.diagnosis.interface import BeforeStep, StartUp
from xladoctor.evidence.interface import Evidence

_LEAST = 0.05  # share of the time
_READS = 0.1  # share of all bytes, as a look may come a little after the line that read them
_MUCH_READ = 10_000_000  # bytes
_SPENT = """
    SELECT coalesce(what, 'other') AS what, package, sum(duration_ns) / 1e9 AS seconds,
           coalesce(user_file, file) AS file, coalesce(user_line, line) AS line,
           CASE WHEN sum(read_bytes) >= greatest($much, $reads * sum(sum(read_bytes)) OVER ())
                THEN sum(read_bytes)::BIGINT END AS read_bytes
    FROM start_up WHERE process = $process GROUP BY ALL ORDER BY seconds DESC, file, line
"""
_FIRST = "SELECT process, min(end_ns) FILTER (NOT tail) AS ended_at FROM step {} GROUP BY process"


def start_up(evidence: Evidence) -> StartUp | None:
    """Where the time went until the first step had ended, in the process with the longest loop.

    None without a record of it, or of when the program began.
    """
    database, began = evidence.database, evidence.began_ns
    lead = database.rows(_FIRST.format("WHERE process = (SELECT process FROM lead)"))
    if not lead or began is None or not database.has_rows("start_up"):
        return None
    process, ended_at = lead[0]["process"], lead[0]["ended_at"]
    ended = evidence.manifest.ended if evidence.manifest else None
    if ended_at is not None:
        whole = (ended_at - began) / 1e9
    elif ended:
        whole = ended.seconds
    else:
        return None
    rows = database.rows(_SPENT, {"process": process, "much": _MUCH_READ, "reads": _READS})
    seen = min(whole, sum(row["seconds"] for row in rows))
    spent = [
        BeforeStep(**row | {"file": row["file"] and (evidence.shown(row["file"]) or row["file"])})
        for row in rows
        if row["seconds"] >= _LEAST * whole
    ]
    return StartUp(round(whole, 4), ended_at is not None, round(seen, 4), spent)
