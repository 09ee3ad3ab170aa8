"""What the host ran by name in each step, and what that launched on the devices.

For timelines that join calls of the host with the work that they led to.
"""

from __future__ import annotations

import numpy as np

from xladoctor.ingest.interface import Ingested, Interned
from xladoctor.ingest.timeline.breakdown import step_of
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import Times
from xladoctor.ingest.timeline.python_frames import is_frame
from xladoctor.ingest.timeline.steps import Steps
from xladoctor.ingest.xplane.nesting import nest
from xladoctor.ingest.xplane.space import Line


def add_operators(
    timeline: Timeline, steps: Steps | None, numbers: Times | None, process: int,
    ingested: Ingested,
) -> None:  # fmt: skip
    """Fill ``host_op``, if calls are joined with work."""
    calls, works = timeline.space.joined(timeline.events)
    if not len(calls):
        return
    lasted = timeline.events.duration_ps[works]
    names = timeline.events.names
    shown = np.array([not is_frame(name) for name in names], bool)
    nothing = np.empty((6, 0), np.int64)
    parts = [_of_line(timeline, line, shown, calls, lasted)
             for plane in timeline.hosts for line in plane.lines]  # fmt: skip
    name, begin, *sums = np.concatenate([nothing, *parts], axis=1)
    step = step_of(steps, numbers, begin)
    # One number of both: rows of an array are compared as bytes, ten times as slow.
    keys, where = np.unique((step + 1) * len(names) + name, return_inverse=True)
    count = np.bincount(where)
    total = [np.bincount(where, part).astype(np.int64) for part in sums]
    step, name = keys // len(names) - 1, keys % len(names)
    ingested.append("host_op", {
        "process": np.full(len(step), process), "step": np.ma.masked_array(step, step < 0),
        "name": Interned(name.astype(np.int32), names), "count": count,
        "duration_ns": total[0] // 1000, "self_ns": total[1] // 1000, "launches": total[2],
        "device_ns": total[3] // 1000,
    })  # fmt: skip


def _of_line(
    timeline: Timeline, line: Line, shown: np.ndarray[tuple[int], np.dtype[np.bool_]],
    calls: Times, lasted: Times,
) -> Times:  # fmt: skip
    """Name, begin (ns), duration and self time (ps), launches and their time (ps) of each event."""
    events, part = timeline.events, line.events
    which = np.flatnonzero(shown[events.name[part]])
    start, duration = events.start_ps[part][which], events.duration_ps[part][which]
    _, own, _ = nest(start, duration)
    mine = (calls >= part.start) & (calls < part.stop)
    at = events.start_ps[calls[mine]]
    order = np.argsort(at, kind="stable")
    until = np.concatenate(([0], np.cumsum(lasted[mine][order])))
    first = np.searchsorted(at[order], start)
    last = np.searchsorted(at[order], start + np.maximum(duration, 1))
    return np.stack((events.name[part][which].astype(np.int64), timeline.begins(line, which),
                     duration, own, last - first, until[last] - until[first]))  # fmt: skip
