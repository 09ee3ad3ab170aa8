"""Computes how the events of a line nest: depth, self time and enclosing event."""

from __future__ import annotations

import numpy as np

from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.compiled import compiled
from xladoctor.ingest.xplane.events import Events
from xladoctor.ingest.xplane.space import Space


@compiled(
    "void(int64[::1], int64[::1], int16[::1], int64[::1], int64[::1])",
    work=lambda start, *_: 20 * len(start),
)
def _nest(
    start: wire.Ints, duration: wire.Ints, depth: wire.Array, own: wire.Ints, parent: wire.Ints
) -> None:
    stack = np.empty(len(start), np.int64)  # pages never written cost no memory
    ends = np.empty(len(start), np.int64)
    height = 0
    for event in range(len(start)):
        begin = start[event]
        while height > 0 and ends[height - 1] <= begin:
            height -= 1
        end = begin + duration[event]
        if height > 0:
            end = min(end, ends[height - 1])
            own[stack[height - 1]] -= end - begin
            parent[event] = stack[height - 1]
        else:
            parent[event] = -1
        own[event] = end - begin
        depth[event] = min(height, 32767)
        if end > begin:
            stack[height], ends[height] = event, end
            height += 1


def ordered(start: wire.Ints, duration: wire.Ints) -> wire.Array | None:
    """The order by start, longer events first; None if the line is in this order, as most are."""
    if len(start) < 2:
        return None
    later = start[1:] > start[:-1]
    if later.all() or (later | ((start[1:] == start[:-1]) & (duration[1:] <= duration[:-1]))).all():
        return None
    return np.lexsort((-duration, start))


def in_order(start: wire.Ints, end: wire.Ints, *columns: wire.Array) -> tuple[wire.Array, ...]:
    """Events by start, longer ones first: their starts, ends, and other columns."""
    order = ordered(start, end - start)
    given = start, end, *columns
    return given if order is None else tuple(column[order] for column in given)


def nest(start: wire.Ints, duration: wire.Ints) -> tuple[wire.Array, wire.Ints, wire.Ints]:
    """Depth, self time and enclosing event of each event of one line.

    An event encloses the events that begin before its end, and ends no later than the one that
    encloses it. Depth is the number of enclosing events; self time is the duration without the
    events directly in it; the enclosing event is a number in the line, -1 for none. Results have
    the units of the arguments.
    """
    order = ordered(start, duration)
    count = len(start)
    depth, own, parent = (
        np.empty(count, np.int16),
        np.empty(count, np.int64),
        np.empty(count, np.int64),
    )
    if order is None:
        _nest(np.ascontiguousarray(start), np.ascontiguousarray(duration), depth, own, parent)
        return depth, own, parent
    _nest(start[order], duration[order], depth, own, parent)
    place = np.argsort(order)
    return depth[place], own[place], np.where(parent < 0, -1, order[parent])[place]


def innermost(
    begin: wire.Ints, end: wire.Ints, parent: wire.Ints, instants: wire.Ints
) -> wire.Ints:
    """The number of the innermost event at each instant; -1 for none.

    Args:
        begin: the events' begins, in order; of equal ones the enclosing event first.
        end: the events' ends.
        parent: the enclosing event of each, from :func:`nest`.
    """
    at = np.asarray(np.searchsorted(begin, instants, side="right") - 1, np.int64)
    ends, parents = np.append(end, 0), np.append(parent, -1)
    while len(over := np.flatnonzero((at >= 0) & (ends[at] <= instants))):
        at[over] = parents[at[over]]
    return at


def nest_all(space: Space, events: Events) -> tuple[wire.Array, wire.Ints]:
    """Depth and self time (picoseconds) of all events of a file."""
    depth = np.empty(len(events.name), np.int16)
    own = np.empty(len(events.name), np.int64)
    for line in space.lines:
        part = line.events
        depth[part], own[part], _ = nest(events.start_ps[part], events.duration_ps[part])
    return depth, own
