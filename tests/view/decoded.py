"""A Perfetto trace read back, with the messages that Perfetto publishes."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from pathlib import Path

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

_CLEARED, _NEEDS_NAMES = 1, 2
_BEGIN, _END, _COUNTER = 1, 2, 4


@dataclass
class Track:
    """A track: name, parent, and slices as (name, begin, duration, depth) in nanoseconds.

    Attributes:
        kind: process, thread, counter or track.
    """

    name: str
    parent: int
    kind: str
    pid: int = 0
    slices: list[tuple[str, int, int, int]] = field(default_factory=list)
    values: list[tuple[int, int]] = field(default_factory=list)


def decoded(path: Path) -> dict[int, Track]:
    """The tracks by number. Fails where Perfetto would drop something."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    tracks: dict[int, Track] = {}
    names: dict[int, dict[int, str]] = {}
    opened: dict[int, list[tuple[str, int]]] = {}
    for packet in perfetto.Trace.FromString(content).packet:
        sequence = packet.trusted_packet_sequence_id
        if packet.HasField("track_descriptor"):
            _describe(packet.track_descriptor, tracks)
        if packet.sequence_flags & _CLEARED:
            names[sequence] = {}
        for entry in packet.interned_data.event_names:
            assert names[sequence].setdefault(entry.iid, entry.name) == entry.name
        if packet.HasField("track_event"):
            event, at = packet.track_event, packet.timestamp
            track, stack = tracks[event.track_uuid], opened.setdefault(event.track_uuid, [])
            if event.type == _COUNTER:
                assert track.kind == "counter"
                track.values.append((at, event.counter_value))
            elif event.type == _BEGIN:
                assert packet.sequence_flags & _NEEDS_NAMES
                assert not stack or stack[-1][1] <= at
                name = names[sequence][event.name_iid] if event.HasField("name_iid") else ""
                stack.append((name, at))
            else:
                assert event.type == _END
                name, begin = stack.pop()
                track.slices.append((name, begin, at - begin, len(stack)))
    assert not any(opened.values()), "slices without an end"
    return tracks


def _describe(descriptor: perfetto.TrackDescriptor, tracks: dict[int, Track]) -> None:
    assert descriptor.uuid not in tracks
    assert not descriptor.parent_uuid or descriptor.parent_uuid in tracks
    kind = next(
        (kind for kind in ("process", "thread", "counter") if descriptor.HasField(kind)), "track"
    )
    name = descriptor.name or descriptor.process.process_name or descriptor.thread.thread_name
    pid = descriptor.process.pid or descriptor.thread.pid
    tracks[descriptor.uuid] = Track(name, descriptor.parent_uuid, kind, pid)


def named(tracks: dict[int, Track], name: str) -> Track:
    """The one track whose name begins so."""
    (found,) = (track for track in tracks.values() if track.name.startswith(name))
    return found
