"""Facts about the run apart from findings: its command, its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median

from xladoctor.diagnosis.finding import Finding, Tried
from xladoctor.diagnosis.interface import RunFacts, StepGroup, Steps, StepsAt, TimeSpent
from xladoctor.diagnosis.step_samples import step_samples
from xladoctor.evidence.interface import Evidence
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.quantities import duration, percent
from xladoctor.warmup import WARMUP

#: Their number: one that uses two frameworks has two rows, and pids are reused.
_PROCESSES = """
    SELECT count(*) FROM (SELECT DISTINCT host, pid,
                                 row_number() OVER (PARTITION BY host, pid, frontend) FROM process)
"""

_GROUPS = 60
_MOST = 0.5  # share of all compiling; a function with more is named
_GROUPED = """
    WITH counted AS (
        SELECT *, sum(steps) OVER (ORDER BY begin_ns, number) - steps AS before,
               sum(steps) OVER () AS whole
        FROM ({steps})
    )
    SELECT min(before)::BIGINT AS first, sum(steps)::BIGINT AS count,
           max(duration_ns / steps) / 1e6 AS longest_ms,
           coalesce(sum(compile_ns), 0) / 1e6 AS compile_ms
    FROM counted GROUP BY before * least(whole, $groups) // whole ORDER BY first
"""
_REPORTED = """
    SELECT process, meaning, name, samples, accumulator / 1e9 AS seconds FROM measured
    WHERE meaning IN ('compile', 'execute') AND samples > 0 AND accumulator IS NOT NULL
    ORDER BY process, meaning
"""
_LOGGED = """
    SELECT process, count(*) AS count, count(duration_ns) AS timed,
           sum(duration_ns) / 1e9 AS seconds, max(duration_ns) / 1e9 AS longest_s,
           arg_max(compiled_function(cause), duration_ns) AS function
    FROM compilation WHERE process NOT IN (SELECT process FROM timeline) GROUP BY process
"""
#: A single block that somebody quoted from a log, which may be a compilation and its launch.
_QUOTED = """
    SELECT cause, any_value(coalesce(user_file, file)) AS file,
           any_value(coalesce(user_line, line)) AS line, bool_or(compiled) AS compiled
    FROM (SELECT * EXCLUDE (index), TRUE AS compiled FROM compilation
          UNION ALL BY NAME SELECT *, FALSE AS compiled FROM execution)
    WHERE process NOT IN (SELECT process FROM timeline) AND cause <> ''
    GROUP BY process, cause, user_file, user_line
"""
_ALONE = """
    SELECT max(count) = 1 FROM (
        SELECT count(*) AS count FROM execution UNION ALL SELECT count(*) FROM compilation)
"""
#: Compiling at which samples end: none of the compilations that ended began as late.
_COMPILING = """
    SELECT coalesce(user_file, file) AS file, coalesce(user_line, line) AS line
    FROM start_up u WHERE what = 'compile' AND duration_ns > (
        SELECT 2 * coalesce(sum(duration_ns), 0) FROM compilation c WHERE c.process = u.process)
    ORDER BY duration_ns DESC LIMIT 1
"""
_FAILED = "SELECT bool_or(uncaught IS NOT NULL) FROM process"
_COUNTED = {"compile": ("graph", "graphs"), "execute": ("launch", "launches")}
_STEPS_OF_LOG = "SELECT i.* FROM lead l JOIN iteration i USING (process, thread)"
_ENDS = """
    SELECT coalesce(s.user_file, s.file) AS file, coalesce(s.user_line, s.line) AS line,
           sum(s.barriers)::BIGINT AS count, sum(s.duration_ns) AS duration_ns,
           median(s.duration_ns / s.barriers) FILTER (u.index IS NOT NULL) / 1e6 AS median_ms,
           count(u.index) AS steady
    FROM lead l JOIN step s USING (process, thread)
    LEFT JOIN steady_step u ON u.process = s.process AND u.thread = s.thread AND u.index = s.index
    WHERE NOT s.tail AND NOT EXISTS (
        SELECT 1 FROM step_period p WHERE p.process = l.process AND p.barriers > 1)
    GROUP BY ALL ORDER BY duration_ns DESC
"""
#: Steady steps and share of the time that a line has at least, and by how much medians differ.
_LEAST_STEPS, _LEAST_SHARE, _UNLIKE = 3, 0.1, 1.5
_OPERATORS = """
    SELECT name, sum(self_ns) / sum(sum(self_ns)) OVER () AS share FROM event
    WHERE step IS NOT NULL GROUP BY name ORDER BY share DESC LIMIT 1
"""
_STEPS_OF_TIMELINE = """
    SELECT *, step AS number, 1 AS steps FROM divided_step
    WHERE process = (SELECT process FROM divided_step GROUP BY process
                     ORDER BY sum(duration_ns) DESC, process LIMIT 1)
"""


def run(evidence: Evidence) -> RunFacts:
    """The facts about what was analyzed: command, versions, device."""
    manifest = evidence.manifest
    ended = manifest and manifest.ended
    rows = evidence.database.rows("SELECT * FROM process ORDER BY process")
    first = rows[0] if rows else {}
    written_in = evidence.database.scalar("SELECT any_value(frontend) FROM timeline")
    return RunFacts(
        kind=evidence.origin.kind,
        path=evidence.path,
        command=manifest.command if manifest else [],
        status=ended.status if ended else None,
        signal=ended.signal if ended else None,
        stopped_by=ended.stopped_by if ended else None,
        processes=int(evidence.database.scalar(_PROCESSES)),
        device=first.get("device_kind"),
        devices=sum(row["devices"] or 0 for row in rows),
        frontend=first.get("frontend") or written_in,
        versions=_versions(evidence, first.get("process")),
        script=_script(evidence, first.get("main")),
        cwd=evidence.cwd,
        root=evidence.root,
        incomplete=list(evidence.lost),
        running=any(row["running"] for row in rows),
    )


def is_whole(evidence: Evidence) -> bool:
    """Whether the program's own end is known, rather than that of a command that ran several."""
    part = evidence.manifest is not None and evidence.manifest.part_of is not None
    return not part or bool(evidence.database.scalar(_FAILED))


def reported(evidence: Evidence) -> str:
    """A summary of evidence of a single process without step times: of a metrics report, with its
    own names, such as CompileTime 3.4 s (66 graphs), ExecuteTime 15.1 s (558 launches); else of
    compilations, with their seconds if a log has them.
    """
    rows = evidence.database.rows(_REPORTED)
    if not rows:
        return _logged(evidence)
    if len({row["process"] for row in rows}) != 1:
        return ""
    return "The metrics report has " + ", ".join(
        f"{row['name']} {duration(row['seconds'])} ({row['samples']}"
        f" {_COUNTED[row['meaning']][row['samples'] != 1]})"
        for row in rows
    )


def _logged(evidence: Evidence) -> str:
    quoted = evidence.database.rows(_QUOTED)
    if len(quoted) == 1 and evidence.database.scalar(_ALONE):
        what = "compiled" if quoted[0]["compiled"] else "launched"
        cause, file, line = (quoted[0][name] for name in ("cause", "file", "line"))
        place = f" at {evidence.shown(file)}:{line}" if file else ""
        return f"The log has one graph, {what}{place} ({cause})"
    rows = evidence.database.rows(_LOGGED)
    if len(rows) != 1:
        return ""
    row = rows[0]
    count, seconds, longest = row["count"], row["seconds"], row["longest_s"]
    took = duration(seconds) if seconds else ""
    if seconds and row["timed"] < count:
        took += f" for {row['timed']} of them"
    if seconds and count > 1 and longest > _MOST * seconds and row["function"]:
        took += f", {duration(longest)} of {row['function']}"
    took = f" ({took})" if took else ""
    return f"The log has {count} compilation{'s' * (count != 1)}{took}"


def _versions(evidence: Evidence, process: int | None) -> dict[str, str]:
    rows = evidence.database.rows(
        "SELECT * FROM version WHERE process = $process", {"process": process}
    )
    return {row["package"]: row["version"] for row in rows}


def _script(evidence: Evidence, main: str | None) -> str | None:
    if main:
        path = evidence.portable(main)
        return Path(path).name if path.startswith("/") else path
    return evidence.manifest.script if evidence.manifest else None


def with_tried(evidence: Evidence, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, each with the patch for it that was tried, if one was."""
    rows = evidence.database.rows(
        "SELECT rule, fingerprint, title, outcome, before_s, after_s, times_as_fast, least"
        " FROM tried_patch"
    )
    tried = {(row.pop("rule"), row.pop("fingerprint")): Tried(**row) for row in rows}
    return [replace(each, tried=tried.get((each.rule, each.fingerprint))) for each in findings]


def steps(evidence: Evidence) -> Steps | None:
    """The steps of the thread with the longest loop; None without steps."""
    query = """
        SELECT l.steps, count(*) FILTER (s.ordinal < $warmup) AS warmup,
               any_value(p.barriers) AS period
        FROM lead l JOIN step s USING (process, thread)
        LEFT JOIN step_period p USING (process, thread)
        WHERE NOT s.tail GROUP BY ALL
    """
    rows = evidence.database.rows(query, {"warmup": WARMUP})
    if not rows:
        return None if without_steps(evidence) else _steps_of_timeline(evidence)
    row = rows[0]
    warmup = row["warmup"] if (row["period"] or 1) == 1 else WARMUP  # else turns, not barriers
    return Steps(
        count=row["steps"],
        warmup=min(warmup, row["steps"]),
        median_ms=_median_ms(evidence),
        ends=_ends(evidence),
    )


def uncaught(evidence: Evidence) -> str | None:
    """The exception that ended the first process that failed so, and where."""
    text: str | None = evidence.database.scalar("SELECT arg_min(uncaught, process) FROM process")
    return text


def still_compiling(evidence: Evidence) -> str:
    """A sentence on the call that was compiling when a program without steps ended; else empty."""
    rows = evidence.database.rows(_COMPILING)
    at = [f"{evidence.shown(row['file']) or row['file']}:{row['line']}" for row in rows]
    return f"the call at {at[0]} was still compiling" if at else ""


def without_steps(evidence: Evidence) -> bool:
    """Whether the capture saw the program from its start, and no step in it."""
    return bool(evidence.database.scalar("SELECT bool_and(tail) FROM step"))


def dispatching(evidence: Evidence, time: TimeSpent) -> str | None:
    """What the host does in dispatch, if it launches operators; without a device, where it takes
    most of the time, these compute there and then. None for frameworks that launch graphs.
    """
    word = vocabulary(evidence.frontend).words.get("dispatch")
    parts = asdict(time.parts) if time.parts else {}
    largest = max(parts, key=lambda part: parts[part], default="")
    has_rows = evidence.database.has_rows
    if word is None or largest != "dispatch_s" or has_rows("device") or not has_rows("timeline"):
        return word and f"{word} (dispatch)"
    name, share = next(iter(evidence.database.table(_OPERATORS)[1]), ("", 0.0))
    most = f", {percent(share)} of that in {name}" if share >= _MOST else ""
    return f"computing on the CPU{most} (the trace shows no device)"


def _ends(evidence: Evidence) -> list[StepsAt]:
    """The lines at which steps end that the median of all does not describe."""
    rows = evidence.database.rows(_ENDS)
    whole = sum(row["duration_ns"] for row in rows)
    ends = [
        StepsAt(row["file"], row["line"], row["count"], round(row["median_ms"], 4))
        for row in rows
        if row["line"] is not None
        and row["steady"] >= _LEAST_STEPS
        and row["duration_ns"] >= _LEAST_SHARE * whole
    ]
    medians = [each.median_ms for each in ends]
    return ends if medians and max(medians) >= _UNLIKE * min(medians) else []


def _steps_of_timeline(evidence: Evidence) -> Steps | None:
    rows = evidence.database.rows("""
        SELECT count(*) AS count, count(*) FILTER (warming_up) AS warmup
        FROM (SELECT *, coalesce(
                  begin_ns < min(begin_ns) FILTER (steady) OVER (PARTITION BY process), TRUE
              ) AS warming_up FROM divided_step)
        GROUP BY process ORDER BY sum(duration_ns) DESC, process LIMIT 1
    """)
    if not rows:
        return None
    return Steps(rows[0]["count"], rows[0]["warmup"], _median_ms(evidence))


def _median_ms(evidence: Evidence) -> float | None:
    samples = step_samples(evidence).ms
    return round(median(samples), 4) if samples else None


def step_groups(evidence: Evidence, steps: Steps | None) -> list[StepGroup]:
    """The times of that thread's steps over the run, in at most 60 groups."""
    if steps is None:
        return []
    for table in (_STEPS_OF_LOG, _STEPS_OF_TIMELINE):
        query = _GROUPED.format(steps=table)
        if rows := evidence.database.rows(query, {"groups": _GROUPS}):
            groups = [
                StepGroup(
                    row["first"],
                    row["count"],
                    round(row["longest_ms"], 4),
                    round(row["compile_ms"], 4),
                )
                for row in rows
            ]
            # The last steps of a long run have no row of their own.
            more = max(0, steps.count - sum(group.count for group in groups))
            return [*groups[:-1], replace(groups[-1], count=groups[-1].count + more)]
    return []
