"""The protobuf wire format of an XSpace, in compiled loops over the bytes of the file.

Formats: ``protobuf.dev/programming-guides/encoding`` and ``tsl/profiler/protobuf/xplane.proto``.
Positions are byte offsets into the file. A length that points past the end of what holds it is cut
there, so that no damage makes a loop leave the file or an array grow beyond the file's size. Damage
is counted in ``damage``: [0] how often, [1] the first position, [2] the last one noted, or -1.
"""

# mypy: disable-error-code="no-any-return, return-value, assignment, arg-type"
from __future__ import annotations

from typing import Any

import numpy as np

from xladoctor.ingest.xplane.compiled import compiled, helper

Ints = np.ndarray[Any, np.dtype[np.int64]]
Array = np.ndarray[Any, Any]
_BYTES = "Array(uint8, 1, 'C', readonly=True)"

# Kinds of a stat's value, which are the field numbers of XStat; and two kinds of our own.
DOUBLE, UINT64, INT64, STR, BYTES, REF, COMPRESSED = 2, 3, 4, 5, 6, 7, 8
NAMELESS, OCCURRENCES = 100, 101


@helper
def _damaged(damage: Ints, position: int, end: int, size: int) -> None:
    """Note damage at a position of what ends at ``end``; at the file's end it is a cut, there."""
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
    """(value as int64, next position), or (0, -1) where none ends before ``end``."""
    if at < end and buffer[at] < 128:
        return np.int64(buffer[at]), at + 1
    value, shift = np.int64(0), np.int64(0)
    while at < end and shift < 70:
        byte = np.int64(buffer[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return np.int64(0), np.int64(-1)


@helper
def _skip(buffer: Array, at: int, end: int, wire: int) -> int:
    """The position behind a value of this wire type, or -1 where it is not whole."""
    if wire == 0:
        _, at = _varint(buffer, at, end)
        return at
    length = np.int64(-1)
    if wire == 1:
        length = np.int64(8)
    elif wire == 5:
        length = np.int64(4)
    elif wire == 2:
        length, at = _varint(buffer, at, end)
        if at < 0:
            return np.int64(-1)
    if length < 0 or length > end - at:
        return np.int64(-1)
    return at + length


@compiled(f"Tuple((int64, int64))({_BYTES}, int64, int64, int64[:, ::1], int64[::1])")
def fields(buffer: Array, at: int, end: int, found: Array, damage: Ints) -> tuple[int, int]:
    """The fields of one message: rows (number, wire type, value or start, end) in ``found``.

    Returns how many, and the position behind the last: ``end``, unless ``found`` was too small.
    """
    count = 0
    while at < end and count < len(found):
        tag, value_at = _varint(buffer, at, end)
        if value_at < 0 or tag >> 3 <= 0:
            _damaged(damage, at, end, len(buffer))
            return count, end
        wire = tag & 7
        found[count, 0], found[count, 1] = tag >> 3, wire
        if wire == 0:
            found[count, 2], behind = _varint(buffer, value_at, end)
            found[count, 3] = behind
        elif wire == 2:
            length, start = _varint(buffer, value_at, end)
            behind = start + length
            if start >= 0 and (length < 0 or length > end - start):
                _damaged(damage, at, end, len(buffer))
                behind = end
            found[count, 2], found[count, 3] = start, behind
            if start < 0:
                behind = np.int64(-1)
        else:
            found[count, 2] = value_at
            behind = _skip(buffer, value_at, end, wire)
            found[count, 3] = behind
        if behind < 0:
            _damaged(damage, at, end, len(buffer))
            return count, end
        count += 1
        at = behind
    return count, at


@compiled(f"int64({_BYTES}, int64, int64, int64[::1])")
def count_events(buffer: Array, at: int, end: int, header: Ints) -> int:
    """How many events a line has.

    ``header`` takes its other fields: id, timestamp_ns, duration_ps, display_id, then begin and end
    of its name and of its display name.
    """
    count = 0
    while at < end:
        tag, at = _varint(buffer, at, end)
        if at < 0:
            break
        if tag == 0x22:  # 4: events
            length, at = _varint(buffer, at, end)
            if at < 0:
                break
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
def _stat(buffer: Array, at: int, stop: int, row: Ints, damage: Ints) -> None:
    """One XStat into ``row``: [1] metadata id, [2] kind, 0 for no value, [3] value, [4] length."""
    row[1], row[2], row[3], row[4] = 0, 0, 0, 0
    while at < stop:
        begin = at
        tag, at = _varint(buffer, at, stop)
        if at < 0:
            pass
        elif tag == 0x08:  # 1: metadata_id
            row[1], at = _varint(buffer, at, stop)
        elif tag == 0x18 or tag == 0x20 or tag == 0x38:  # 3: uint64, 4: int64, 7: ref  # noqa: PLR1714
            row[3], at = _varint(buffer, at, stop)
            row[2] = tag >> 3
        elif tag == 0x11 and stop - at >= 8:  # 2: double
            bits = np.int64(0)
            for byte in range(7, -1, -1):
                bits = (bits << 8) | np.int64(buffer[at + byte])
            row[2], row[3], at = DOUBLE, bits, at + 8
        elif tag == 0x2A or tag == 0x32 or tag == 0x42:  # 5: str, 6: bytes, 8: gzip  # noqa: PLR1714
            behind = _skip(buffer, at, stop, 2)
            if behind >= 0:
                row[4], row[3] = _varint(buffer, at, stop)
                row[2] = tag >> 3
            at = behind
        else:
            at = _skip(buffer, at, stop, tag & 7)
        if at < 0:
            _damaged(damage, begin, stop, len(buffer))
            return


@helper
def _name(metadata: int, table: Array, ids: Ints, indices: Array) -> int:
    """The index of a name: from the table where ids are small, else by search; -1 for none."""
    if 0 <= metadata < len(table):
        return np.int64(table[metadata])
    where = np.searchsorted(ids, metadata)
    if where < len(ids) and ids[where] == metadata:
        return np.int64(indices[where])
    return np.int64(-1)


@compiled(
    f"UniTuple(int64, 3)({_BYTES}, int64, int64, Tuple((int32[::1], int64[::1], int32[::1])),"
    " uint8[::1], Tuple((int32[::1], int64[::1], int64[::1])), int64, int64[:, ::1], int64,"
    " int64[::1])"
)
def decode_events(
    buffer: Array, at: int, end: int, names: tuple[Array, Ints, Array], wanted: Array,
    columns: tuple[Array, Ints, Ints], event: int, stats: Array, stat: int, damage: Ints,
) -> tuple[int, int, int]:  # fmt: skip
    """Decode the events of a line into columns, and their stats into rows.

    Args:
        buffer: the file.
        at: where to go on in the line.
        end: end of the line.
        names: index of a name by event metadata id, -1 for none; sorted ids, and the index of each
            one's name, where the table does not reach.
        wanted: by stat metadata id, whether a row is made of it; ids beyond its end are wanted.
        columns: filled with each event's name (-1, and a row NAMELESS, for none), its picoseconds
            from the line's origin, and its duration in picoseconds.
        event: how many events are filled.
        stats: filled with rows (event, stat metadata id, kind, value, length): the value is an
            integer, the bits of a double, or the position of a text of that length in bytes.
        stat: how many rows are filled.
        damage: what was damaged.

    Returns:
        ``at``, ``event`` and ``stat`` when all is done (``at`` is ``end``) or columns are full.
    """
    name, start, duration = columns
    while at < end:
        begin = at
        tag, at = _varint(buffer, at, end)
        if tag != 0x22 or at < 0:  # 4: events
            at = _skip(buffer, at, end, tag & 7) if at >= 0 else at
            if at < 0:
                _damaged(damage, begin, end, len(buffer))
                return end, event, stat
            continue
        length, at = _varint(buffer, at, end)
        if at < 0:
            _damaged(damage, begin, end, len(buffer))
            return end, event, stat
        behind = at + length
        if length < 0 or length > end - at:
            _damaged(damage, begin, end, len(buffer))
            behind = end
        if event >= len(name) or stat + (behind - at) // 2 + 2 > len(stats):
            return begin, event, stat
        metadata, offset, lasted, occurrences = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        repeated = False
        while at < behind:
            inner = at
            tag, at = _varint(buffer, at, behind)
            if at < 0:
                pass
            elif tag == 0x08:  # 1: metadata_id
                metadata, at = _varint(buffer, at, behind)
            elif tag == 0x10:  # 2: offset_ps
                offset, at = _varint(buffer, at, behind)
                repeated = False
            elif tag == 0x18:  # 3: duration_ps
                lasted, at = _varint(buffer, at, behind)
            elif tag == 0x28:  # 5: num_occurrences, in place of an offset
                occurrences, at = _varint(buffer, at, behind)
                repeated, offset = True, np.int64(0)
            else:
                size = at
                at = _skip(buffer, at, behind, tag & 7)
                if at >= 0 and tag == 0x22:  # 4: stats
                    _, size = _varint(buffer, size, behind)
                    _stat(buffer, size, at, stats[stat], damage)
                    identity = stats[stat, 1]
                    unknown = identity < 0 or identity >= len(wanted)
                    if stats[stat, 2] and (unknown or wanted[identity]):
                        stats[stat, 0] = event
                        stat += 1
            if at < 0:
                _damaged(damage, inner, behind, len(buffer))
                break
        at = behind
        index = _name(metadata, names[0], names[1], names[2])
        if index < 0:
            stats[stat, 0], stats[stat, 2], stats[stat, 3] = event, NAMELESS, metadata
            stat += 1
        if repeated:
            stats[stat, 0], stats[stat, 2], stats[stat, 3] = event, OCCURRENCES, occurrences
            stat += 1
        name[event], start[event], duration[event] = index, offset, lasted
        event += 1
    return at, event, stat
