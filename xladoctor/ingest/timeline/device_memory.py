"""Reads how much memory of a device was in use, from the allocator's events of the host.

As XProf does (``xplane_to_memory_profile.cc``): ``MemoryAllocation`` and ``MemoryDeallocation``
have the number of the device on its host, the most that was ever in use, and what is allocated,
reserved (for the stack of programs) and free.
"""

from __future__ import annotations

import re

import numpy as np

from xladoctor.ingest.timeline.clock import MEMORY, Timeline
from xladoctor.ingest.timeline.executions import matched

_EVENTS = ("MemoryAllocation", "MemoryDeallocation")
_DEVICE, _PEAK, *_ALL = MEMORY
_NUMBER = re.compile(r"/device:TPU:(\d+)")


def memory_in_use(timeline: Timeline) -> dict[str, tuple[int, int]]:
    """Plane of a device -> the most of its memory that was in use, and all of it, in bytes."""
    events = [line.first + timeline.named(line, *_EVENTS) for line in timeline.threads]
    event = np.concatenate([np.empty(0, np.int64), *events])
    rows = {stat: timeline.events.rows_of(stat) for stat in MEMORY}
    values = {stat: matched(event, each.event, each.value) for stat, each in rows.items()}
    known = np.all([value >= 0 for value in values.values()], axis=0)
    found = {}
    for plane in timeline.space.planes:
        number = _NUMBER.fullmatch(plane.name)
        own = known & (values[_DEVICE] == int(number[1])) if number else known[:0]
        if own.any():
            whole = sum(values[stat][own] for stat in _ALL)
            found[plane.name] = int(values[_PEAK][own].max()), int(np.max(whole))
    return found
