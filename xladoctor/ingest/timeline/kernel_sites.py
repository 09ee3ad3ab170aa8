"""Finds the functions of the program that launch work of devices, if Python was recorded.

An operator of the backward pass belongs to the function that called the forward operator: both have
the same number, and the last forward event with that number counts.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from xladoctor.frontends.vocabulary import events
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import Times, covering
from xladoctor.ingest.timeline.python_frames import PythonFrames
from xladoctor.ingest.timeline.reading import Reading
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.space import Line

_MOST = 50_000  # tasks that are examined, evenly spread


def add_kernel_sites(reading: Reading) -> None:
    """Fill ``kernel_site``, if calls are joined with work and Python functions recorded."""
    timeline, lines = reading.timeline, reading.lines
    calls, works = timeline.space.joined(timeline.events)
    frames = PythonFrames.of(timeline, lines[0]) if len(calls) and lines else None
    if frames is None or not frames.frames:
        return
    chosen = slice(None, None, len(calls) // _MOST + 1)
    calls, works = calls[chosen], works[chosen]
    called_at = _caused_at(timeline, lines, calls)
    known = called_at >= 0
    sites = frames.sites(called_at[known], [""] * int(known.sum()))
    spent: Counter[tuple[int, str, int, str]] = Counter()
    whole: Counter[int] = Counter()
    names = timeline.events.name[works].tolist()
    lasted = timeline.events.duration_ps[works].tolist()
    for name, duration in zip(names, lasted, strict=True):
        whole[name] += duration
    for at, site in zip(np.flatnonzero(known).tolist(), sites, strict=True):
        if site.file:
            where = site.user_file or site.file, site.user_line or site.line or 0
            spent[names[at], *where, site.user_function or site.function or ""] += lasted[at]
    for (name, file, line, function), duration in spent.items():
        share = duration / max(1, whole[name])
        reading.rows.add(
            "kernel_site",
            hlo_op=timeline.events.names[name],
            file=file,
            line=line,
            function=function,
            share=share,
        )


def _caused_at(timeline: Timeline, lines: list[Line], calls: Times) -> Times:
    """The instant at which the loop's thread caused each of these calls; -1 if unknown."""
    numbered, numbers = timeline.space.numbered(timeline.events)
    number_of = np.full(len(timeline.events.name), -1, np.int64)
    number_of[numbered] = numbers
    backward = timeline.beginning(*events("backward"))
    made = _made(timeline, lines[0], number_of, backward)
    called_at = np.full(len(calls), -1, np.int64)
    for line in lines:
        mine = np.flatnonzero((calls >= line.first) & (calls < line.events.stop))
        instants = timeline.begins(line, calls[mine] - line.first)
        which, begin, end = timeline.outermost(line, backward)
        inside = covering(begin, end, instants)
        number = np.append(number_of[line.first + which], -1)[inside]
        at = np.searchsorted(made[0], number)
        found = (number >= 0) & (np.append(made[0], -1)[at] == number)
        called_at[mine] = np.where(found, np.append(made[1], 0)[at], instants)
    return called_at


def _made(
    timeline: Timeline, line: Line, number_of: wire.Ints, backward: wire.Array
) -> tuple[wire.Ints, Times]:
    """The numbers of operators of the forward pass, in order, and when the last of each began."""
    which = np.flatnonzero(number_of[line.events] >= 0)
    begins = timeline.begins(line, which)
    _, begin, end = timeline.outermost(line, backward)
    forward = np.flatnonzero(covering(begin, end, begins) < 0)
    which, begins = which[forward], begins[forward]
    order = np.argsort(begins, kind="stable")[::-1]
    numbers, last = np.unique(number_of[line.first + which][order], return_index=True)
    return numbers, begins[order][last]
