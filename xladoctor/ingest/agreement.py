"""Checks that the step log reaches as far as the metrics report and timeline of its process.

A log cut off at the end of a line looks like a short run. If no list of files shows it, the other
files may: a process that ended by itself has logged its main thread's tail and all counts. The log
of a killed process ends a moment before the process did, and in a long loop some steps before.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from xladoctor.frontends.vocabulary import events
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.inventory import tables_of
from xladoctor.ingest.run_records import ProcessRecord
from xladoctor.ingest.step_log import Logged

_BESIDES = 10  # events that may be counted outside of logged steps, at the beginning and end
_BESIDES_SHARE = 0.1
_CLOCKS_NS = 100_000_000  # how far the profiler's clock may be off
_UNWRITTEN_NS = 2_000_000_000  # lines are written four times a second
_LONGER = 10  # times as many steps may be in the next line, which is lost when killed


def check(
    path: Path, logged: Logged, record: ProcessRecord, number: int, ingested: Ingested
) -> None:
    """Note that the end of a step log is lost, if that is certain.

    Args:
        ingested: holds the counters of the report, and the timeline.
    """
    if any(note.startswith(f"{path}:") for note in ingested.lost):
        return  # the loss is noted already
    if excess := _counted(logged, record, number, ingested) or _recorded(
        logged, record, number, ingested
    ):
        ingested.lose(
            f"{path}: is cut off: {excess}; what came after it is lost", *tables_of(path.name)
        )


def _counted(logged: Logged, record: ProcessRecord, number: int, ingested: Ingested) -> str:
    """What the report counts more often than the log, if that lacks its main thread's tail."""
    if not record.ended or logged.ended is not False:
        return ""
    table = ingested.tables.get("counter", {})
    for process, name, value in zip(
        *(table.get(key, ()) for key in ("process", "name", "value")), strict=True
    ):
        known = logged.counters.get(name, 0)
        if process == number and (value or 0) - known > max(_BESIDES, _BESIDES_SHARE * known):
            return f"the metrics report counts {name} {value:,} times, the log {known:,}"
    return ""


def _recorded(logged: Logged, record: ProcessRecord, number: int, ingested: Ingested) -> str:
    """Text on how many steps of the timeline ended after the log did; empty if none."""
    table = ingested.tables.get("timeline", {})
    names = ("process", "file", "begin_ns", "steps_from")
    rows = zip(*(table.get(name, ()) for name in names), strict=True)
    own = [
        (Path(file), begin)
        for process, file, begin, source in rows
        if process == number and source in events("barrier")
    ]
    if not own:
        return ""
    ((file, begin),) = own
    (ends,) = (
        columns["end_ns"]
        for name, columns in ingested.batches
        if name == "timeline_step" and columns["process"][0] == number
    )
    last = logged.end_ns + _CLOCKS_NS if record.ended else max(logged.end_ns, begin) + _UNWRITTEN_NS
    # The log's clock leaves out by how much the system's clock was set before the window.
    started = next(
        (window.begin_ns for window in record.windows if window.session == file.parent.name), begin
    )
    after = np.count_nonzero(ends > last + max(0, begin - started))
    if after <= logged.longest * (1 if record.ended else _LONGER):
        return ""
    return f"the timeline has {after:,} steps after its last line"
