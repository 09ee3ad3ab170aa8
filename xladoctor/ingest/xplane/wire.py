"""Decodes the protobuf wire format of an XSpace, in compiled loops over the bytes of the file.

Formats: ``protobuf.dev/programming-guides/encoding`` and ``tsl/profiler/protobuf/xplane.proto``.
Positions are byte offsets into the file. A length that points past the end of the enclosing message
is cut there, so that no damage makes a loop leave the file or an array outgrow it. Damage is
counted in ``damage``: [0] how often, [1] the first position, [2] the last one noted, or -1.
"""

# mypy: disable-error-code="no-any-return, return-value, assignment, arg-type"
from __future__ import annotations

from typing import Any

import numpy as np

from xladoctor.ingest.xplane.compiled import compiled, helper

Ints = np.ndarray[Any, np.dtype[np.int64]]
Array = np.ndarray[Any, Any]
_BYTES = "Array(uint8, 1, 'C', readonly=True)"

# Kinds of a stat's value, which are the field numbers of XStat; and our own kinds of rows: the
# metadata id of an event without a name, the number of events that an event sums up, and the
# metadata id of the previous row's stat, which has no name.
DOUBLE, UINT64, INT64, STR, BYTES, REF, COMPRESSED = 2, 3, 4, 5, 6, 7, 8
NAMELESS, OCCURRENCES, UNKNOWN_STAT = 100, 101, 102


def no_damage() -> Ints:
    """A count of no damage yet."""
    return np.array([0, -1, -1], np.int64)


@helper
def _damaged(damage: Ints, position: int, end: int, size: int) -> None:
    """Note damage at a position in a message that ends at ``end``; if that is the end of the file,
    the file is cut off there.
    """
    if end == size:
        position = size
    if position == damage[2]:
        return
    damage[2] = position
    damage[0] += 1
    if damage[1] < 0 or position < damage[1]:
        damage[1] = position


@helper
def _varint(buffer: Array, at: int, end: int) -> tuple[int, int]:
    """(value as int64, next position), or (0, -1) if none ends before ``end``."""
    if at < end and buffer[at] < 128:
        return buffer[at] & 127, at + 1
    value, shift = 0, 0
    while at < end and shift < 70:
        byte = buffer[at] & 255
        at += 1
        value |= (-(byte & 1) if shift == 63 else byte & 127) << shift  # bit 63 is the sign
        if byte < 128:
            return value, at
        shift += 7
    return 0, -1


@helper
def _skip(buffer: Array, at: int, end: int, wire: int) -> int:
    """The position after a value of this wire type, or -1 if it is incomplete."""
    if wire == 0:
        _, at = _varint(buffer, at, end)
        return at
    length = -1
    if wire == 1:
        length = 8
    elif wire == 5:
        length = 4
    elif wire == 2:
        length, at = _varint(buffer, at, end)
        if at < 0:
            return -1
    if length < 0 or length > end - at:
        return -1
    return at + length


@compiled(
    f"Tuple((int64, int64))({_BYTES}, int64, int64, int64[:, ::1], int64[::1])",
    work=lambda buffer, at, end, rows, damage: len(rows),
)
def fields(buffer: Array, at: int, end: int, rows: Array, damage: Ints) -> tuple[int, int]:
    """Write the fields of a message to ``rows``: number, wire type, value or start, end.

    Returns their number, and the position after the last: ``end``, unless ``rows`` was too small.
    """
    count = 0
    while at < end and count < len(rows):
        tag, value_at = _varint(buffer, at, end)
        if value_at < 0 or tag >> 3 <= 0:
            _damaged(damage, at, end, len(buffer))
            return count, end
        wire = tag & 7
        rows[count, 0], rows[count, 1] = tag >> 3, wire
        if wire == 0:
            rows[count, 2], behind = _varint(buffer, value_at, end)
            rows[count, 3] = behind
        elif wire == 2:
            length, start = _varint(buffer, value_at, end)
            behind = start + length
            if start >= 0 and (length < 0 or length > end - start):
                _damaged(damage, at, end, len(buffer))
                behind = end
            rows[count, 2], rows[count, 3] = start, behind
            if start < 0:
                behind = -1
        else:
            rows[count, 2] = value_at
            behind = _skip(buffer, value_at, end, wire)
            rows[count, 3] = behind
        if behind < 0:
            _damaged(damage, at, end, len(buffer))
            return count, end
        count += 1
        at = behind
    return count, at


@compiled(
    f"int64({_BYTES}, int64, int64, int64[::1], int64, int64[::1])",
    work=lambda buffer, at, end, *_: (end - at) // 8,
)
def count_events(buffer: Array, at: int, end: int, header: Ints, stride: int, marks: Ints) -> int:
    """Count a line's events.

    ``header`` is filled with its other fields: id, timestamp_ns, duration_ps, display_id, then
    begin and end of its name and display name; ``marks`` with the position of each ``stride``-th
    event.
    """
    count = 0
    while at < end:
        begin = at
        tag, at = _varint(buffer, at, end)
        if at < 0:
            break
        if tag == 0x22:  # 4: events
            length, at = _varint(buffer, at, end)
            if at < 0:
                break
            if count % stride == 0:
                marks[count // stride] = begin
            count += 1
            if length < 0 or length > end - at:
                break
            at += length
        elif tag == 0x08 or tag == 0x18 or tag == 0x48 or tag == 0x50:  # noqa: PLR1714
            value, at = _varint(buffer, at, end)
            if at < 0:
                break
            slot = 0 if tag == 0x08 else 1 if tag == 0x18 else 2 if tag == 0x48 else 3
            header[slot] = value
        else:
            start = at
            at = _skip(buffer, at, end, tag & 7)
            if at < 0:
                break
            if tag == 0x12 or tag == 0x5A:  # noqa: PLR1714  # 2: name, 11: display_name
                _, start = _varint(buffer, start, end)
                slot = 4 if tag == 0x12 else 6
                header[slot], header[slot + 1] = start, at
    return count


@helper
def _stat(buffer: Array, at: int, stop: int, damage: Ints) -> tuple[int, int, int]:
    """One XStat: metadata id, kind (0 without a value) and value.

    The value is an integer, the bits of a double, or the position of a text's length.
    """
    identity, kind, value = 0, 0, 0
    while at < stop:
        begin = at
        tag, at = _varint(buffer, at, stop)
        if at < 0:
            pass
        elif tag == 0x08:  # 1: metadata_id
            identity, at = _varint(buffer, at, stop)
        elif tag == 0x18 or tag == 0x20 or tag == 0x38:  # 3: uint64, 4: int64, 7: ref  # noqa: PLR1714
            value, at = _varint(buffer, at, stop)
            kind = tag >> 3
        elif tag == 0x11 and stop - at >= 8:  # 2: double
            value = -1 if buffer[at + 7] > 127 else 0  # the sign
            for byte in range(7, -1, -1):
                value = (value << 8) | (buffer[at + byte] & 255)
            kind, at = DOUBLE, at + 8
        elif tag == 0x2A or tag == 0x32 or tag == 0x42:  # 5: str, 6: bytes, 8: gzip  # noqa: PLR1714
            behind = _skip(buffer, at, stop, 2)
            if behind >= 0:
                kind, value = tag >> 3, at
            at = behind
        else:
            at = _skip(buffer, at, stop, tag & 7)
        if at < 0:
            _damaged(damage, begin, stop, len(buffer))
            break
    return identity, kind, value


@helper
def _name(metadata: int, names: tuple[Array, Ints, Array]) -> int:
    """The index of a name: from the table if the id is small, else by search; -1 for none."""
    table, ids, indices = names
    if 0 <= metadata < len(table):
        return table[metadata]
    low, high = 0, len(ids)
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < metadata:
            low = middle + 1
        else:
            high = middle
    if low < len(ids) and ids[low] == metadata:
        return indices[low]
    return -1


@helper
def _next_event(buffer: Array, at: int, end: int, damage: Ints) -> tuple[int, int]:
    """Begin and end of the next event's message in a line; -1 if there is none."""
    while at < end:
        begin = at
        tag, at = _varint(buffer, at, end)
        if at >= 0 and tag != 0x22:  # 4: events
            at = _skip(buffer, at, end, tag & 7)
            if at >= 0:
                continue
        length = 0
        if at >= 0:
            length, at = _varint(buffer, at, end)
        if at < 0:
            _damaged(damage, begin, end, len(buffer))
            return -1, -1
        if length < 0 or length > end - at:
            _damaged(damage, begin, end, len(buffer))
            return at, end
        return at, at + length
    return -1, -1


@helper
def _add(
    stats: tuple[Array, Array, Array, Ints], row: int, event: int, name: int, kind: int, value: int
) -> int:
    """Fill a row of the stats; return the number of the next."""
    events, names, kinds, values = stats
    events[row], names[row], kinds[row], values[row] = event, name, kind, value
    return row + 1


@helper
def _add_stat(
    buffer: Array,
    at: int,
    end: int,
    names: tuple[Array, Ints, Array],
    wanted: Array,
    stats: tuple[Array, Array, Array, Ints],
    row: int,
    event: int,
    damage: Ints,
) -> int:
    """Add the rows of an event's stat, if it is wanted; return the number of the next row."""
    identity, kind, value = _stat(buffer, at, end, damage)
    known = 0 <= identity < len(wanted)
    if kind == 0 or (known and not wanted[identity]):
        return row
    name = _name(identity, names)
    if kind == REF:
        value = _name(value, names)
    row = _add(stats, row, event, name, kind, value)
    if name < 0:
        row = _add(stats, row, event, -1, UNKNOWN_STAT, identity)
    return row


@helper
def _event(
    buffer: Array,
    at: int,
    end: int,
    lookups: tuple[tuple[Array, Ints, Array], tuple[Array, Ints, Array], Array],
    columns: tuple[Array, Ints, Ints],
    event: int,
    number: int,
    stats: tuple[Array, Array, Array, Ints],
    row: int,
    damage: Ints,
) -> int:
    """Fill an event's place in the columns, and its rows of the stats; return the number of the
    next row.
    """
    names, stat_names, wanted = lookups
    metadata, offset, lasted, occurrences = 0, 0, 0, 0
    repeated = False
    while at < end:
        begin = at
        tag, at = _varint(buffer, at, end)
        if at < 0:
            pass
        elif tag == 0x08:  # 1: metadata_id
            metadata, at = _varint(buffer, at, end)
        elif tag == 0x10:  # 2: offset_ps
            offset, at = _varint(buffer, at, end)
            repeated = False
        elif tag == 0x18:  # 3: duration_ps
            lasted, at = _varint(buffer, at, end)
        elif tag == 0x28:  # 5: num_occurrences, in place of an offset
            occurrences, at = _varint(buffer, at, end)
            repeated, offset = True, 0
        else:
            inside = at
            at = _skip(buffer, at, end, tag & 7)
            if at >= 0 and tag == 0x22:  # 4: stats
                _, inside = _varint(buffer, inside, end)
                row = _add_stat(buffer, inside, at, stat_names, wanted, stats, row, number, damage)
        if at < 0:
            _damaged(damage, begin, end, len(buffer))
            break
    name, start, duration = columns
    name[event], start[event], duration[event] = _name(metadata, names), offset, lasted
    if name[event] < 0:
        row = _add(stats, row, number, -1, NAMELESS, metadata)
    if repeated:
        row = _add(stats, row, number, -1, OCCURRENCES, occurrences)
    return row


@compiled(
    f"UniTuple(int64, 2)({_BYTES}, int64, int64, Tuple((int32[::1], int64[::1], int32[::1])),"
    " Tuple((int32[::1], int64[::1], int32[::1])), uint8[::1],"
    " Tuple((int32[::1], int64[::1], int64[::1])), int64,"
    " Tuple((int32[::1], int32[::1], uint8[::1], int64[::1])), int64[::1])",
    work=lambda buffer, at, end, *_: end - at,
)
def decode_events(
    buffer: Array,
    at: int,
    end: int,
    names: tuple[Array, Ints, Array],
    stat_names: tuple[Array, Ints, Array],
    wanted: Array,
    columns: tuple[Array, Ints, Ints],
    first: int,
    stats: tuple[Array, Array, Array, Ints],
    damage: Ints,
) -> tuple[int, int]:
    """Decode events of a line into columns, and their stats into columns of their own.

    Args:
        buffer: the file.
        at: where the first event begins.
        end: end of the line, or of the last event.
        names: index of a name by event metadata id, -1 for none; sorted ids, and the index of each
            id's name, beyond the table.
        stat_names: the same by stat metadata id.
        wanted: by stat metadata id, whether it gets a row; ids beyond its end do.
        columns: filled with each event's name (-1, and a row NAMELESS, for none), its picoseconds
            from the line's origin, and its duration in picoseconds. Decoding stops when they are
            full.
        first: number in the file of the first of these events.
        stats: filled with the event's number, name, kind and value; the value is an integer, the
            bits of a double, the position of a text's length, or the index of the name referred
            to. They need room for a row per two bytes, and two per event.
        damage: the count of damage.

    Returns:
        The numbers of events and of stats.
    """
    lookups = names, stat_names, wanted
    event = stat = 0
    while event < len(columns[0]):
        at, behind = _next_event(buffer, at, end, damage)
        if at < 0:
            break
        stat = _event(
            buffer, at, behind, lookups, columns, event, first + event, stats, stat, damage
        )
        at = behind
        event += 1
    return event, stat
