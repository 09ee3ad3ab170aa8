"""Calls of the parts that a compiler made of functions, which it numbers."""

from __future__ import annotations

import numpy as np

from xladoctor.frontends.vocabulary import part_of
from xladoctor.ingest.interface import Ingested, Interned
from xladoctor.ingest.timeline.breakdown import step_of
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import Times
from xladoctor.ingest.timeline.steps import Steps


def add_compiled_parts(
    timeline: Timeline, steps: Steps | None, numbers: Times | None, process: int,
    ingested: Ingested,
) -> None:  # fmt: skip
    """Fill ``compiled_part``, if such calls are in the timeline, in order of time."""
    names = timeline.events.names
    parts = {name: part for name in names if (part := part_of(name))}
    if not parts:
        return
    chosen = timeline.choice(parts)
    found = [(line, timeline.chosen(line, chosen)) for plane in timeline.hosts
             for line in plane.lines]  # fmt: skip
    begin = np.concatenate([timeline.begins(*each) for each in found])
    end = np.concatenate([timeline.ends(*each) for each in found])
    name = np.concatenate([timeline.events.name[line.events][which] for line, which in found])
    order = np.lexsort((begin - end, begin))
    begin, end, name = begin[order], end[order], name[order]
    step = step_of(steps, numbers, begin)
    texts = [parts.get(each, "") for each in names]
    ingested.append("compiled_part", {
        "process": np.full(len(begin), process),
        "compile_id": Interned(name.astype(np.int32), texts),
        "step": np.ma.masked_array(step, step < 0), "begin_ns": begin, "duration_ns": end - begin,
    })  # fmt: skip
