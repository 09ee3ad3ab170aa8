"""Reads the events of a Chrome trace, in compiled loops over the bytes of the file.

Texts are interned by their bytes, so that only distinct ones become objects. What is not JSON is
skipped up to the next event, or the end of the file.

msgspec, typed and with raw ``args``, is not used: from 54 to 118 MB it makes objects in 0.15 to
0.6 s, where this makes columns in 0.12 to 0.4 s; its objects and the file take 2.8 to 5.4 times the
file's size; it reads instants as floats; and it reads nothing of a file that is cut off.
"""

# mypy: disable-error-code="no-any-return, return-value, assignment, arg-type"
from __future__ import annotations

import numpy as np

from xladoctor.ingest.chrome.json_bytes import (
    CLOSE,
    CLOSE_LIST,
    COMMA,
    NEWLINE,
    OPEN,
    QUOTE,
    after_comma,
    after_space,
    field,
    number,
)
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.compiled import compiled, helper, helper_or
from xladoctor.ingest.xplane.wire import Array

#: Columns of a row: phase (a character), indices of texts, picoseconds, position of ``args``.
PHASE, NAME, CATEGORY, PROCESS, THREAD, START, DURATION, ARGS = range(8)
_BYTES = "Array(uint8, 1, 'C', readonly=True)"
_TABLE = "UniTuple(int64[:, ::1], 2)"  # slots and places, as in _Texts
_COLUMNS = "Tuple((int32[::1], int32[::1], uint8[::1], int64[::1]))"
_MOST_ARGUMENTS = 256
_FLOWS = (ord("s"), ord("t"), ord("f"))
_MOST_US = 9_000_000_000_000  # a hundred days, which fit in 64 bits as picoseconds


def _remainder(buffer: bytes, begin: int, end: int, prime: int) -> int:
    return int.from_bytes(buffer[begin:end], "big") % int(prime)


@helper_or(_remainder)
def _hash(buffer: Array, begin: int, end: int, prime: int) -> int:
    """A text's bytes as a number, modulo a prime."""
    code = 0
    for at in range(begin, end):
        code = (code * 256 + buffer[at]) % prime
    return code


@helper
def _slot(code: int, slots: Array) -> int:
    """The place in a hash table, whose size is a power of two, to look at first."""
    return (code % 2_147_483_629 * 1_640_531_527 >> 20) & (len(slots) - 1)


def _equal(buffer: bytes, begin: int, end: int, other: int, last: int) -> bool:
    return buffer[begin:end] == buffer[other:last]


@helper_or(_equal)
def _same(buffer: Array, begin: int, end: int, other: int, last: int) -> bool:
    at = 0 if end - begin == last - other else end
    while begin + at < end and buffer[begin + at] == buffer[other + at]:
        at += 1
    return begin + at == end


@helper
def _intern(buffer: Array, begin: int, end: int, table: tuple[Array, Array]) -> int:
    """The index of a text. The caller must make sure that the table has room."""
    slots, texts = table
    code = _hash(buffer, begin, end, texts[0, 1])
    slot = _slot(code, slots)
    while slots[slot, 0] >= 0:
        known = slots[slot, 0]
        if slots[slot, 1] == code and _same(buffer, texts[known, 0], texts[known, 1], begin, end):
            return known
        slot = (slot + 1) & (len(slots) - 1)
    number = texts[0, 0]  # row 0 counts; the texts follow
    texts[number, 0], texts[number, 1] = begin, end
    slots[slot, 0], slots[slot, 1] = number, code
    texts[0, 0] = number + 1
    return number


@helper
def _has_room(table: tuple[Array, Array], texts: int) -> bool:
    """Whether a table has room for so many more texts."""
    return table[1][0, 0] + texts < min(len(table[1]), len(table[0]) // 2)


@helper
def _picoseconds(buffer: Array, at: int, base: int) -> int:
    """Microseconds as picoseconds from a base; the lowest int64 if invalid or too far off."""
    whole, part, behind = number(buffer, at)
    if behind < 0 or abs(whole - base) > _MOST_US:
        return _UNKNOWN
    return (whole - base) * 1_000_000 + part


@helper
def _word(buffer: Array, at: int, end: int) -> int:
    """The bytes of a key of up to four characters, as a number."""
    code = 0
    if end - at > 4:
        return code
    for place in range(at, end):
        code = code * 256 + buffer[place]
    return code


_PH, _TS, _PID, _TID, _CAT, _DUR, _NAME, _ARGS = (
    int.from_bytes(key, "big")
    for key in (b"ph", b"ts", b"pid", b"tid", b"cat", b"dur", b"name", b"args")
)
_UNKNOWN = int(np.iinfo(np.int64).min)


@helper
def _token(buffer: Array, begin: int, end: int, table: tuple[Array, Array]) -> int:
    """The index of a value's text, without its quotes."""
    quoted = buffer[begin] == QUOTE
    return _intern(buffer, begin + quoted, end - quoted, table)


@helper
def _store(
    buffer: Array,
    key: int,
    begin: int,
    end: int,
    row: Array,
    table: tuple[Array, Array],
    base: wire.Ints,
) -> None:
    """Store a field of an event in its column."""
    if key == _PH:
        row[PHASE] = buffer[begin + 1]
    elif key == _NAME:
        row[NAME] = _token(buffer, begin, end, table)
    elif key == _CAT:
        row[CATEGORY] = _token(buffer, begin, end, table)
    elif key == _PID:
        row[PROCESS] = _token(buffer, begin, end, table)
    elif key == _TID:
        row[THREAD] = _token(buffer, begin, end, table)
    elif key == _ARGS:
        row[ARGS] = begin
    else:
        _time(buffer, key, begin, row, base)


@helper
def _time(buffer: Array, key: int, begin: int, row: Array, base: wire.Ints) -> None:
    if key == _DUR:
        row[DURATION] = _picoseconds(buffer, begin, 0)
    elif key == _TS and row[PHASE] != 77:  # ``ts`` of metadata (M) means nothing
        if base[0] == _UNKNOWN:
            whole, _, behind = number(buffer, begin)
            if behind > 0:
                base[0] = whole
        row[START] = _picoseconds(buffer, begin, base[0])


@helper
def _event(
    buffer: Array,
    at: int,
    row: Array,
    table: tuple[Array, Array],
    base: wire.Ints,
    damage: wire.Ints,
) -> int:
    """Read the object that opens at a position; return the position after it, -1 without an end."""
    row[:] = _UNKNOWN
    at = after_space(buffer, at + 1)
    while at < len(buffer) and buffer[at] != CLOSE:
        stop, begin, end = field(buffer, at, damage)
        if end <= begin:
            return -1
        _store(buffer, _word(buffer, at + 1, stop), begin, end, row, table, base)
        at = after_comma(buffer, end)
    return at + 1 if at < len(buffer) else -1


@helper
def _skip(buffer: Array, begin: int, damage: wire.Ints) -> int:
    """Where the next event opens after damage; -1 if none does.

    It opens at the beginning of a line, as profilers write them, or after another event.
    """
    at, apart = begin + 1, False
    while at < len(buffer) and not (apart and _opens_event(buffer, at)):
        if buffer[at] == NEWLINE or (buffer[at] == COMMA and buffer[at - 1] == CLOSE):
            apart = True
        elif buffer[at] > 32:
            apart = False
        at += 1
    damage[0] += 1
    if damage[1] < 0:
        damage[1] = begin if at < len(buffer) else len(buffer)
    return at if at < len(buffer) else -1


@helper
def _opens_event(buffer: Array, at: int) -> bool:
    key = after_space(buffer, at + 1)
    return buffer[at] == OPEN and key < len(buffer) and buffer[key] == QUOTE


@compiled(
    f"Tuple((int64, int64))({_BYTES}, int64, int64[:, ::1], {_TABLE}, int64[::1], int64[::1])",
    work=lambda buffer, at, *_: len(buffer) - at,
)
def events(
    buffer: Array,
    at: int,
    rows: Array,
    table: tuple[Array, Array],
    base: wire.Ints,
    damage: wire.Ints,
) -> tuple[int, int]:
    """Read events from a position in their list, until the list ends, or the rows or the room for
    texts are used up.

    Flows have no rows: the two ends of each have the same number in their arguments.

    Args:
        buffer: the file.
        at: the position.
        rows: one per event, filled.
        table: the texts, extended.
        base: [0] the microseconds that picoseconds count from, set at the first event.
        damage: [0] the number of skipped events, [1] the position of the first; [2], [3] the same
            for quotes that were taken as part of a text.

    Returns:
        the number of rows, and where to go on; -1 if the list ended.
    """
    count = 0
    while count < len(rows) and _has_room(table, 8):
        at = after_comma(buffer, at)
        if at < len(buffer) and buffer[at] == CLOSE_LIST:
            return count, -1
        behind = -1
        if at < len(buffer) and buffer[at] == OPEN:
            behind = _event(buffer, at, rows[count], table, base, damage)
        if behind < 0:
            behind = _skip(buffer, at, damage)
            if behind < 0:
                return count, behind
        elif rows[count, PHASE] not in _FLOWS:
            count += 1
        at = behind
    return count, at


@compiled("void(int64[:, ::1], int64[:, ::1])", work=lambda slots, larger: 10 * len(slots))
def rehash(slots: Array, larger: Array) -> None:
    """Copy the contents of a hash table to a larger empty one."""
    for slot in range(len(slots)):
        if slots[slot, 0] >= 0:
            place = _slot(slots[slot, 1], larger)
            while larger[place, 0] >= 0:
                place = (place + 1) & (len(larger) - 1)
            larger[place, 0], larger[place, 1] = slots[slot, 0], slots[slot, 1]


#: A kind of stat that :mod:`.space` converts to a number; its value is the number's position.
REAL = 9


@helper
def _arguments(
    buffer: Array,
    at: int,
    wanted: Array,
    table: tuple[Array, Array],
    columns: tuple[Array, Array, Array, Array],
    count: int,
    damage: wire.Ints,
) -> int:
    """Read one event's arguments; of very many only the first."""
    _, name, kind, value = columns
    at = after_space(buffer, at + 1)
    most = count + _MOST_ARGUMENTS // 2
    while at < len(buffer) and count < most:
        stop, begin, end = field(buffer, at, damage)
        if end <= begin:
            return count
        if len(wanted) == 0 or _is_wanted(buffer, at + 1, stop, wanted):
            name[count] = _intern(buffer, at + 1, stop, table)
            kind[count], value[count] = _stat(buffer, begin, end, table)
            count += 1
        at = after_comma(buffer, end)
    return count


@helper
def _stat(buffer: Array, begin: int, end: int, table: tuple[Array, Array]) -> tuple[int, int]:
    """(kind, value) of a value; a list or an object is taken as its text."""
    if buffer[begin] != QUOTE:
        whole, _, behind = number(buffer, begin)
        if behind == end and end - begin < 19:
            for at in range(begin, end):
                if buffer[at] == 46:
                    return REAL, begin
            return wire.INT64, whole
        if buffer[begin] == 45 or 48 <= buffer[begin] <= 57:
            return REAL, begin
    return wire.REF, _token(buffer, begin, end, table)


def _is_among(buffer: bytes, begin: int, end: int, wanted: bytes) -> bool:
    return b"\0%b\0" % buffer[begin:end] in wanted + b"\0"


@helper_or(_is_among)
def _is_wanted(buffer: Array, begin: int, end: int, wanted: Array) -> bool:
    at = 0
    while at < len(wanted):  # ``at`` is at a zero byte
        place = 0
        while (
            begin + place < end
            and at + 1 + place < len(wanted)
            and (buffer[begin + place] == wanted[at + 1 + place])
        ):
            place += 1
        at += 1 + place
        if begin + place == end and (at == len(wanted) or wanted[at] == 0):
            return True
        while at < len(wanted) and wanted[at] != 0:
            at += 1
    return False


@compiled(
    f"Tuple((int64, int64))({_BYTES}, int64[::1], int64, {_BYTES}, {_TABLE}, {_COLUMNS},"
    " int64[::1])",
    work=lambda buffer, args, at, *_: 20 * (len(args) - at),
)
def stats(
    buffer: Array,
    args: wire.Ints,
    at: int,
    wanted: Array,
    table: tuple[Array, Array],
    columns: tuple[Array, Array, Array, Array],
    damage: wire.Ints,
) -> tuple[int, int]:
    """Read the arguments of events, from the event with number ``at`` on.

    Args:
        buffer: the file.
        args: where the arguments of each event begin; negative for none.
        at: the event's number.
        wanted: the keys, each after a zero byte; empty for all.
        table: the texts, extended.
        columns: the stats' columns, filled: event, name, kind, value.
        damage: see :func:`events`.

    Returns:
        the number of rows, and the number of the event to go on with.
    """
    count = 0
    while at < len(args):
        if not _has_room(table, _MOST_ARGUMENTS) or count + _MOST_ARGUMENTS > len(columns[0]):
            break
        if args[at] >= 0 and buffer[args[at]] == OPEN:
            before = count
            count = _arguments(buffer, args[at], wanted, table, columns, count, damage)
            columns[0][before:count] = at
        at += 1
    return count, at
