"""Reads the events of a Chrome trace, with the metadata around them."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import numpy as np

from xladoctor.ingest.chrome import scan
from xladoctor.ingest.chrome.beginning import EVENTS, LONGEST
from xladoctor.ingest.chrome.lanes import Found, arrange, distinct
from xladoctor.ingest.chrome.space import ChromeSpace
from xladoctor.ingest.interface import Notes
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.read import MOST_LINES, content_of

_ROWS = 1 << 16  # events that are read at a time
_FACTS = re.compile(rb'"(baseTimeNanoseconds|host_name|rank)"\s*:\s*"?([^",}\s]*)')
_AROUND = 1 << 20  # bytes before and after the events that are searched for metadata
_METADATA, _COMPLETE, _INSTANT = ord("M"), ord("X"), ord("i")
_LANE = [scan.PROCESS, scan.THREAD, scan.CATEGORY]
_UNKNOWN = int(np.iinfo(np.int64).min)


def read_chrome(path: Path, noted: Notes) -> ChromeSpace | None:
    """Read a file and find its planes and lines. None, and a note, if it cannot be opened."""
    buffer = content_of(path, noted)
    if buffer is None:
        return None
    space = ChromeSpace(path, len(buffer), buffer, damage=np.array([0, -1, 0, -1], np.int64))
    start = EVENTS.search(buffer[:LONGEST].tobytes())
    found = _found(space, start.end() if start else space.size)
    facts = _facts(space, start.start() if start else 0)
    since = facts.get("baseTimeNanoseconds", "")
    origin = (int(since) if re.fullmatch(r"\d{1,18}|[1-8]\d{18}", since) else 0) + 1000 * found.base
    if "host_name" in facts:
        space.hostnames.append(facts["host_name"])
    if re.fullmatch(r"\d{1,9}", facts.get("rank", "")):
        space.rank = int(facts["rank"])
    arrange(space, found, origin)
    if space.of_planes:
        noted.notes.append(
            f"{path}: a trace for viewers, without the compiled graphs; the"
            " .xplane.pb file of the same profile has them"
        )
    return space


def _found(space: ChromeSpace, at: int) -> Found:
    """Read all events, keeping only some columns: rows take more memory than their text."""
    base, room = np.array([_UNKNOWN], np.int64), np.empty((_ROWS, 8), np.int64)
    lanes: dict[tuple[int, ...], int] = {}
    metadata, parts = [room[:0].copy()], [_columns(space, room[:0], lanes)]
    while 0 <= at < space.size:
        count, behind = scan.events(space.buffer, at, room, space.texts.table, base, space.damage)
        if behind == at:
            space.texts.grow()
        at = behind
        rows = room[:count]
        named = rows[rows[:, scan.PHASE] == _METADATA]
        metadata.append(named[distinct(named, scan.NAME, scan.PROCESS, scan.THREAD)[0]])
        parts.append(_columns(space, rows, lanes))
    columns = {key: np.concatenate([part.pop(key) for part in parts]) for key in list(parts[0])}
    space.lacks_lines = len(lanes) > MOST_LINES
    lanes = dict(islice(lanes.items(), MOST_LINES))
    return Found(
        columns, lanes, np.concatenate(metadata), 0 if base[0] == _UNKNOWN else int(base[0])
    )


def _columns(
    space: ChromeSpace, rows: wire.Array, lanes: dict[tuple[int, ...], int]
) -> dict[str, wire.Array]:
    """The kept columns of the visible events; new lanes are added to ``lanes``."""
    phase = rows[:, scan.PHASE]
    shown = (phase == _COMPLETE) | (phase == _INSTANT)
    for column in (scan.START, scan.NAME, scan.PROCESS):
        shown &= rows[:, column] != _UNKNOWN
    begin, end = space.texts.places[np.maximum(rows[:, scan.PROCESS], 0)].T
    rows = rows[shown & (begin < end)]  # events without a process are the profiler's own marks
    first, lane = distinct(rows, *_LANE)
    keys = np.maximum(rows[first][:, _LANE], 0)  # 0 stands for no text
    numbers = np.array(
        [lanes.setdefault(tuple(key), len(lanes)) for key in keys.tolist()], np.int32
    )
    kept = numbers[lane] < MOST_LINES
    rows, lane = rows[kept], lane[kept]
    return {
        "name": rows[:, scan.NAME].astype(np.int32),
        "start_ps": rows[:, scan.START].copy(),
        "duration_ps": np.maximum(rows[:, scan.DURATION], 0),
        "args": rows[:, scan.ARGS].copy(),
        "lane": numbers[lane],
    }


def _facts(space: ChromeSpace, start: int) -> dict[str, str]:
    """The trace's metadata, before the events (which has priority) or after them."""
    around = (space.buffer[max(start, space.size - _AROUND) :], space.buffer[:start])
    return {
        key.decode(): value.decode(errors="replace")
        for part in around
        for key, value in _FACTS.findall(part.tobytes())
    }
