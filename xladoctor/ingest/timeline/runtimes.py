"""Checks whether the calls are supported with which the host of a timeline drives its devices.

Their names show which of them wait. With unknown names, a host that waits all the time looks like
one that never does.
"""

from __future__ import annotations

from collections.abc import Sequence

from xladoctor.frontends.vocabulary import of_known_runtime, strange_runtime
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.devices import Device

UNNAMED = "calls that are not in the trace"


def not_understood(timeline: Timeline, devices: Sequence[Device]) -> str | None:
    """The runtime that drives the devices, if its calls are not supported. None if they are, if
    only the CPU works, or if the file does not join calls with work.
    """
    space, events = timeline.space, timeline.events
    if not space.joins_calls or any(map(of_known_runtime().fullmatch, events.names)):
        return None
    if name := strange_runtime(space.categories):
        return name
    if all(device.kind == "CPU" for device in devices):
        return None
    calls, _ = space.joined(events)
    return f"calls such as {events.names[int(events.name[calls[0]])]}" if len(calls) else UNNAMED
