"""Finds the time for which a timeline does not show what the loop's thread did.

A profile of devices alone has no thread, a profile of driver calls alone has no operators, and
records of the host can end before the devices have finished.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from xladoctor.frontends.vocabulary import events, part_of
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import Intervals
from xladoctor.ingest.timeline.python_frames import is_frame
from xladoctor.ingest.timeline.steps import Steps
from xladoctor.ingest.xplane.space import Line


def unrecorded(
    timeline: Timeline,
    lines: list[Line],
    doing: Mapping[str, Intervals],
    steps: Steps | None,
    *,
    strange: bool = False,
) -> Intervals:
    """All time except known activities, and time in which the thread is known to be in Python.

    It is in Python between its first event and its last, if operators are recorded, except in steps
    with nothing but labels.

    Args:
        lines: the threads of the loop, its own first.
        doing: when they did each activity.
        strange: whether calls of the device's runtime are not supported.
    """
    known = [Intervals(np.empty(0, np.int64), np.empty(0, np.int64)), *doing.values()]
    if lines and _has_operators(timeline) and not strange:
        known.append(_followed(timeline, lines, steps))
    both = Intervals.union(
        *(np.concatenate([getattr(part, side) for part in known]) for side in ("begin", "end"))
    )
    begin, end = timeline.begin, timeline.end
    if steps is not None and len(steps.begin):
        begin, end = min(begin, int(steps.begin[0])), max(end, int(steps.end[-1]))
    return both.gaps(begin, end)


def _has_operators(timeline: Timeline) -> bool:
    """Whether operators, compiled functions or Python frames are recorded, or not expected."""
    beginnings = events("operator")
    return not timeline.space.joins_calls or any(
        name.startswith(beginnings) or part_of(name) or is_frame(name)
        for name in timeline.events.names
    )


def _followed(timeline: Timeline, lines: list[Line], steps: Steps | None) -> Intervals:
    """The time from the first event to the last, without steps that only have labels."""
    labels = timeline.choice(timeline.space.labels or ())
    work = [np.flatnonzero(~labels[timeline.events.name[line.events]]) for line in lines]
    begins, working = timeline.spans(zip(lines, work, strict=True))
    if not len(begins):
        return Intervals(begins, begins)
    first = begins.min(keepdims=True)
    last = np.array([max(int(timeline.ends(line).max()) for line in lines if line.count)])
    if timeline.space.started_ns is not None:
        first = np.minimum(first, timeline.begin)
    whole = Intervals(first, last)
    if steps is None:
        return whole
    began = np.searchsorted(np.sort(begins), steps.end)
    ended = np.searchsorted(np.sort(working), steps.begin, side="right")
    empty = began == ended  # all that began before the step's end had ended before its begin
    return whole.common(
        Intervals.union(steps.begin[empty], steps.end[empty]).gaps(
            int(whole.begin[0]), int(whole.end[0])
        )
    )
