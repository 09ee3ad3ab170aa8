"""Reads the planes and lines of an XSpace (``.xplane.pb``).

The file is read into memory, which costs no more than mapping it, and is safe even if somebody
truncates the file. The compiled loops of :mod:`.wire` walk it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from xladoctor.ingest.compressed import SPOILT, Unpacked, is_spoilt
from xladoctor.ingest.interface import Notes
from xladoctor.ingest.protobuf_schema import message
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.space import STRIDE, Line, Plane, Space
from xladoctor.regular_files import MESSAGE

_CHUNK = 1024
_MOST_PLANES = 10_000  # one for each device and host
MOST_LINES = 10_000  # one for each thread and stream
_BEGINNING = 1 << 16  # bytes that show whether a file was converted to text
_GROWTH, _LEAST = 8, 1 << 16  # grow by an eighth plus so many bytes
_FIELDS = {2: "name", 3: "lines", 4: "event_metadata", 5: "stat_metadata", 6: "stats"}


def read_space(path: Path, noted: Notes) -> Space | None:
    """Read a file and find its planes and lines. None, and a note, if it cannot be opened."""
    buffer = content_of(path, noted, binary=True)
    if buffer is None:
        return None
    space = Space(path, len(buffer), buffer)
    for number, wire_type, begin, end in _fields(space, 0, space.size):
        if len(space.planes) == _MOST_PLANES:
            noted.lose(
                f"{path}: more than {_MOST_PLANES:,} planes, which no profiler writes;"
                " the rest is left out"
            )
            break
        if number == 1 and wire_type == 2:
            _plane(space, begin, end)
        elif number == 4 and wire_type == 2:
            space.hostnames.append(_text(space, begin, end))
    return space


def content_of(
    path: Path, noted: Notes, *, binary: bool = False
) -> np.ndarray[Any, np.dtype[np.uint8]] | None:
    """The bytes of a timeline, decompressed. None, with a note, if it cannot be opened, or if it
    should be ``binary`` but was converted to text.
    """
    try:
        with Unpacked(path, MESSAGE) as file:
            buffer = _content(file, path.stat().st_size)
    except OSError as error:
        reason = error.strerror or error
        noted.notes.append(f"{path}: the timeline cannot be read ({reason}); not used")
        return None
    if file.damage:
        noted.notes.append(f"{path}: {file.damage}; what could be read is used")
    if binary and is_spoilt(buffer[:_BEGINNING].tobytes()):
        noted.notes.append(f"{path}: {SPOILT}")
        return None
    return buffer


def _content(file: Unpacked, expected: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The contents of a file of about the expected size, or several times that if compressed.

    The buffer grows in small steps, since added room is filled with zeros and so takes memory.
    """
    content, end = np.empty(expected + 1, np.uint8), 0
    while count := file.readinto(content[end:].data):
        end += count
        if end == len(content):
            content.resize(end + end // _GROWTH + _LEAST, refcheck=False)  # no other references
    content.resize(end, refcheck=False)
    content.setflags(write=False)
    return content


def _fields(space: Space, begin: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(field number, wire type, value or begin, end) of each field of a message."""
    rows = np.empty((_CHUNK, 4), np.int64)
    while begin < end:
        count, begin = wire.fields(space.buffer, begin, end, rows, space.damage)
        yield from map(tuple, rows[:count].tolist())


def _text(space: Space, begin: int, end: int) -> str:
    return space.buffer[begin:end].tobytes().decode(errors="replace")


def _plane(space: Space, begin: int, end: int) -> None:
    plane = Plane(len(space.planes))
    space.planes.append(plane)
    parts: dict[str, list[tuple[int, int]]] = {name: [] for name in _FIELDS.values()}
    for number, wire_type, start, stop in _fields(space, begin, end):
        if wire_type == 2 and number in _FIELDS:
            parts[_FIELDS[number]].append((start, stop))
    for start, stop in parts["name"]:
        plane.name = _text(space, start, stop)
    for entry in _messages(space, "EventEntry", parts["event_metadata"]):
        plane.event_metadata[entry.key] = entry.value
    for entry in _messages(space, "StatEntry", parts["stat_metadata"]):
        plane.stat_names[entry.key] = entry.value.name
    plane.stats = plane.values(_messages(space, "XStat", parts["stats"]))
    started = plane.stats.get("profile_start_time")
    if space.started_ns is None and isinstance(started, int):
        space.started_ns = started
    for start, stop in parts["lines"]:
        if space.line_count == MOST_LINES:
            space.lacks_lines = True
            break
        _line(space, plane, start, stop)


def _messages(space: Space, name: str, parts: list[tuple[int, int]]) -> Iterator[Any]:
    for begin, end in parts:
        try:
            yield message(name).FromString(space.buffer[begin:end].tobytes())
        except DecodeError:
            if end < space.size:  # otherwise the cut is noted already
                space.damage[0] += 1
                space.damage[1] = begin if space.damage[1] < 0 else min(begin, space.damage[1])


def _line(space: Space, plane: Plane, begin: int, end: int) -> None:
    header, marks = np.zeros(8, np.int64), np.zeros((end - begin) // (2 * STRIDE) + 1, np.int64)
    count = wire.count_events(space.buffer, begin, end, header, STRIDE, marks)
    identity, timestamp, _, display_id, *names = header.tolist()
    name, shown = _text(space, *names[:2]), _text(space, *names[2:])
    plane.lines.append(
        Line(
            number=space.line_count,
            plane=plane,
            id=identity or display_id,
            name=name or shown,
            origin_ns=timestamp,
            begin=begin,
            end=end,
            first=space.event_count,
            count=count,
            marks=marks[: -(-count // STRIDE)].tolist(),
        )
    )
    space.line_count += 1
    space.event_count += count
