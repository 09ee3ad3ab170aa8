"""Reads the events of a Chrome trace, in compiled loops over the bytes of the file.

Texts are interned by their bytes, so that only distinct ones become objects. Instants are read as
decimals: microseconds of the wall clock with nanoseconds after the point have more digits than a
float. What is not JSON is skipped up to the next event, or the end of the file. An unescaped quote
is taken as part of its text if what comes next cannot follow a text.

msgspec, typed and with raw ``args``, is not used: from 54 to 118 MB it makes objects in 0.15 to
0.6 s, where this makes columns in 0.12 to 0.4 s; its objects and the file take 2.8 to 5.4 times the
file's size; it reads instants as floats; and it reads nothing of a file that is cut off. The loops
stay in one file because each inlines those above it.
"""

# mypy: disable-error-code="no-any-return, return-value, assignment, arg-type"
from __future__ import annotations

import re
from typing import Any

import numpy as np

from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.compiled import compiled, helper, helper_or

Array = np.ndarray[Any, Any]
#: Columns of a row: phase (a character), indices of texts, picoseconds, position of ``args``.
PHASE, NAME, CATEGORY, PROCESS, THREAD, START, DURATION, ARGS = range(8)
_BYTES = "Array(uint8, 1, 'C', readonly=True)"
_TABLE = "UniTuple(int64[:, ::1], 2)"  # slots and places, as in _Texts
_COLUMNS = "Tuple((int32[::1], int32[::1], uint8[::1], int64[::1]))"
_MOST_ARGUMENTS = 256
_QUOTE, _BACKSLASH, _NEWLINE, _COMMA, _COLON = 34, 92, 10, 44, 58
_KEY, _FIELD, _INNER, _ITEM = range(4)  # where a text is; fields belong to events
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = 123, 125, 91, 93
_FLOWS = (ord("s"), ord("t"), ord("f"))
_ROOM = 10**17  # one more digit still fits in 64 bits
_INNERMOST = 2**62 - 1
# What the interpreter is quick with, where the machine code looks at each byte.
_GAP = re.compile(rb"[\0- ]*+,?+[\0- ]*+")
_DECIMAL = re.compile(rb'"?(-?)([0-9]{1,18}+)(?:\.([0-9]{0,6}+))?+(?![0-9.eE])')
_IN_TEXT, _IN_VALUE = re.compile(rb'["\\\n]'), re.compile(rb'["{}[\]]')
_AFTER_VALUE = re.compile(rb'["{}[\],\x00-\x20]')
# A field without escapes and nested objects, and what follows it.
_WORD_OR_TEXT = rb'(?:"[^"\\\n]*+"|[^\0- ",{}[\]]++|\[[^"{}[\]]*+\])'
_KEY_OF_JSON = rb'"[^"\\\n]*+"[\0- ]*+:[\0- ]*+'
_OBJECT = rb"\{[\0- ]*+(?:(?:%b%b[\0- ]*+,[\0- ]*+)*+%b%b)?+[\0- ]*+\}" % (
    (_KEY_OF_JSON, _WORD_OR_TEXT) * 2
)
_FIELD_OF_JSON = re.compile(
    rb'"([^"\\\n]*+)"[\0- ]*+:[\0- ]*+(%b|%b)(?=[\0- ]*+(?:\}|,[\0- ]*+%b))'
    % (_WORD_OR_TEXT, _OBJECT, _KEY_OF_JSON)
)
_MOST_US = 9_000_000_000_000  # a hundred days, which fit in 64 bits as picoseconds


@helper
def _space(buffer: Array, at: int) -> int:
    """The next position that is not white space."""
    while at < len(buffer) and buffer[at] <= 32:
        at += 1
    return at


@helper
def _ends_text(buffer: Array, quote: int, place: int) -> bool:
    """Whether the bytes after a quote can follow a text in such a place."""
    at = _space(buffer, quote + 1)
    if at >= len(buffer):
        return True
    byte = buffer[at]
    if place == _KEY or byte == _COLON:
        return byte == _COLON and place != _FIELD
    if byte != _COMMA:
        return byte == _CLOSE_LIST if place == _ITEM else byte == _CLOSE
    return place == _ITEM or _begins_key(buffer, _space(buffer, at + 1))


@helper
def _begins_key(buffer: Array, at: int) -> bool:
    """Whether a key begins at a position, or the file ends first."""
    if at < len(buffer) and buffer[at] != _QUOTE:
        return False
    at += 1
    while at < len(buffer) and buffer[at] != _QUOTE and buffer[at] != _NEWLINE:
        at += 1
    at = _space(buffer, at + 1)
    return at >= len(buffer) or buffer[at] == _COLON


def _found_in_text(buffer: bytes, at: int) -> int:
    found = _IN_TEXT.search(buffer, at)
    return found.start() if found else len(buffer)


@helper_or(_found_in_text)
def _in_text(buffer: Array, at: int) -> int:
    """A position from which on a quote, backslash or line break is looked for."""
    return at


@helper
def _text(buffer: Array, at: int, place: int, damage: wire.Ints) -> int:
    """The position of the quote that ends the text at a position; -1 if there is none."""
    while True:
        at = _in_text(buffer, at)
        if at >= len(buffer):
            return -1
        byte = buffer[at]
        if byte == _BACKSLASH:
            at += 1
        elif byte == _QUOTE:
            if _ends_text(buffer, at, place):
                return at
            if place == _KEY:
                return -1
            damage[2] += 1
            if damage[3] < 0:
                damage[3] = at
        elif byte == _NEWLINE:
            return -1
        at += 1


def _found_in_value(buffer: bytes, at: int, depth: int) -> int:
    found = (_IN_VALUE if depth else _AFTER_VALUE).search(buffer, at)
    return found.start() if found else len(buffer)


@helper_or(_found_in_value)
def _in_value(buffer: Array, at: int, depth: int) -> int:
    """A position from which on what belongs to a value's structure is looked for."""
    return at


@helper
def _value(buffer: Array, at: int, damage: wire.Ints) -> int:
    """The position after a field's value; -1 if it does not end."""
    depth, lists = 0, 0  # lists: a bit for each open bracket, of the innermost ones
    while True:
        at = _in_value(buffer, at, depth)
        if at >= len(buffer):
            return -1
        byte = buffer[at]
        if byte == _QUOTE:
            place = _FIELD if depth == 0 else _ITEM if lists & 1 else _INNER
            at = _text(buffer, at + 1, place, damage)
            if at < 0:
                return -1
        elif byte in (_OPEN, _OPEN_LIST):
            depth += 1
            lists = (lists << 1 | (byte == _OPEN_LIST)) & _INNERMOST
        elif byte in (_CLOSE, _CLOSE_LIST):
            if depth == 0:
                return at
            depth -= 1
            lists >>= 1
        elif depth == 0 and (byte == _COMMA or byte <= 32):
            return at
        at += 1
        if depth == 0 and byte in (_QUOTE, _CLOSE, _CLOSE_LIST):
            return at


@helper
def _any_field(buffer: Array, at: int, damage: wire.Ints) -> tuple[int, int, int]:
    """The end of the key that begins at a position, and begin and end of its value, which are equal
    if either has no end.
    """
    if buffer[at] != _QUOTE:
        return at, at, at
    stop = _text(buffer, at + 1, _KEY, damage)
    if stop < 0:
        return at, at, at
    begin = _space(buffer, _space(buffer, stop + 1) + 1)  # a colon follows every key
    return stop, begin, max(begin, _value(buffer, begin, damage))


def _plain_field(buffer: bytes, at: int, damage: wire.Ints) -> tuple[int, int, int]:
    found = _FIELD_OF_JSON.match(buffer, at)
    return (found.end(1), *found.span(2)) if found else _any_field(buffer, at, damage)


@helper_or(_plain_field)
def _field(buffer: Array, at: int, damage: wire.Ints) -> tuple[int, int, int]:
    return _any_field(buffer, at, damage)


def _behind_comma(buffer: bytes, at: int) -> int:
    return _GAP.match(buffer, at).end()  # type: ignore[union-attr]  # it matches nothing, too


@helper_or(_behind_comma)
def _after_comma(buffer: Array, at: int) -> int:
    """The next position that is neither white space nor a first comma."""
    at = _space(buffer, at)
    if at < len(buffer) and buffer[at] == _COMMA:
        at = _space(buffer, at + 1)
    return at


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


def _decimal(buffer: bytes, at: int) -> tuple[int, int, int]:
    found = _DECIMAL.match(buffer, at)
    if found is None:
        return _any_number(buffer, at)
    whole, part = int(found[2]), int((found[3] or b"").ljust(6, b"0"))
    return (-whole, -part, found.end()) if found[1] else (whole, part, found.end())


@helper
def _any_number(buffer: Array, at: int) -> tuple[int, int, int]:
    """(whole part, millionths, next position) of a number, quoted or not; -1 if it is not one."""
    at += buffer[at] == _QUOTE
    negative = buffer[at] == 45
    at += negative
    whole, part, scale, begin = 0, 0, 100_000, at
    while at < len(buffer) and 48 <= buffer[at] <= 57:
        whole = whole * 10 + buffer[at] - 48
        at += 1
    if at == begin or at - begin > 18:
        return 0, 0, -1
    point = at
    if at < len(buffer) and buffer[at] == 46:
        at += 1
        while at < len(buffer) and 48 <= buffer[at] <= 57:
            part += (buffer[at] - 48) * scale
            if scale == 0 and at - point == 7:
                part += buffer[at] >= 53
            scale //= 10
            at += 1
    if at < len(buffer) and (buffer[at] == 101 or buffer[at] == 69):
        whole, part, at = _with_exponent(buffer, begin, at)
    if negative:
        return -whole, -part, at
    return whole, part, at


@helper_or(_decimal)
def _number(buffer: Array, at: int) -> tuple[int, int, int]:
    return _any_number(buffer, at)


@helper
def _with_exponent(buffer: Array, begin: int, mark: int) -> tuple[int, int, int]:
    """As :func:`_number`, for digits from ``begin`` on, with a power of ten after ``mark``."""
    power, behind = _exponent(buffer, mark + 1)
    if behind < 0:
        return 0, 0, behind
    digits, places, fraction = 0, power + 6, False  # of millionths
    for place in range(begin, mark):
        if buffer[place] == 46:
            fraction = True
        elif digits < _ROOM:
            digits = digits * 10 + buffer[place] - 48
            places -= fraction
        else:
            places += not fraction
    while places < 0 and digits:
        digits, places = digits // 10, places + 1
    while places > 6 and 0 < digits < _ROOM:
        digits, places = digits * 10, places - 1
    if digits == 0 or places > 6:
        return digits * 0, digits * 0, behind if digits == 0 else -1
    scale = 10 ** (6 - places)
    return digits // scale, digits % scale * (1_000_000 // scale), behind


@helper
def _exponent(buffer: Array, at: int) -> tuple[int, int]:
    """(power of ten, next position); -1 if there is none."""
    below = at < len(buffer) and buffer[at] == 45
    at += at < len(buffer) and (buffer[at] == 45 or buffer[at] == 43)
    power, first = 0, at
    while at < len(buffer) and 48 <= buffer[at] <= 57 and power < 1000:
        power = power * 10 + buffer[at] - 48
        at += 1
    return -power if below else power, at if at > first else -1


@helper
def _picoseconds(buffer: Array, at: int, base: int) -> int:
    """Microseconds as picoseconds from a base; the lowest int64 if invalid or too far off."""
    whole, part, behind = _number(buffer, at)
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
    quoted = buffer[begin] == _QUOTE
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
            whole, _, behind = _number(buffer, begin)
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
    at = _space(buffer, at + 1)
    while at < len(buffer) and buffer[at] != _CLOSE:
        stop, begin, end = _field(buffer, at, damage)
        if end <= begin:
            return -1
        _store(buffer, _word(buffer, at + 1, stop), begin, end, row, table, base)
        at = _after_comma(buffer, end)
    return at + 1 if at < len(buffer) else -1


@helper
def _skip(buffer: Array, begin: int, damage: wire.Ints) -> int:
    """Where the next event opens after damage; -1 if none does.

    It opens at the beginning of a line, as profilers write them, or after another event.
    """
    at, apart = begin + 1, False
    while at < len(buffer) and not (apart and _opens_event(buffer, at)):
        if buffer[at] == _NEWLINE or (buffer[at] == _COMMA and buffer[at - 1] == _CLOSE):
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
    key = _space(buffer, at + 1)
    return buffer[at] == _OPEN and key < len(buffer) and buffer[key] == _QUOTE


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
        at = _after_comma(buffer, at)
        if at < len(buffer) and buffer[at] == _CLOSE_LIST:
            return count, -1
        behind = -1
        if at < len(buffer) and buffer[at] == _OPEN:
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
    at = _space(buffer, at + 1)
    most = count + _MOST_ARGUMENTS // 2
    while at < len(buffer) and count < most:
        stop, begin, end = _field(buffer, at, damage)
        if end <= begin:
            return count
        if len(wanted) == 0 or _is_wanted(buffer, at + 1, stop, wanted):
            name[count] = _intern(buffer, at + 1, stop, table)
            kind[count], value[count] = _stat(buffer, begin, end, table)
            count += 1
        at = _after_comma(buffer, end)
    return count


@helper
def _stat(buffer: Array, begin: int, end: int, table: tuple[Array, Array]) -> tuple[int, int]:
    """(kind, value) of a value; a list or an object is taken as its text."""
    if buffer[begin] != _QUOTE:
        whole, _, behind = _number(buffer, begin)
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
        if args[at] >= 0 and buffer[args[at]] == _OPEN:
            before = count
            count = _arguments(buffer, args[at], wanted, table, columns, count, damage)
            columns[0][before:count] = at
        at += 1
    return count, at
