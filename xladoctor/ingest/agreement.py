"""Whether the step log reaches as far as the metrics report and the timeline of its process do.

A log that was cut off at the end of a line looks like a short run. Where no list of files tells,
the other files may: a process that ended by itself has told its main thread's tail and all counts.
That of a process that was killed ends a moment before it did, and late in a long loop some steps
before.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from xladoctor.frontends.vocabulary import events
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.inventory import tables_of
from xladoctor.ingest.run_records import ProcessRecord
from xladoctor.ingest.step_log import Logged

_BESIDES = 10  # counted where no step is logged: before the first line, while the process ends
_BESIDES_SHARE = 0.1
_CLOCKS_NS = 100_000_000  # the profiler's may be off by that much
_UNWRITTEN_NS = 2_000_000_000  # lines are written four times a second
_LONGER = 10  # times as many steps may be in the next line, which a kill leaves unwritten


def check(
    path: Path, logged: Logged, record: ProcessRecord, number: int, ingested: Ingested
) -> None:
    """Lose what lies behind the end of a step log, where it is certain that something does.

    Args:
        path: the log.
        logged: what was read from it.
        record: of its process, whose ``number`` in the tables is given.
        ingested: has the counters of the report, and the timeline.
    """
    if any(note.startswith(f"{path}:") for note in ingested.lost):
        return  # it is known already
    if told := _counted(logged, record, number, ingested) or _recorded(
        logged, record, number, ingested
    ):
        ingested.lose(
            f"{path}: is cut off: {told}; what came after it is lost", *tables_of(path.name)
        )


def _counted(logged: Logged, record: ProcessRecord, number: int, ingested: Ingested) -> str:
    """What the report counts more often than a log that lacks its main thread's tail."""
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
    """How many steps of the timeline ended after the log did."""
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
    # The log's clock leaves out how far the system's was set before the window
    started = next(
        (window.begin_ns for window in record.windows if window.session == file.parent.name), begin
    )
    after = np.count_nonzero(ends > last + max(0, begin - started))
    if after <= logged.longest * (1 if record.ended else _LONGER):
        return ""
    return f"the timeline has {after:,} steps after its last line"
