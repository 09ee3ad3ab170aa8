"""Finds operators of programs that launch each by itself, and those that read from the device."""

from __future__ import annotations

import numpy as np

from xladoctor.frontends.vocabulary import events, with_trait
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import Intervals, outermost
from xladoctor.ingest.xplane.space import Line


def operator_calls(
    timeline: Timeline, lines: list[Line], waiting: Intervals
) -> tuple[Intervals | None, Intervals, list[tuple[str, str]]]:
    """Finds the operators of a program that launches each by itself.

    Returns:
        when the threads were in operators (None if there are none), when they were in operators
        that waited for the device, and the name and kind of read of each of the latter.
    """
    names = timeline.events.names
    chosen = timeline.beginning(*events("operator"))
    parts = [(line, timeline.chosen(line, chosen)) for line in lines]
    begin, end = timeline.spans(parts)
    of_lines = (timeline.events.name[line.events][which] for line, which in parts)
    name = np.concatenate([np.empty(0, np.int64), *of_lines])
    outer = outermost(begin, end)
    begin, end, name = begin[outer], end[outer], name[outer]
    waited = np.flatnonzero(waiting.covered(begin, end) > 0)
    scalar = with_trait("reads_scalar")
    via = [
        (names[code], "item" if names[code] in scalar else "fetch")
        for code in name[waited].tolist()
    ]
    reads = Intervals(begin[waited], end[waited])
    return Intervals.union(begin, end) if len(begin) else None, reads, via
