"""Checks that the step log reaches as far as the metrics report and timeline of its process.

A log cut off at the end of a line looks like a short run. If no list of files shows it, the other
files may: a process that ended by itself has logged its main thread's tail and all counts. The log
of a killed process ends a moment before the process did, and in a long loop some steps before.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from xladoctor.facts.run import Process
from xladoctor.frontends.vocabulary import events
from xladoctor.ingest.interface import ProcessRows
from xladoctor.ingest.inventory import tables_of
from xladoctor.ingest.step_log import Logged
from xladoctor.ingest.timeline.shown import Shown

_BESIDES = 10  # events that may be counted outside of logged steps, at the beginning and end
_BESIDES_SHARE = 0.1
_CLOCKS_NS = 100_000_000  # how far the profiler's clock may be off
_UNWRITTEN_NS = 2_000_000_000  # lines are written four times a second
_LONGER = 10  # times as many steps may be in the next line, which is lost when killed


def check(
    path: Path,
    logged: Logged,
    reported: Mapping[str, int | None],
    record: Process,
    shown: Shown,
    rows: ProcessRows,
) -> None:
    """Note that the end of a step log is lost, if that is certain.

    Args:
        path: the log.
        logged: the contents of the log.
        reported: the counters of the metrics report.
        record: the record of its process.
        shown: the contents of the timeline, if there is one.
    """
    if any(note.startswith(f"{path}:") for note in rows.ingested.lost):
        return  # the loss is noted already
    missing = _counted(logged, reported, record) or _recorded(logged, record, shown)
    if missing:
        rows.lose(
            f"{path}: is cut off: {missing}; what came after it is lost", *tables_of(path.name)
        )


def _counted(logged: Logged, reported: Mapping[str, int | None], record: Process) -> str:
    """What the report counts more often than the log, if that lacks its main thread's tail."""
    if not record.ended or logged.ended is not False:
        return ""
    for name, value in reported.items():
        known = logged.counters.get(name, 0)
        if (value or 0) - known > max(_BESIDES, _BESIDES_SHARE * known):
            return f"the metrics report counts {name} {value:,} times, the log {known:,}"
    return ""


def _recorded(logged: Logged, record: Process, shown: Shown) -> str:
    """Text on how many steps of the timeline ended after the log did; empty if none."""
    if shown.described.get("steps_from") not in events("barrier"):
        return ""
    session, begin = Path(shown.described["file"]).parent.name, shown.described["begin_ns"]
    ends = dict(shown.of_steps)["timeline_step"]["end_ns"]
    last = logged.end_ns + _CLOCKS_NS if record.ended else max(logged.end_ns, begin) + _UNWRITTEN_NS
    # The log's clock leaves out by how much the system's clock was set before the window.
    started = next(
        (window.begin_ns for window in record.windows if window.session == session), begin
    )
    after = np.count_nonzero(ends > last + max(0, begin - started))
    if after <= logged.longest * (1 if record.ended else _LONGER):
        return ""
    return f"the timeline has {after:,} steps after its last line"
