"""Counts how kernels were launched: by a call each, or as parts of recorded graphs.

For timelines that join calls of the host with the work that they led to, or that name the recorded
graph of a kernel. Such a graph (CUDA graphs, HIP graphs) is launched by one call, however many
kernels it has.
"""

from __future__ import annotations

import re

import numpy as np

from xladoctor.ingest.interface import Interned, ProcessRows
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.devices import COPIES, Device, working
from xladoctor.ingest.timeline.intervals import Times
from xladoctor.ingest.timeline.reading import Reading
from xladoctor.ingest.xplane import wire

_OF_GRAPHS = re.compile(r"(cuda|cu|hip)GraphLaunch.*")
_GRAPH, _CALL, _UNKNOWN = 0, 1, -1
_HOW = ["graph", "call"]


def launches_graph(name: str) -> bool:
    """Whether an event of this name is a call that launches a recorded graph."""
    return _OF_GRAPHS.fullmatch(name) is not None


def add_launches(reading: Reading) -> None:
    """Fill ``device_launch``, if the timeline joins calls with kernels or names recorded graphs."""
    timeline = reading.timeline
    in_graphs = timeline.space.in_graphs(timeline.events)
    if timeline.space.joins_calls:
        caller, how = _callers(timeline)
    elif len(in_graphs):  # otherwise it is unknown whether graphs would be named
        caller, how = _numbered(timeline)
    else:
        return
    how[in_graphs] = _GRAPH
    planes = {plane.name: plane for plane in timeline.space.planes}
    working_names = ~timeline.beginning(*COPIES)
    for device in reading.devices:
        for line in working(planes[device.name]) if device.name in planes else ():
            which = timeline.chosen(line, working_names)
            step = reading.step_of(timeline.begins(line, which))
            _add(device, step, caller[line.events][which], how[line.events][which], reading.rows)


def _callers(timeline: Timeline) -> tuple[wire.Ints, wire.Ints]:
    """For each event, the number of the call that led to it, or -1, and how it was launched."""
    space, events = timeline.space, timeline.events
    caller, how = (np.full(len(events.name), _UNKNOWN, np.int64) for _ in range(2))
    calls, works = space.joined(events)
    of_graphs = timeline.choice(filter(launches_graph, events.names))
    caller[works] = calls
    how[works] = np.where(of_graphs[events.name[calls]], _GRAPH, _CALL)
    return caller, how


def _numbered(timeline: Timeline) -> tuple[wire.Ints, wire.Ints]:
    """As :func:`_callers`, if calls only have numbers."""
    caller, how = (np.full(len(timeline.events.name), _UNKNOWN, np.int64) for _ in range(2))
    works, numbers = timeline.space.numbers_of_calls(timeline.events)
    caller[works] = numbers
    how[works] = _CALL
    return caller, how


def _add(device: Device, step: Times, caller: wire.Ints, how: wire.Ints, rows: ProcessRows) -> None:
    """Add the kernels of one line; a call counts in the step in which its first kernel ran."""
    first = np.zeros(len(caller), bool)
    first[np.unique(caller, return_index=True)[1]] = True
    first &= caller >= 0
    keys, where = np.unique((step + 1) * 3 + how + 1, return_inverse=True)
    own, way = keys // 3 - 1, keys % 3 - 1
    rows.append(
        "device_launch",
        {
            "device": np.full(len(keys), device.number),
            "step": np.ma.masked_array(own, own < 0),
            "how": Interned(way.astype(np.int32), _HOW),
            "kernels": np.bincount(where),
            "calls": np.bincount(where, first).astype(np.int64),
        },
    )
