"""Writes copies of timelines for XProf, with a plane of ours, to a log directory of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from xladoctor.evidence.interface import Evidence
from xladoctor.foreign import encodable
from xladoctor.ingest.compressed import PACKED
from xladoctor.ingest.protobuf_schema import message
from xladoctor.ingest.recognition import SUFFIX, named_after
from xladoctor.ingest.xplane import wire
from xladoctor.view import encode
from xladoctor.view.interface import MOST, Slices, Track
from xladoctor.view.timelines import AnnotatedTimeline

#: Prefix that XProf's trace viewer takes for a program's own planes.
_PLANE = "/device:CUSTOM:xladoctor"
_SPACE_PLANE, _PLANE_LINE = b"\x0a", b"\x1a"  # fields of XSpace and XPlane
_PART = 1 << 20  # events that are encoded at a time


def session_in(logdir: Path, evidence: Evidence) -> Path:
    """A new folder for the timelines of evidence in an empty log directory. Raises OSError."""
    name = Path(evidence.path).resolve().name
    name = name.removesuffix(PACKED).removesuffix(SUFFIX)
    session = logdir / "plugins" / "profile" / (encodable(name) or "run")
    session.mkdir(parents=True)
    return session


def write(shown: AnnotatedTimeline, rows: Sequence[Track], session: Path) -> str | None:
    """Write a timeline with rows of ours into a session. Raises OSError.

    Chrome traces, which XProf does not read, and the readable parts of damaged timelines are
    rewritten with only the names and times of events. Returns a note on that.
    """
    space, timeline = shown.timeline.space, shown.timeline
    path = session / f"{_host(shown, session)}{SUFFIX}"
    damaged = not shown.for_viewers and bool(space.damage[0])
    with path.open("xb") as file:
        if shown.for_viewers or damaged:
            base = timeline.begin
            for plane in space.planes:
                lines = [Track(line.name, shown.of_line(line)) for line in plane.lines]
                _write_plane(file, plane.name, lines, base)
        else:
            base = min((timeline.origin(line) - line.origin_ns for line in space.lines), default=0)
            file.write(space.buffer.data)  # fields of a message may follow each other in any way
        _write_plane(file, _PLANE, [*rows, *shown.calls()], base)
    if shown.for_viewers:
        return (
            f"{shown.path}: a Chrome trace, of which only XProf's trace viewer can show something"
        )
    return (
        f"{shown.path}: damaged; what could be read is shown, by name and time" if damaged else None
    )


def _host(shown: AnnotatedTimeline, session: Path) -> str:
    name = shown.path.name
    host = named_after(shown.path) or name.removesuffix(PACKED).removesuffix(SUFFIX)
    host = encodable(host)
    return f"{host}-{shown.process}" if (session / f"{host}{SUFFIX}").exists() else host


def _write_plane(file: BinaryIO, name: str, lines: Iterable[Track], base_ns: int) -> None:
    """A plane whose lines count from an instant."""
    parts: list[bytes] = []
    names: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        given = line.slices
        codes = np.array([names.setdefault(text, len(names)) for text in given.names], np.int32)
        numbers = np.append(codes, np.int32(-1))[given.name]
        parts.append(_line(number, line.name, given, numbers, base_ns))
    plane = message("XPlane")(name=encodable(name))
    for text, code in names.items():
        plane.event_metadata.add(key=code + 1, value={"id": code + 1, "name": encodable(text)})
    content = [plane.SerializeToString(), *parts]
    file.write(_SPACE_PLANE + _length(sum(map(len, content))))
    file.writelines(content)


def _line(number: int, name: str, given: Slices, names: wire.Array, base_ns: int) -> bytes:
    first = int(given.begin_ps.min()) // 1000 if len(given) else 0
    begin = given.begin_ps - first * 1000
    instant = max(-MOST, min(given.origin_ns + first - base_ns, MOST))
    line = message("XLine")(id=number, name=encodable(name), timestamp_ns=instant)
    parts = [line.SerializeToString()]
    for at in range(0, len(given), _PART):
        part = slice(at, at + _PART)
        out = np.empty(encode.XEVENT * len(names[part]), np.uint8)
        used = encode.xevents(
            np.ascontiguousarray(names[part]),
            begin[part],
            np.ascontiguousarray(given.duration_ps[part]),
            out,
        )
        parts.append(out[:used].tobytes())
    content = b"".join(parts)
    return _PLANE_LINE + _length(len(content)) + content


def _length(count: int) -> bytes:
    """A length as protobuf writes it."""
    out = bytearray()
    while count > 127:
        out.append(count & 127 | 128)
        count >>= 7
    return bytes([*out, count])
