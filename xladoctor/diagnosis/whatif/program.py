"""The timeline of one process as a dependency graph, in arrays.

The host's items are in program order. An item takes its ``work``; if it awaits an execution, it
ends no earlier than ``after`` nanoseconds after that ends. The end of an item may launch an
execution, which begins ``latency`` later, but no earlier than a ``gap`` after the previous one.
Measured times are split so that replaying the unchanged program reproduces them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xladoctor.evidence.database import Database
from xladoctor.facts import parts
from xladoctor.warmup import WARMUP

Array = np.ndarray[Any, Any]

ACTIVITIES = (*parts.ACTIVITIES, "python")
_ENOUGH = 3
COMPILE, WAIT, UPLOAD, DISPATCH, PYTHON = (
    ACTIVITIES.index(name) for name in ("compile", "wait", "upload", "dispatch", "python")
)


@dataclass(frozen=True, slots=True)
class Program:
    """What a process did in the timeline's window; times in nanoseconds.

    Attributes:
        step: step of each item, -1 for none.
        activity: index in :data:`ACTIVITIES`.
        region: index in :data:`~xladoctor.facts.parts.REGIONS`, -1 for none.
        call: number of the call that the item is part of, -1 for none.
        place: line of the call, as an index in ``places``, -1 if unknown.
        work: the least time that the item takes.
        awaits: execution that the item waits for, -1 for none.
        after: time from the end of that execution to the item's own.
        launches: execution that is launched at the item's end, -1 for none.
        latency: time from each execution's launch to its begin on an idle device.
        gap: time from the previous execution's end, on a busy device; negative if they overlap.
        duration: time that each execution takes on the device.
        places: (file, line) of calls.
        warmup: numbers of the first steps, in which compiling is expected.
        steady: numbers of the steps that show the steady state.
        tracing: share of the Python time in which the graph is recorded; NaN if unknown.
    """

    step: Array
    activity: Array
    region: Array
    call: Array
    place: Array
    work: Array
    awaits: Array
    after: Array
    launches: Array
    latency: Array
    gap: Array
    duration: Array
    places: list[tuple[str, int]]
    warmup: Array
    steady: Array
    tracing: float

    @property
    def rest(self) -> Array:
        """Which items belong to the steady state."""
        return np.isin(self.step, self.steady)


def read_program(database: Database, process: int) -> Program | None:
    """Read the program of a process; None if its timeline does not show one."""
    items = database.arrays(_ITEMS.format(process=int(process)))
    runs = database.arrays(_EXECUTIONS.format(process=int(process)))
    if not len(items["step"]):
        return None
    begin, length = items["begin_ns"], items["duration_ns"]
    launches, awaits = items["launches"], items["awaits"]
    work, after = _waits(begin, length, items["region"], awaits, runs["end_ns"])
    latency, gap = _starts(runs["launched_ns"], runs["begin_ns"], runs["end_ns"])
    places, place = _places(database, process, items)
    steps = _steps(database, process)
    return Program(
        step=items["step"],
        activity=items["activity"],
        region=items["region"],
        call=items["call"],
        place=place,
        work=work,
        awaits=awaits,
        after=after,
        launches=launches,
        latency=latency,
        gap=gap,
        duration=runs["end_ns"] - runs["begin_ns"],
        places=places,
        warmup=_numbers(steps[:WARMUP]),
        steady=_numbers(_resting(steps)),
        tracing=_tracing(steps),
    )


def _codes(column: str, names: tuple[str, ...]) -> str:
    listed = ", ".join(f"'{name}'" for name in names)
    return f"(coalesce(list_position([{listed}], {column}), 0) - 1)::BIGINT"


_ITEMS = f"""
    SELECT coalesce(step, -1)::BIGINT AS step, {_codes("activity", ACTIVITIES)} AS activity,
           {_codes("region", parts.REGIONS)} AS region, coalesce(call, -1)::BIGINT AS call,
           begin_ns, duration_ns, coalesce(launches, -1)::BIGINT AS launches,
           coalesce(awaits, -1)::BIGINT AS awaits
    FROM host_segment WHERE process = {{process}} ORDER BY segment
"""  # noqa: S608  # names of our own
_EXECUTIONS = """
    SELECT launched_ns, begin_ns, end_ns FROM device_execution
    WHERE process = {process} ORDER BY execution
"""


def _waits(
    begin: Array, length: Array, region: Array, awaits: Array, ended: Array
) -> tuple[Array, Array]:
    """Split each wait into its own work and the time after the awaited execution's end.

    A wait for an execution that had already ended does not show how long the host takes to continue
    after one: that is taken from other waits of the same kind.
    """
    work, after = length.copy(), np.zeros(len(length), np.int64)
    waits = np.flatnonzero(awaits >= 0)
    end_of_run = ended[awaits[waits]]
    slack = (begin + length)[waits] - end_of_run
    waited = end_of_run > begin[waits]
    after[waits] = slack
    work[waits[waited]] = np.clip(slack[waited], 0, length[waits[waited]])
    for kind in np.unique(region[waits]).tolist():
        alike = region[waits] == kind
        usual = int(np.median(slack[alike & waited])) if np.any(alike & waited) else 0
        idle = alike & ~waited
        after[waits[idle]] = np.minimum(slack[idle], usual)
    return work, after


def _starts(launched: Array, begin: Array, end: Array) -> tuple[Array, Array]:
    """The latency of each execution after its launch, and the gap after the previous one.

    The latency of a queued execution is unknown: it is at most the others'.
    """
    if not len(begin):
        return begin.copy(), begin.copy()
    before = np.concatenate((launched[:1], end[:-1]))
    queued = before > launched
    delay = begin - launched
    usual = int(np.median(delay[~queued])) if np.any(~queued) else 0
    latency = np.where(queued, np.minimum(delay, usual), delay)
    gap = np.where(queued, begin - before, np.minimum(begin - before, 0))
    return latency, gap


def _places(
    database: Database, process: int, items: dict[str, Array]
) -> tuple[list[tuple[str, int]], Array]:
    """The line of each item's call; for a barrier, from the step log."""
    rows = database.rows(
        """
        SELECT DISTINCT h.call, coalesce(h.file, s.file) AS file, coalesce(h.line, s.line) AS line
        FROM host_segment h
        LEFT JOIN (SELECT * FROM step WHERE NOT tail AND thread = (
                      SELECT any_value(thread) FROM steady_loop l WHERE l.process = $process)) s
            ON h.region = 'barrier' AND s.process = h.process AND s.index = h.step
        WHERE h.process = $process AND h.call IS NOT NULL
        """,
        {"process": process},
    )
    known = {row["call"]: (row["file"], row["line"]) for row in rows if row["file"]}
    places = sorted(set(known.values()))
    number = {place: index for index, place in enumerate(places)}
    of_call = np.full(int(items["call"].max(initial=-1)) + 2, -1, np.int64)
    for call, place in known.items():
        of_call[call] = number[place]
    return places, of_call[items["call"]]


def _steps(database: Database, process: int) -> list[dict[str, Any]]:
    return database.rows(
        "SELECT step, steady, tracing_ns, other_ns FROM timeline_step"
        " WHERE process = $process ORDER BY begin_ns",
        {"process": process},
    )


def _resting(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steady steps; if there are too few, those after warm-up."""
    steady = [step for step in steps if step["steady"]]
    return steady if len(steady) >= _ENOUGH else steps[WARMUP:] or steps


def _numbers(steps: list[dict[str, Any]]) -> Array:
    """The numbers of these steps; without any, the number of items outside steps."""
    return np.array([step["step"] for step in steps] or [-1], np.int64)


def _tracing(steps: list[dict[str, Any]]) -> float:
    """The share of tracing in Python's time; NaN without samples."""
    tracing = sum(step["tracing_ns"] or 0 for step in steps)
    python = tracing + sum(step["other_ns"] or 0 for step in steps)
    sampled = any(step["tracing_ns"] is not None for step in steps)
    return tracing / python if sampled and python else float("nan")
