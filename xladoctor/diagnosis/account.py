"""Accounts for the wall time, from the program's start to its exit, in parts that add up.

The step log has what the loop's thread did between two barriers or, without barriers, from one
launch to the next. The run's manifest has its begin and end. Host samples distinguish recording of
operations from other Python, and the timeline distinguishes dispatch and device work from waiting.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, NamedTuple

from xladoctor.diagnosis.interface import TimeParts, TimeSpent
from xladoctor.diagnosis.missing_processes import waiting_share
from xladoctor.evidence.interface import Evidence
from xladoctor.frontends.vocabulary import vocabulary

_ENOUGH = 10  # samples that are enough to distinguish recording operations from other Python
_LIKE_THE_OTHERS = 0.25  # a timeline's steps must wait at least this share of the average wait


def time_spent(evidence: Evidence) -> TimeSpent:
    """Where the wall time went, on the thread with the longest loop."""
    rows = evidence.database.rows("SELECT * FROM account")
    ended = evidence.manifest and evidence.manifest.ended
    total = ended.seconds if ended else None
    if not rows:
        return _of_timeline(evidence, total)
    row = rows[0]
    seconds = {
        name.removesuffix("_ns"): (value or 0) / 1e9
        for name, value in row.items()
        if name.endswith("_ns")
    }
    parts = _of_loop(evidence, row, seconds)
    loop = sum(asdict(parts).values())
    began = evidence.began_ns
    if total and began is not None:
        before = max(0.0, (row["began_at"] - began) / 1e9)
        earlier = min(before, seconds["earlier_compile"])
        before, loop = before - earlier, loop + earlier
        after = max(0.0, total - (row["ended_at"] - began) / 1e9 - seconds["writing"])
        last = min(after, _last_turn_compile(evidence, row["process"]))
        after, loop = after - last, loop + last
        parts = replace(
            parts,
            startup_s=before + seconds["setup"],
            after_s=after,
            warmup_compile_s=parts.warmup_compile_s + earlier,
            compile_s=parts.compile_s + last,
            capture_s=max(0.0, total - before - after - seconds["setup"] - loop),
        )
        total = sum(asdict(parts).values())
    else:
        total = None
        parts = replace(parts, python_s=parts.python_s + seconds["setup"])
        loop += seconds["setup"]
    waited = parts.read_s + parts.barrier_s
    busy = _busy_share(evidence, row["process"], waited)
    device = None if busy is None else busy * waited
    return TimeSpent(total, loop, parts, parts.warmup_compile_s, device)


def _of_loop(evidence: Evidence, loop: dict[str, Any], seconds: dict[str, float]) -> TimeParts:
    """The parts of a loop's time, given as a row of ``account`` and its times in seconds."""
    warmup = 0.0
    if seconds["compile"]:
        expected = _warmup_compile(evidence, loop["process"]) - seconds["earlier_compile"]
        warmup = min(seconds["compile"], max(0.0, expected))
    python = max(0.0, seconds["python"] - seconds["setup"])
    unfinished = python * _unfinished_compile(evidence, loop)
    warmup += unfinished
    python -= unfinished
    eager = min(python, _eager_compile(evidence, loop["process"]))
    python -= eager
    split = loop_shares(evidence, loop).of(seconds["barrier"], python, seconds["upload"])
    return TimeParts(
        warmup_compile_s=warmup,
        compile_s=seconds["compile"] + unfinished - warmup + eager,
        read_s=seconds["read"],
        barrier_s=split["barrier"],
        collective_s=split["collective"],
        input_s=seconds["input"],
        upload_s=split["upload"],
        save_s=seconds["save"],
        dispatch_s=split["dispatch"],
        tracing_s=split["tracing"],
        python_s=split["python"],
    )


class Shares(NamedTuple):
    """Shares of the loop's time that the timeline and samples show, 0 to 1.

    Attributes:
        launching: share of its barriers that is dispatch.
        calling: share of its Python that is dispatch.
        recording: share of its Python that is tracing.
        waiting: share of its Python that waits for a graph, which runs within the call that
            launches it.
        sending: share of its Python that sends arguments to the device, within such a call.
        meeting: share of its Python that waits in collectives for other processes.
    """

    launching: float
    calling: float
    recording: float
    waiting: float = 0.0
    sending: float = 0.0
    meeting: float = 0.0

    def of(self, barrier: float, python: float, upload: float) -> dict[str, float]:
        """Split the loop's seconds in barriers, Python and uploads into parts."""
        dispatch = barrier * self.launching
        return {
            "dispatch": dispatch + python * self.calling,
            "tracing": python * self.recording,
            "barrier": barrier - dispatch + python * self.waiting,
            "collective": python * self.meeting,
            "upload": upload + python * self.sending,
            "python": python * (1 - sum(self[1:])),
        }


def loop_shares(evidence: Evidence, loop: dict[str, Any]) -> Shares:
    """The shares of a loop, given as a row of ``account``."""
    in_framework = _tracing_share(evidence, loop)
    launching = _waits(evidence, loop["process"])["dispatch"]
    if vocabulary(evidence.frontend).records_steps:
        return Shares(launching, 0.0, in_framework)
    within = [in_framework * part for part in _within_calls(evidence, loop)]
    return Shares(launching, in_framework - sum(within), 0.0, *within)


def _within_calls(evidence: Evidence, loop: dict[str, Any]) -> list[float]:
    """The shares of calls of the framework in which the host waits for a graph, in which it sends
    arguments, and in which it waits for other processes, before the call returns. The timeline
    shows them, the step log does not.
    """
    (row,) = evidence.database.rows(
        "SELECT sum(wait_ns) / sum(duration_ns) AS waiting,"
        " sum(upload_ns) / sum(duration_ns) AS sending,"
        " sum(collective_ns) / sum(duration_ns) AS meeting,"
        " sum(coalesce(dispatch_ns, 0) + coalesce(tracing_ns, 0)) / sum(duration_ns) AS calling"
        " FROM timeline_step WHERE process = $process AND steady",
        {"process": loop["process"]},
    )
    (logged,) = evidence.database.rows(
        "SELECT sum(coalesce(read_ns, 0) + coalesce(barrier_ns, 0)) / sum(running_ns) AS waiting,"
        " sum(coalesce(upload_ns, 0)) / sum(running_ns) AS sending"
        " FROM (SELECT *, duration_ns - coalesce(compile_ns, 0) AS running_ns FROM step)"
        " WHERE process = $process AND thread = $thread AND NOT tail",
        {"process": loop["process"], "thread": loop["thread"]},
    )
    within = [
        max(0.0, (row[what] or 0.0) - (logged.get(what) or 0.0))
        for what in ("waiting", "sending", "meeting")
    ]
    whole = sum(within) + (row["calling"] or 0.0)
    return [part / whole if whole else 0.0 for part in within]


def _tracing_share(evidence: Evidence, loop: dict[str, Any]) -> float:
    """The share of the loop's Python in the framework, recording or launching operations; 0 if
    unknown.
    """
    rows = evidence.database.rows(
        "SELECT coalesce(phase, 'loop') = 'loop' AS looping, sum(count) AS samples,"
        " sum(count) FILTER (tracing) / sum(count) AS share FROM host_sample"
        " WHERE process = $process AND thread = $thread AND doing IS NULL"
        " GROUP BY ALL ORDER BY looping DESC",
        {"process": loop["process"], "thread": loop["thread"]},
    )
    enough = (row for row in rows if row["samples"] >= _ENOUGH)
    return float(next((row["share"] or 0.0 for row in enough), 0.0))


def _eager_compile(evidence: Evidence, process: int) -> float:
    """Seconds of compiling operators one by one, which the step log counts as Python."""
    query = (
        "SELECT accumulator FROM measured WHERE process = $process AND meaning = 'eager_compile'"
    )
    rows = evidence.database.rows(query, {"process": process})
    return float(rows[0]["accumulator"] or 0.0) / 1e9 if rows else 0.0


def _unfinished_compile(evidence: Evidence, loop: dict[str, Any]) -> float:
    """The share of the Python of a program without any step that was in a compilation, which has
    no record if the program was ended in it.
    """
    query = """
        SELECT sum(count) FILTER (doing = 'compile') / sum(count) FROM host_sample h
        WHERE process = $process AND thread = $thread AND NOT EXISTS (
            FROM step s WHERE s.process = h.process AND s.thread = h.thread AND NOT s.tail)
    """
    of = {"process": loop["process"], "thread": loop["thread"]}
    return float(evidence.database.scalar(query, of) or 0.0)


def _waits(evidence: Evidence, process: int) -> dict[str, Any]:
    """For the waits in the timeline: the share that is dispatch, and the share of the rest in which
    the (busiest) device worked.
    """
    (row,) = evidence.database.rows(
        "SELECT coalesce(sum(t.dispatch_ns) / nullif(sum(t.dispatch_ns + t.wait_ns), 0), 0)"
        " AS dispatch, 1 - sum(d.idle_ns) / nullif(sum(t.wait_ns), 0) AS busy,"
        " sum(t.wait_ns) / 1e9 / count(*) AS wait_s"
        " FROM timeline_step t LEFT JOIN (SELECT process, step, min(idle_wait_ns) AS idle_ns"
        " FROM device_step GROUP BY ALL) d USING (process, step) WHERE process = $process",
        {"process": process},
    )
    return row


def _busy_share(evidence: Evidence, process: int, waited: float) -> float | None:
    """The share of all waits in which a device worked. None if the timeline's waits are not
    typical: a program that reads at the end of an epoch waits there, and in no step before.

    Args:
        waited: seconds of waits in all steps.
    """
    waits = _waits(evidence, process)
    steps = evidence.database.scalar(
        "SELECT sum(barriers) FROM step WHERE process = $process AND NOT tail",
        {"process": process},
    )
    typical = waited / (steps or 1)
    if (waits["wait_s"] or 0.0) < _LIKE_THE_OTHERS * typical:
        return None
    busy: float | None = waits["busy"]
    return busy and busy * (1.0 - waiting_share(evidence.database, process))


def _of_timeline(evidence: Evidence, total: float | None) -> TimeSpent:
    """The time spent, from the timeline's steps, if there is no step log."""
    parts = (
        "compile",
        "wait",
        "upload",
        "input",
        "save",
        "dispatch",
        "collective",
        "tracing",
        "unrecorded",
        "other",
    )
    sums = ", ".join(f"coalesce(sum({part}_ns), 0) / 1e9 AS {part}" for part in parts)
    rows = evidence.database.rows(f"""
        SELECT process, sum(duration_ns) / 1e9 AS loop_s, {sums},
               coalesce(sum(compile_ns) FILTER (coalesce(begin_ns < rest_ns, TRUE)), 0) / 1e9
                   AS warmup
        FROM (SELECT *, min(begin_ns) FILTER (steady) OVER (PARTITION BY process) AS rest_ns
              FROM timeline_step)
        GROUP BY process ORDER BY loop_s DESC, process LIMIT 1
    """)  # noqa: S608  # column names of our own
    if not rows:
        return TimeSpent(total, None, None, None)
    row = {name: float(value) for name, value in rows[0].items()}
    if not vocabulary(evidence.frontend).records_steps:
        row["dispatch"] += row["tracing"]
        row["tracing"] = 0.0
    spent = TimeParts(
        warmup_compile_s=row["warmup"],
        compile_s=row["compile"] - row["warmup"],
        barrier_s=row["wait"],
        collective_s=row["collective"],
        input_s=row["input"],
        upload_s=row["upload"],
        save_s=row["save"],
        dispatch_s=row["dispatch"],
        tracing_s=row["tracing"],
        python_s=row["other"],
        unrecorded_s=row["unrecorded"],
    )
    busy = _waits(evidence, int(row["process"]))["busy"]
    device = None if busy is None else busy * spent.barrier_s
    return TimeSpent(None, row["loop_s"], spent, row["warmup"], device)


def _warmup_compile(evidence: Evidence, process: int) -> float:
    query = (
        "SELECT coalesce(sum(duration_ns), 0) / 1e9 FROM counted_compilation"
        " WHERE process = $process AND expected"
    )
    return float(evidence.database.scalar(query, {"process": process}))


def _last_turn_compile(evidence: Evidence, process: int) -> float:
    """Seconds of compiling after the last barrier, which findings count as the loop's."""
    query = """
        SELECT coalesce(sum(l.duration_ns), 0) / 1e9 FROM late_compilation l
        JOIN step s ON s.process = l.process AND s.thread = l.thread AND s.index = l.step AND s.tail
        WHERE l.process = $process
          AND EXISTS (SELECT 1 FROM step o WHERE o.process = l.process AND NOT o.tail)
    """
    return float(evidence.database.scalar(query, {"process": process}))
