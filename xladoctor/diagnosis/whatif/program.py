"""The timeline of one process as a dependency graph, in arrays.

The host's items come in program order. An item takes its ``work``; one that awaits an execution
ends no earlier than ``after`` that has ended. At the end of an item an execution may be launched,
which begins ``latency`` later, but not before the execution before it has ended, and a ``gap``.
What was measured is taken apart so that the replay of the unchanged program gives it back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xladoctor.evidence.database import Database
from xladoctor.warmup import WARMUP

Array = np.ndarray[Any, Any]

ACTIVITIES = ("compile", "wait", "upload", "input", "save", "dispatch", "python")
REGIONS = ("barrier", "read", "input", "save", "upload", "cut")
_ENOUGH = 3
COMPILE, WAIT, UPLOAD, DISPATCH, PYTHON = (
    ACTIVITIES.index(name) for name in ("compile", "wait", "upload", "dispatch", "python")
)


@dataclass(frozen=True, slots=True)
class Program:
    """What a process did in the timeline's window; times in nanoseconds.

    Attributes:
        step: of each item the step, -1 for none.
        activity: index in :data:`ACTIVITIES`.
        region: index in :data:`REGIONS`, -1 for none.
        call: number of the call that the item is part of, -1 for none.
        place: line of the call, as an index in ``places``, -1 where it is unknown.
        work: time that the item takes at least.
        awaits: execution that it waits for, -1 for none.
        after: time from the end of that execution to the item's own.
        launches: execution that is launched at its end, -1 for none.
        latency: of each execution, time from launch to begin on an idle device.
        gap: time from the end of the execution before, on a busy one; below 0 where they overlap.
        duration: time that the device takes.
        places: (file, line) of calls.
        warmup: numbers of the first steps, in which compiling is expected.
        steady: numbers of the steps that tell of the program at rest.
        tracing: share of the Python time in which the graph is recorded; NaN where it is unknown.
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
        """Which items are of the program at rest."""
        return np.isin(self.step, self.steady)


def read_program(database: Database, process: int) -> Program | None:
    """The program of a process; None where its timeline does not show one."""
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
        step=items["step"], activity=items["activity"], region=items["region"], call=items["call"],
        place=place, work=work, awaits=awaits, after=after, launches=launches,
        latency=latency, gap=gap, duration=runs["end_ns"] - runs["begin_ns"], places=places,
        warmup=_numbers(steps[:WARMUP]), steady=_numbers(_resting(steps)),
        tracing=_tracing(steps),
    )  # fmt: skip


def _codes(column: str, names: tuple[str, ...]) -> str:
    listed = ", ".join(f"'{name}'" for name in names)
    return f"(coalesce(list_position([{listed}], {column}), 0) - 1)::BIGINT"


_ITEMS = f"""
    SELECT coalesce(step, -1)::BIGINT AS step, {_codes("activity", ACTIVITIES)} AS activity,
           {_codes("region", REGIONS)} AS region, coalesce(call, -1)::BIGINT AS call,
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
    """Split each wait into what it takes in any case and what follows the awaited execution.

    One that did not have to wait shows its own time, but not how long it takes the host to go on
    after an execution: that is taken from the waits of the same kind that had to.
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
    """Of each execution the latency after its launch, and the gap after the one before it.

    Where one had to queue its latency is not seen: at most it is that of the others.
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
    """The line of each item's call; that of a barrier is in the step log."""
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
    """The steps that tell of the program at rest; those after warm-up where too few are."""
    steady = [step for step in steps if step["steady"]]
    return steady if len(steady) >= _ENOUGH else steps[WARMUP:] or steps


def _numbers(steps: list[dict[str, Any]]) -> Array:
    """Their numbers; that of items outside steps where there is none."""
    return np.array([step["step"] for step in steps] or [-1], np.int64)


def _tracing(steps: list[dict[str, Any]]) -> float:
    """The share of tracing in Python's time; NaN where no samples tell."""
    tracing = sum(step["tracing_ns"] or 0 for step in steps)
    python = tracing + sum(step["other_ns"] or 0 for step in steps)
    sampled = any(step["tracing_ns"] is not None for step in steps)
    return tracing / python if sampled and python else float("nan")
