"""Encodes events as protobuf, in compiled loops: five million per second.

Formats: ``perfetto/trace/track_event/track_event.proto`` of Perfetto and
``tsl/profiler/protobuf/xplane.proto``.
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import numpy as np

from xladoctor.ingest.xplane.compiled import compiled, helper
from xladoctor.ingest.xplane.wire import Array, Ints

#: The most bytes that one packet takes, and one XEvent.
PACKET, XEVENT = 48, 36
_BEGIN, _END = 1, 2  # of TrackEvent.Type
_NEEDS_NAMES = 2  # SEQ_NEEDS_INCREMENTAL_STATE


@helper
def _varint(out: Array, at: int, value: int) -> int:
    """Write a number; return the position after it."""
    rest = np.uint64(value)
    while rest > 127:
        out[at] = np.uint8(rest & np.uint64(127) | np.uint64(128))
        rest >>= np.uint64(7)
        at += 1
    out[at] = np.uint8(rest)
    return at + 1


@helper
def _packet(
    out: Array, at: int, instant: int, kind: int, sequence: int, track: int, name: int
) -> int:
    """Write a TracePacket with a TrackEvent; return the position after it."""
    out[at] = 0x0A  # Trace.packet
    begin = at + 2
    out[begin] = 0x40  # 8: timestamp
    at = _varint(out, begin + 1, instant)
    out[at] = 0x50  # 10: trusted_packet_sequence_id
    at = _varint(out, at + 1, sequence)
    out[at], out[at + 1] = 0x68, _NEEDS_NAMES  # 13: sequence_flags
    out[at + 2] = 0x5A  # 11: track_event
    inner = at + 4
    out[inner], out[inner + 1] = 0x48, kind  # 9: type
    out[inner + 2] = 0x58  # 11: track_uuid
    at = _varint(out, inner + 3, track)
    if name > 0:
        out[at] = 0x50  # 10: name_iid
        at = _varint(out, at + 1, name)
    out[inner - 1] = at - inner
    out[begin - 1] = at - begin
    return at


@compiled("int64(int64[::1], int64[::1], int64[::1], boolean, boolean[::1])")
def fitting(begin: Ints, duration: Ints, ends: Ints, cut: bool, fits: Array) -> int:
    """Find the slices of a row, in order of time and longer first, that nest.

    Args:
        begin: begins of the slices.
        duration: their durations.
        ends: room for the ends of open slices.
        cut: whether to end a slice that reaches beyond the enclosing one together with that.
        fits: filled with whether each nests.

    Returns:
        How many do not nest, or were cut.
    """
    height, over = 0, 0
    for event in range(len(begin)):
        start = begin[event]
        end = start + duration[event]
        while height > 0 and ends[height - 1] <= start:
            height -= 1
        fits[event] = True
        if height > 0 and end > ends[height - 1]:
            over += 1
            if not cut:
                fits[event] = False
                continue
            end = ends[height - 1]
            duration[event] = end - start
        ends[height] = end
        height += 1
    return over


@compiled(
    "UniTuple(int64, 3)(int32[::1], int64[::1], int64[::1], int64, int64, int64, int64[::1],"
    " int64, int64, uint8[::1])"
)
def packets(
    name: Array,
    begin: Ints,
    duration: Ints,
    origin: int,
    sequence: int,
    track: int,
    ends: Ints,
    at: int,
    height: int,
    out: Array,
) -> tuple[int, int, int]:
    """Write the begins and ends of slices that nest, in order of time, until ``out`` is full.

    Compiled loops take columns and cursors one by one, hence so many.

    Args:
        name: index of each slice's name, -1 for none; interned as the number after it.
        begin, duration: picoseconds, the begin from the origin, which is in nanoseconds.
        ends: of the slices that are open, with room for all.
        at: the next slice.
        height: how many are open.

    Returns:
        The next slice, how many are open, and how many bytes were written. All is written once
        no slice is left and none is open.
    """
    used = 0
    while used + PACKET <= len(out) and (at < len(name) or height > 0):
        if height > 0 and (at == len(name) or ends[height - 1] <= begin[at]):
            height -= 1
            instant = max(0, origin + ends[height] // 1000)
            used = _packet(out, used, instant, _END, sequence, track, 0)
        else:
            instant = max(0, origin + begin[at] // 1000)
            used = _packet(out, used, instant, _BEGIN, sequence, track, name[at] + 1)
            ends[height] = begin[at] + duration[at]
            height += 1
            at += 1
    return at, height, used


@compiled("int64(int32[::1], int64[::1], int64[::1], uint8[::1])")
def xevents(name: Array, begin: Ints, duration: Ints, out: Array) -> int:
    """Write slices as the events of an XLine; returns how many bytes.

    Args:
        name: index of each slice's name, -1 for none; its metadata has the number after it.
        begin: picoseconds from the line's origin.
        duration: picoseconds.
        out: room for :data:`XEVENT` bytes each.
    """
    used = 0
    for event in range(len(name)):
        out[used] = 0x22  # XLine.events
        start = used + 2
        out[start] = 0x08  # 1: metadata_id
        used = _varint(out, start + 1, name[event] + 1)
        out[used] = 0x10  # 2: offset_ps
        used = _varint(out, used + 1, begin[event])
        out[used] = 0x18  # 3: duration_ps
        used = _varint(out, used + 1, duration[event])
        out[start - 1] = used - start
    return used
