"""Shows what a step of each process consists of, so that a process that differs stands out."""

from __future__ import annotations

from collections.abc import Collection

from xladoctor.diagnosis.account import loop_shares
from xladoctor.diagnosis.pictures.interface import ProcessStep
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.row import Row
from xladoctor.facts.parts import OF_STEP

_MOST = 512  # rows
_PARTS = tuple(part for part in OF_STEP if part not in ("warmup_compile", "unrecorded"))
_LOOPS = """
    SELECT s.process, s.thread, any_value(p.host) AS host, any_value(p.rank) AS rank,
           count(*) OVER (PARTITION BY s.process) AS threads,
           sum(s.barriers) / coalesce(any_value(d.barriers), 1) AS steps,
           sum(s.duration_ns) AS whole, sum(s.compile_ns) AS compile, sum(s.read_ns) AS read,
           sum(s.barrier_ns) AS barrier, sum(s.input_ns) AS input, sum(s.upload_ns) AS upload,
           sum(s.save_ns) AS save
    FROM step s LEFT JOIN process p ON p.process = s.process
    LEFT JOIN step_period d ON d.process = s.process AND d.thread IS NOT DISTINCT FROM s.thread
    WHERE NOT s.tail AND NOT s.probed AND s.ordinal >= warmup() * coalesce(d.barriers, 1)
    GROUP BY s.process, s.thread ORDER BY s.process, s.thread LIMIT $most
"""


def process_steps(evidence: Evidence) -> list[ProcessStep]:
    """The average step after warm-up of each loop; empty if there is only one loop."""
    rows = evidence.database.rows(_LOOPS, {"most": _MOST})
    if len(rows) < 2:  # nothing to compare
        return []
    differ = {key for key in ("rank", "host") if len({row[key] for row in rows}) > 1}
    return [_step(row, evidence, differ) for row in rows]


def _step(row: Row, evidence: Evidence, differ: Collection[str]) -> ProcessStep:
    spent: dict[str, float] = {part: float(row.get(part) or 0) for part in _PARTS}
    spent["python"] = max(0.0, float(row["whole"]) - sum(spent.values()))
    spent |= loop_shares(evidence, row).of(spent["barrier"], spent["python"], spent["upload"])
    steps = max(1.0, float(row["steps"] or 0))
    return ProcessStep(
        _name(row, differ),
        round(steps),
        float(row["whole"]) / steps / 1e9,
        {part: ns / steps / 1e9 for part, ns in spent.items() if ns},
    )


def _name(row: Row, differ: Collection[str]) -> str:
    """The process's number as in findings, with its rank and host if these differ, and the thread.

    The rank is the process's: threads of one process, each with a device, have the same.
    """
    known = [f"rank {row['rank']}"] if "rank" in differ and row["rank"] is not None else []
    known += [str(row["host"])] if "host" in differ and row["host"] else []
    process = f"process {row['process']}" + (f" ({', '.join(known)})" if known else "")
    return process + (f", thread {row['thread']}" if row["threads"] > 1 else "")
