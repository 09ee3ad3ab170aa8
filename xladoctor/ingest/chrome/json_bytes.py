"""JSON by its bytes, for compiled loops: where texts and values end, and what numbers are.

Instants are read as decimals: microseconds of the wall clock with nanoseconds after the point have
more digits than a float. An unescaped quote is taken as part of its text if what comes next cannot
follow a text. Such quotes are counted in ``damage``: [2] how many, [3] the position of the first.
"""

# mypy: disable-error-code="no-any-return, return-value, assignment, arg-type"
from __future__ import annotations

import re

from xladoctor.ingest.xplane.compiled import helper, helper_or
from xladoctor.ingest.xplane.wire import Array, Ints

QUOTE, BACKSLASH, NEWLINE, COMMA, COLON = 34, 92, 10, 44, 58
OPEN, CLOSE, OPEN_LIST, CLOSE_LIST = 123, 125, 91, 93
_KEY, _FIELD, _INNER, _ITEM = range(4)  # where a text is; fields belong to events
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


@helper
def after_space(buffer: Array, at: int) -> int:
    """The next position that is not white space."""
    while at < len(buffer) and buffer[at] <= 32:
        at += 1
    return at


@helper
def _ends_text(buffer: Array, quote: int, place: int) -> bool:
    """Whether the bytes after a quote can follow a text in such a place."""
    at = after_space(buffer, quote + 1)
    if at >= len(buffer):
        return True
    byte = buffer[at]
    if place == _KEY or byte == COLON:
        return byte == COLON and place != _FIELD
    if byte != COMMA:
        return byte == CLOSE_LIST if place == _ITEM else byte == CLOSE
    return place == _ITEM or _begins_key(buffer, after_space(buffer, at + 1))


@helper
def _begins_key(buffer: Array, at: int) -> bool:
    """Whether a key begins at a position, or the file ends first."""
    if at < len(buffer) and buffer[at] != QUOTE:
        return False
    at += 1
    while at < len(buffer) and buffer[at] != QUOTE and buffer[at] != NEWLINE:
        at += 1
    at = after_space(buffer, at + 1)
    return at >= len(buffer) or buffer[at] == COLON


def _found_in_text(buffer: bytes, at: int) -> int:
    found = _IN_TEXT.search(buffer, at)
    return found.start() if found else len(buffer)


@helper_or(_found_in_text)
def _in_text(buffer: Array, at: int) -> int:
    """A position from which on a quote, backslash or line break is looked for."""
    return at


@helper
def _text(buffer: Array, at: int, place: int, damage: Ints) -> int:
    """The position of the quote that ends the text at a position; -1 if there is none."""
    while True:
        at = _in_text(buffer, at)
        if at >= len(buffer):
            return -1
        byte = buffer[at]
        if byte == BACKSLASH:
            at += 1
        elif byte == QUOTE:
            if _ends_text(buffer, at, place):
                return at
            if place == _KEY:
                return -1
            damage[2] += 1
            if damage[3] < 0:
                damage[3] = at
        elif byte == NEWLINE:
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
def _value(buffer: Array, at: int, damage: Ints) -> int:
    """The position after a field's value; -1 if it does not end."""
    depth, lists = 0, 0  # lists: a bit for each open bracket, of the innermost ones
    while True:
        at = _in_value(buffer, at, depth)
        if at >= len(buffer):
            return -1
        byte = buffer[at]
        if byte == QUOTE:
            place = _FIELD if depth == 0 else _ITEM if lists & 1 else _INNER
            at = _text(buffer, at + 1, place, damage)
            if at < 0:
                return -1
        elif byte in (OPEN, OPEN_LIST):
            depth += 1
            lists = (lists << 1 | (byte == OPEN_LIST)) & _INNERMOST
        elif byte in (CLOSE, CLOSE_LIST):
            if depth == 0:
                return at
            depth -= 1
            lists >>= 1
        elif depth == 0 and (byte == COMMA or byte <= 32):
            return at
        at += 1
        if depth == 0 and byte in (QUOTE, CLOSE, CLOSE_LIST):
            return at


@helper
def _any_field(buffer: Array, at: int, damage: Ints) -> tuple[int, int, int]:
    if buffer[at] != QUOTE:
        return at, at, at
    stop = _text(buffer, at + 1, _KEY, damage)
    if stop < 0:
        return at, at, at
    begin = after_space(buffer, after_space(buffer, stop + 1) + 1)  # a colon follows every key
    return stop, begin, max(begin, _value(buffer, begin, damage))


def _plain_field(buffer: bytes, at: int, damage: Ints) -> tuple[int, int, int]:
    found = _FIELD_OF_JSON.match(buffer, at)
    return (found.end(1), *found.span(2)) if found else _any_field(buffer, at, damage)


@helper_or(_plain_field)
def field(buffer: Array, at: int, damage: Ints) -> tuple[int, int, int]:
    """The end of the key that begins at a position, and begin and end of its value, which are equal
    if either has no end.
    """
    return _any_field(buffer, at, damage)


def _behind_comma(buffer: bytes, at: int) -> int:
    return _GAP.match(buffer, at).end()  # type: ignore[union-attr]  # it matches nothing, too


@helper_or(_behind_comma)
def after_comma(buffer: Array, at: int) -> int:
    """The next position that is neither white space nor a first comma."""
    at = after_space(buffer, at)
    if at < len(buffer) and buffer[at] == COMMA:
        at = after_space(buffer, at + 1)
    return at


def _decimal(buffer: bytes, at: int) -> tuple[int, int, int]:
    found = _DECIMAL.match(buffer, at)
    if found is None:
        return _any_number(buffer, at)
    whole, part = int(found[2]), int((found[3] or b"").ljust(6, b"0"))
    return (-whole, -part, found.end()) if found[1] else (whole, part, found.end())


@helper
def _any_number(buffer: Array, at: int) -> tuple[int, int, int]:
    at += buffer[at] == QUOTE
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
def number(buffer: Array, at: int) -> tuple[int, int, int]:
    """(whole part, millionths, next position) of a number, quoted or not; -1 if it is not one."""
    return _any_number(buffer, at)


@helper
def _with_exponent(buffer: Array, begin: int, mark: int) -> tuple[int, int, int]:
    """As :func:`number`, for digits from ``begin`` on, with a power of ten after ``mark``."""
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
