"""Sets the clocks of TPUs beside that of their host.

A profile gives what a TPU did in the host's time, as far as the profiler could translate it: in a
file of a v6e (libtpu of April 2026) each execution lay 0.36 to 0.39 ms before the call that put it
into the device's queue. Both have the number of the run. An execution cannot begin before that
call, so the device's clock is behind by at least the largest such difference; by how much more,
nothing shows.
"""

from __future__ import annotations

import numpy as np

from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import Times
from xladoctor.ingest.xplane.space import Line, Plane
from xladoctor.quantities import duration

_ENQUEUES = "DoEnqueueProgram"  # of TPU's runtime, on the host
_EXECUTIONS = "XLA Modules"
_MOST_NS = 100_000_000  # beyond, the numbers are those of other runs


def set_device_clocks(timeline: Timeline) -> list[str]:
    """Move what devices did to where it was possible; returns a note for each device moved."""
    run, enqueued = _runs(
        timeline, [(line, timeline.named(line, _ENQUEUES)) for line in timeline.threads]
    )
    first = np.lexsort((enqueued, run))  # a run of several devices is put into each queue
    run, earliest = np.unique(run[first], return_index=True)
    enqueued = enqueued[first][earliest]
    notes = []
    for plane in timeline.space.planes:
        behind = _behind(timeline, plane, run, enqueued)
        if 0 < behind <= _MOST_NS:
            for line in plane.lines:
                line.origin_ns += behind
            notes.append(
                f"{timeline.space.path}: the clock of {plane.name} was behind by"
                f" {duration(behind / 1e9)} or more, as its executions began before they were"
                " launched; it is set right by that"
            )
    return notes


def _behind(timeline: Timeline, plane: Plane, run: Times, enqueued: Times) -> int:
    """How long before its launch an execution of a device began, at most; 0 if none did."""
    lines = [line for line in plane.lines if line.name == _EXECUTIONS]
    executed, begin = _runs(timeline, [(line, np.arange(line.count)) for line in lines])
    _, mine, theirs = np.intersect1d(executed, run, return_indices=True)
    return max(0, int((enqueued[theirs] - begin[mine]).max(initial=0)))


def _runs(timeline: Timeline, parts: list[tuple[Line, np.ndarray]]) -> tuple[Times, Times]:
    """The number of the run and the begin of each of these events that has such a number."""
    numbers = timeline.events.rows_of("run_id")
    runs, begins = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for line, which in parts:
        at = np.searchsorted(numbers.event, line.first + which)
        has = np.append(numbers.event, -1)[at] == line.first + which
        runs.append(numbers.value[at[has]])
        begins.append(timeline.begins(line, which[has]))
    return np.concatenate(runs), np.concatenate(begins)
