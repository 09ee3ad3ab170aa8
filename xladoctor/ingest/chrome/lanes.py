"""Arranges the events of a Chrome trace in planes and lines: a line for each thread and sort."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from xladoctor.frontends.vocabulary import categories
from xladoctor.ingest.chrome import scan
from xladoctor.ingest.chrome.space import ChromeSpace
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.space import Line, Plane
from xladoctor.quantities import whole_number

#: Categories of work on devices -> the kind of the device.
_WORK = {
    "kernel": "GPU",
    "gpu_memcpy": "GPU",
    "gpu_memset": "GPU",
    "concurrent_kernel": "GPU",
    "memcpy": "GPU",
    "memset": "GPU",
    "mtia_ccp_events": "MTIA",
}
_LABELS = "user_annotation"


@dataclass(slots=True)
class Found:
    """The contents of a file.

    Attributes:
        columns: as in :class:`.space.ChromeSpace`, in the file's order, with the lane's number.
        lanes: the number of each combination of process, thread and category (places of texts).
        metadata: rows of metadata: the first for each sort, process and thread.
        base: the microseconds that instants count from.
    """

    columns: dict[str, wire.Array]
    lanes: dict[tuple[int, ...], int]
    metadata: wire.Array
    base: int


def distinct(rows: wire.Array, *columns: int) -> tuple[wire.Ints, wire.Ints]:
    """The first row with each combination of these columns, and each row's combination."""
    first, *others = columns
    number = np.maximum(rows[:, first], 0)
    for column in others:
        if number.max(initial=0) >> 31:
            _, number = np.unique(number, return_inverse=True)
        number = (number << 31) + np.maximum(rows[:, column], 0)
    _, where, which = np.unique(number, return_index=True, return_inverse=True)
    return where, which


@dataclass(frozen=True, slots=True)
class _Lane:
    """The events that become a line: those of one thread of a process, and of one sort.

    Attributes:
        device: the kind of device, for its work and for what is shown beside it; else empty.
        sort: the category of what is shown beside a device's work; else empty.
    """

    process: str
    thread: str
    device: str = ""
    sort: str = ""


def arrange(space: ChromeSpace, found: Found, origin: int) -> None:
    """Arrange the events in planes and lines, in order of time."""
    names, codes = space.names()
    called = _called(space, found.metadata, names, codes)
    space.of_planes = any(name.startswith("/") for name in called.values())
    lanes, numbers = _lanes(found.lanes, names, codes)
    hosts = {each.process for each in lanes if not each.device and each.process.isdecimal()}
    if len(hosts) == 1 and not space.of_planes:
        space.pid = whole_number(next(iter(hosts)))
    planes: dict[str, list[int]] = {}
    for number, each in enumerate(lanes):
        planes.setdefault(_plane_of(each, called), []).append(number)
    ordered = [number for name in sorted(planes, key=_rank) for number in planes[name]]
    place = np.argsort(np.array(ordered, np.int64)).astype(np.min_scalar_type(len(lanes)))
    columns = found.columns
    sorts = {names[codes[sort]].lower() for _, _, sort in found.lanes if sort}
    space.categories = frozenset(sorts)
    labelled = [
        number
        for (_, _, sort), number in found.lanes.items()
        if sort and names[codes[sort]] == _LABELS
    ]
    if labelled or sorts & categories():  # the profiler distinguishes labels from other events
        space.labels = {
            names[codes[code]]
            for code in np.unique(columns["name"][np.isin(columns["lane"], labelled)]).tolist()
        }
    space.joins_calls = not space.of_planes
    lane = numbers[columns.pop("lane")]
    order = np.lexsort((-columns["duration_ps"], columns["start_ps"], place[lane]))
    space.columns = {key: columns.pop(key)[order] for key in list(columns)}
    space.columns["host"] = np.array([not each.device for each in lanes], bool)[lane[order]]
    counts = np.bincount(lane, minlength=len(lanes))
    for name in sorted(planes, key=_rank):
        plane = Plane(len(space.planes), name)
        space.planes.append(plane)
        for number in planes[name]:
            _add_line(space, plane, lanes[number], called, origin, int(counts[number]))


def _add_line(
    space: ChromeSpace,
    plane: Plane,
    lane: _Lane,
    called: dict[tuple[str, str], str],
    origin: int,
    count: int,
) -> None:
    name = called.get((lane.process, lane.thread), lane.thread)
    if lane.device:
        name = f"{lane.sort or 'Stream'} #{lane.thread}"
    identity = whole_number(lane.thread)
    identity = space.line_count if identity is None else identity
    plane.lines.append(
        Line(
            number=space.line_count,
            plane=plane,
            id=identity,
            name=name,
            origin_ns=origin,
            begin=0,
            end=0,
            first=space.event_count,
            count=count,
            marks=[],
        )
    )
    space.line_count += 1
    space.event_count += count


def _called(
    space: ChromeSpace, rows: wire.Array, names: list[str], codes: wire.Array
) -> dict[tuple[str, str], str]:
    """The names of threads by process and thread, and of processes by the process alone."""
    of_names = [
        number
        for number, code in enumerate(codes.tolist())
        if code >= 0 and names[code] in ("process_name", "thread_name")
    ]
    rows = rows[np.isin(rows[:, scan.NAME], of_names)]
    rows = rows[distinct(rows, scan.NAME, scan.PROCESS, scan.THREAD)[0]]
    stats = space.stats(np.ascontiguousarray(rows[:, scan.ARGS]), {"name"})
    stats = stats.select(stats.kind == wire.REF)  # a number is not a name
    texts, places = space.names()
    called = {}
    for number, value in zip(stats.event.tolist(), stats.value.tolist(), strict=True):
        row = rows[number]
        what, process, thread = (
            names[codes[row[column]]] if row[column] >= 0 else ""
            for column in (scan.NAME, scan.PROCESS, scan.THREAD)
        )
        key = (process, thread if what == "thread_name" else "")
        called[key] = texts[places[value]]
    return called


def _lanes(
    found: Iterable[tuple[int, ...]], names: list[str], codes: wire.Array
) -> tuple[list[_Lane], wire.Ints]:
    """The lanes, and the number of the lane for each process, thread and category."""
    parts = [tuple(names[codes[place]] if place else "" for place in key) for key in found]
    devices = {process: _WORK[sort.lower()] for process, _, sort in parts if sort.lower() in _WORK}
    lanes: dict[_Lane, int] = {}
    numbers = []
    for process, thread, sort in parts:
        beside = sort if process in devices and sort.lower() not in _WORK else ""
        each = _Lane(process, thread, devices.get(process, ""), beside)
        numbers.append(lanes.setdefault(each, len(lanes)))
    return list(lanes), np.array(numbers, np.int32)


def _plane_of(lane: _Lane, called: dict[tuple[str, str], str]) -> str:
    name = called.get((lane.process, ""), "")
    if name.startswith("/"):
        return name
    if lane.device:
        return f"/device:{lane.device}:{lane.process}"
    return "/host:CPU" if lane.process.isdecimal() else lane.process


def _rank(plane: str) -> tuple[bool, bool, int, str]:
    number = re.search(r"(?<!\d)\d{1,18}$", plane)
    return (
        not plane.startswith("/host:"),
        not plane.startswith("/device:"),
        int(number[0]) if number else 0,
        plane,
    )
