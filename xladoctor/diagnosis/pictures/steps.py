"""The steps over time."""

from __future__ import annotations

from xladoctor.diagnosis.account import loop_shares
from xladoctor.diagnosis.pictures.interface import StepSeries
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.row import Row
from xladoctor.facts.parts import OF_STEP

_MOST = 32_768  # rows
_PARTS = tuple(part for part in OF_STEP if part != "python")  # which is what is left
_LOGGED = """
    SELECT s.iteration AS index, greatest(1, sum(s.each) // s.period) AS steps,
           sum(s.duration_ns) AS duration_ns, sum(s.compilations) AS compilations,
           sum(s.compile_ns) FILTER (s.ordinal < warmup() * s.period) AS warmup_compile,
           sum(s.compile_ns) FILTER (s.ordinal >= warmup() * s.period) AS compile,
           sum(s.read_ns) AS read, sum(s.barrier_ns) AS barrier, sum(s.input_ns) AS input,
           sum(s.upload_ns) AS upload, sum(s.save_ns) AS save,
           0 AS collective, 0 AS dispatch, 0 AS tracing, 0 AS unrecorded
    FROM lead l
    JOIN numbered_step s ON s.process = l.process AND s.thread IS NOT DISTINCT FROM l.thread
    GROUP BY s.period, s.iteration
"""
_TRACED = """
    SELECT step AS index, 1 AS steps, duration_ns, (compile_ns > 0)::BIGINT AS compilations,
           if(coalesce(begin_ns < min(begin_ns) FILTER (steady) OVER (), TRUE), compile_ns, 0)
               AS warmup_compile,
           compile_ns - warmup_compile AS compile, 0 AS read, wait_ns AS barrier,
           input_ns AS input, upload_ns AS upload, save_ns AS save, dispatch_ns AS dispatch,
           collective_ns AS collective,
           tracing_ns AS tracing, unrecorded_ns AS unrecorded
    FROM timeline_step WHERE process = (
        SELECT process FROM timeline_step GROUP BY process ORDER BY sum(duration_ns) DESC, process
        LIMIT 1)
"""
_LOOP = "SELECT process, thread FROM account"
_ROWS = """
    WITH series AS ({steps}),
    numbered AS (SELECT *, (row_number() OVER (ORDER BY index) - 1) // $every AS row FROM series)
    SELECT min(index) AS first, sum(steps)::BIGINT AS steps, {parts},
           min(index) FILTER (steps > 1) AS merged,
           (sum(duration_ns) / sum(steps) / 1e3)::BIGINT AS whole,
           (max(duration_ns / steps) / 1e3)::BIGINT AS longest,
           sum(coalesce(compilations, 0))::BIGINT AS compilations
    FROM numbered GROUP BY row ORDER BY row
"""


def step_series(evidence: Evidence) -> StepSeries | None:
    """The steps of the step log, else of the timeline; None without any."""
    for steps in (_LOGGED, _TRACED):
        count = evidence.database.scalar(f"SELECT count(*) FROM ({steps})")  # noqa: S608  # ours
        if count:
            return _series(evidence, steps, -(-count // _MOST))
    return None


def _series(evidence: Evidence, steps: str, every: int) -> StepSeries:
    means = ", ".join(
        f"(sum(coalesce({part}, 0)) / sum(steps) / 1e3)::BIGINT AS {part}" for part in _PARTS
    )
    query = _ROWS.format(steps=steps, parts=means)
    rows = evidence.database.rows(query, {"every": every})
    for row in rows:
        row["python"] = max(0, row["whole"] - sum(row[part] for part in _PARTS))
    if steps is _LOGGED:
        _split_python(rows, evidence)
        whole = evidence.database.scalar("SELECT steps FROM lead")
        rows[-1]["steps"] += max(0, whole - sum(row["steps"] for row in rows))  # without a row
    return StepSeries(
        first=[row["first"] for row in rows],
        counts=[row["steps"] for row in rows],
        parts={
            part: [row[part] for row in rows]
            for part in (*_PARTS, "python")
            if any(row[part] for row in rows)
        },
        longest=[row["longest"] for row in rows],
        compilations=[row["compilations"] for row in rows],
        shared=any(row["dispatch"] or row["tracing"] for row in rows) and steps is _LOGGED,
        merged_from=min((row["merged"] for row in rows if row["merged"] is not None), default=None),
    )


def _split_python(rows: list[Row], evidence: Evidence) -> None:
    """Split off dispatch and tracing by their shares in the whole loop, as in the account."""
    for loop in evidence.database.rows(_LOOP):
        shares = loop_shares(evidence, loop)
        for row in rows:
            whole = row["barrier"] + row["python"] + row["upload"]
            parts = shares.of(row["barrier"], row["python"], row["upload"])
            named = {part: round(ns) for part, ns in parts.items() if part != "python"}
            row.update(named, python=whole - sum(named.values()))
