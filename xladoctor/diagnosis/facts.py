"""What is true of the run whatever the rules say: its time, its steps, its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xladoctor.diagnosis.interface import (
    Finding,
    RunFacts,
    SavingBasis,
    Steps,
    TimeParts,
    TimeSpent,
    Verdict,
)
from xladoctor.diagnosis.rule import Rule
from xladoctor.evidence.interface import Evidence
from xladoctor.warmup import WARMUP

_PARTS: dict[str, tuple[Any, str]] = {
    "compile_s": ("compilation", "compiling graphs"),
    "blocked_s": ("host_sync", "blocked while the host reads device values"),
    "input_s": ("input", "waiting for input"),
    "tracing_s": ("tracing", "in Python between barriers"),
    "device_s": ("device", "waiting for the device"),
}


#: What a step can be limited by, in words.
LIMITS = {
    "compilation": "compiling", "host_sync": "synchronization", "input": "input",
    "upload": "sending tensors", "checkpoint": "saving checkpoints",
    "dispatch": "handing over graphs", "tracing": "tracing on the host",
    "host": "other Python on the host", "device": "the device",
}  # fmt: skip
_MANY = 10
_MOST = 1000.0
_NO_GAIN = 1.02


def run(evidence: Evidence) -> RunFacts:
    """What was analyzed: command, versions, device."""
    origin = evidence.origin
    ended = origin.get("ended") or {}
    rows = evidence.database.rows("SELECT * FROM process ORDER BY process")
    first = rows[0] if rows else {}
    return RunFacts(
        kind=origin["kind"], path=origin["path"], command=list(origin.get("command", [])),
        status=ended.get("status"), signal=ended.get("signal"), processes=len(rows),
        device=first.get("device_kind"), devices=sum(row["devices"] or 0 for row in rows),
        frontend=first.get("frontend"), versions=_versions(evidence, first.get("process")),
        script=_script(evidence, first.get("main")), cwd=evidence.cwd, root=evidence.root,
        incomplete=list(evidence.lost),
    )  # fmt: skip


def _versions(evidence: Evidence, process: int | None) -> dict[str, str]:
    rows = evidence.database.rows("SELECT * FROM version WHERE process = $process",
                                  {"process": process})  # fmt: skip
    return {row["package"]: row["version"] for row in rows}


def _script(evidence: Evidence, main: str | None) -> str | None:
    if main:
        path = evidence.portable(main)
        return Path(path).name if path.startswith("/") else path
    named = evidence.origin.get("script")
    return None if named is None else str(named)


def time_spent(evidence: Evidence) -> TimeSpent:
    """Where the loop's wall time went, on the thread that took longest."""
    total = (evidence.origin.get("ended") or {}).get("seconds")
    rows = evidence.database.rows("SELECT * FROM lead")
    if not rows:
        return _time_of_timeline(evidence, total)
    lead = rows[0]
    seconds = {key: (lead[f"{key}_ns"] or 0) / 1e9 for key in
               ("duration", "compile", "read", "input", "barrier", "upload")}  # fmt: skip
    known = sum(value for key, value in seconds.items() if key != "duration")
    return TimeSpent(
        total_s=total, loop_s=seconds["duration"],
        parts=TimeParts(
            compile_s=seconds["compile"], blocked_s=seconds["read"], input_s=seconds["input"],
            tracing_s=max(0.0, seconds["duration"] - known), device_s=seconds["barrier"],
            other_s=seconds["upload"],
        ),
        warmup_compile_s=min(seconds["compile"], _warmup_compile(evidence, lead["process"])),
    )  # fmt: skip


def _time_of_timeline(evidence: Evidence, total: float | None) -> TimeSpent:
    """The same from the timeline's steps, where there is no step log."""
    parts = ("compile", "wait", "upload", "input", "save", "dispatch", "tracing", "other")
    sums = ", ".join(f"coalesce(sum({part}_ns), 0) / 1e9 AS {part}" for part in parts)
    rows = evidence.database.rows(f"""
        SELECT sum(duration_ns) / 1e9 AS loop_s, {sums},
               coalesce(sum(compile_ns) FILTER (nth <= {WARMUP}), 0) / 1e9 AS warmup
        FROM (SELECT *, row_number() OVER (PARTITION BY process ORDER BY begin_ns) AS nth
              FROM timeline_step)
        GROUP BY process ORDER BY loop_s DESC, process LIMIT 1
    """)  # noqa: S608  # column names of our own
    if not rows:
        return TimeSpent(total, None, None, None)
    row = {name: float(value) for name, value in rows[0].items()}
    spent = TimeParts(
        compile_s=row["compile"], blocked_s=0.0, input_s=row["input"],
        tracing_s=row["tracing"] + row["other"], device_s=row["wait"],
        other_s=row["upload"] + row["save"] + row["dispatch"],
    )  # fmt: skip
    return TimeSpent(total, row["loop_s"], spent, row["warmup"])


def _warmup_compile(evidence: Evidence, process: int) -> float:
    query = """
        SELECT coalesce(sum(duration_ns), 0) / 1e9 FROM compilation
        LEFT JOIN (SELECT process, thread, barriers FROM step_period) USING (process, thread)
        WHERE process = $process AND ordinal < $warmup * coalesce(barriers, 1)
          AND process NOT IN (SELECT process FROM missing_barrier)
    """
    return float(evidence.database.scalar(query, {"process": process, "warmup": WARMUP}))


def steps(evidence: Evidence) -> Steps | None:
    """The steps of the thread that took longest; None where there is no barrier."""
    query = """
        SELECT l.steps, count(*) FILTER (s.ordinal < $warmup) AS warmup,
               (SELECT median(r.duration_ns / r.barriers) FROM steady_step r
                WHERE r.process = l.process AND r.thread = l.thread
                  AND (NOT r.traced OR NOT EXISTS (
                      SELECT 1 FROM steady_step u WHERE u.process = l.process
                      AND u.thread = l.thread AND NOT u.traced))) AS median_ns,
               any_value(p.barriers) AS period
        FROM lead l JOIN step s USING (process, thread)
        LEFT JOIN step_period p USING (process, thread)
        WHERE NOT s.tail GROUP BY ALL
    """
    rows = evidence.database.rows(query, {"warmup": WARMUP})
    if not rows:
        return _steps_of_timeline(evidence)
    row = rows[0]
    median = row["median_ns"]
    warmup = row["warmup"] if (row["period"] or 1) == 1 else WARMUP  # else turns, not barriers
    return Steps(
        count=row["steps"], warmup=min(warmup, row["steps"]),
        median_ms=None if median is None else round(median * (row["period"] or 1) / 1e6, 4),
    )  # fmt: skip


def _steps_of_timeline(evidence: Evidence) -> Steps | None:
    rows = evidence.database.rows("""
        SELECT count(*) AS count, median(duration_ns) FILTER (steady) / 1e6 AS median_ms
        FROM timeline_step GROUP BY process ORDER BY sum(duration_ns) DESC, process LIMIT 1
    """)
    if not rows:
        return None
    median = rows[0]["median_ms"]
    return Steps(rows[0]["count"], min(WARMUP, rows[0]["count"]),
                 None if median is None else round(median, 4))  # fmt: skip


def verdict(
    time: TimeSpent,
    findings: list[Finding],
    pack: Mapping[str, Rule],
    judged: bool = True,
    limit: str | None = None,
    busy: float | None = None,
) -> Verdict:
    """What bounds the loop, in a sentence that a newcomer understands.

    Args:
        pack: the rules of the findings, by id.
        judged: whether any rule could be; if none could, nothing is known to be right.
        limit: what a step is limited by once all findings are fixed.
        busy: share of the steady steps in which a device worked, if that is their limit.
    """
    serious = [finding for finding in findings if finding.severity != "info"]
    speedup, basis = _speedup(time, serious)
    gain: dict[str, Any] = {
        "speedup": speedup, "speedup_basis": basis, "limited_by": limit if speedup else None,
    }  # fmt: skip
    more = any(finding.saving.basis == "none" for finding in serious)
    tail = (
        f"{len(serious)} finding{'s' * (len(serious) != 1)} to fix"
        f"{_gain(speedup, basis, limit, more)}"
        if serious
        else "nothing to fix"
        if judged
        else "no rule could be judged"
    )
    for said in (pack[finding.rule].verdict for finding in serious):
        if said:
            return Verdict(said.bound_by, f"{said.text}; {tail}.", **gain)
    if time.parts is None or not time.loop_s:
        text = "No step log in this evidence: what bounds the program cannot be told"
        return Verdict("unknown", f"{text}; {tail}.")
    warmup = time.warmup_compile_s or 0.0
    spent = {key: getattr(time.parts, key) for key in _PARTS}
    spent["compile_s"] -= warmup
    waits = [finding for finding in findings if pack[finding.rule].waits]
    synchronizing = _synchronizing(spent["blocked_s"], waits)
    spent["device_s"] += spent["blocked_s"] - synchronizing
    spent["blocked_s"] = synchronizing
    largest = max(spent, key=lambda key: spent[key])
    bound_by, words = _PARTS[largest]
    apart = f" (after {duration(warmup)} of compiling in warm-up)" if warmup else ""
    share = percent(spent[largest] / time.steady_s)
    if busy is not None and bound_by != "device":  # as where the host runs ahead of it
        return Verdict(
            "device", f"The device worked for {percent(busy)} of the time; meanwhile {share} of the"
            f" loop's {duration(time.steady_s)}{apart} went {words}; {tail}.", **gain,
        )  # fmt: skip
    return Verdict(
        bound_by,
        f"{share} of the loop's {duration(time.steady_s)}{apart} went {words}; {tail}.",
        **gain,
    )


def _synchronizing(blocked_s: float, waits: list[Finding]) -> float:
    """What of the time blocked in reads is their own: the rest the device works for the loop."""
    given = [wait.saving.remaining_s for wait in waits]
    if not given or None in given:
        return blocked_s
    return min(blocked_s, sum(seconds or 0.0 for seconds in given))


def _speedup(time: TimeSpent, findings: list[Finding]) -> tuple[float | None, SavingBasis]:
    """How many times as fast the loop is without its warm-up's compiling, if all are fixed."""
    savings = [finding.saving for finding in findings if finding.saving.seconds is not None]
    if not time.loop_s or not savings:
        return None, "none"
    given = [s.remaining_s for s in savings if s.remaining_s is not None]
    seconds = sum(given) if given else sum(s.seconds or 0.0 for s in savings)
    of_warmup = any(claim.do == "constant_cost" for s in savings for claim in s.assumes)
    whole = time.loop_s if of_warmup else time.steady_s
    left = max(whole - seconds, whole / _MOST)
    return round(whole / left, 3), "estimate" if given else "bound"


def _gain(speedup: float | None, basis: SavingBasis, limit: str | None, more: bool) -> str:
    """What fixing them brings; ``more`` if what some of them bring is not known."""
    if speedup is None or basis == "bound" or (more and speedup < _NO_GAIN):
        return ""
    then = f", then limited by {LIMITS[limit]}" if limit else ""
    if speedup < _NO_GAIN:
        return f", which gains next to nothing{then}"
    return f" for a loop {_times(speedup)} as fast{' or more' * more}{then}"


def _times(factor: float) -> str:
    return f"{factor:.0f} times" if factor >= _MANY else f"{float(f'{factor:.3g}'):g} times"


def duration(seconds: float) -> str:
    """A duration for people: ``840 µs``, ``12.1 ms``, ``3.4 s``, ``2 min 05 s``."""
    for unit, name in ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s")):
        value = float(f"{seconds / unit:.3g}")
        if value < (120 if name == "s" else 1000):
            return f"{value:.0f} µs" if name == "µs" else f"{value:g} {name}"
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60:02d} s"


def percent(share: float) -> str:
    """A share for people; what is there is never shown as nothing."""
    shown = f"{share * 100:.0f}"
    return "<1 %" if share > 0 and shown == "0" else f"{shown} %"
