"""Finds the devices in a timeline: when they were busy, and with which operations.

``tsl/profiler/utils/xplane_schema.cc`` defines planes and lines. A TPU has a plane
``/device:TPU:N`` whose operations are on the line ``XLA Ops``. A GPU has ``/device:GPU:N`` with a
line for each stream; other lines are views made from those. The SparseCores of a TPU have planes
of their own, ``/device:TPU:N SparseCore M``, whose work is not counted as that of the device. The
CPU client runs its work on threads of ``/host:CPU``, in events ``ThunkExecutor::Execute`` and one
event for each instruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xladoctor.frontends.vocabulary import events
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import NEVER, Intervals, Times
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.nesting import nest
from xladoctor.ingest.xplane.space import Line, Plane

_DEVICE = re.compile(r"/device:(?P<kind>[A-Za-z_]+)(:\d+)?")
#: Streams with CUPTI's records about memory, which are not work.
_IDLE_STREAM = re.compile(r"Stream #\d+\((MemoryResidency|UnifiedMemory|Overhead|,)+\)")
_SPARSE_CORE = re.compile(r"/device:TPU:\d+ SparseCore \d+")
#: How the names of copies begin.
COPIES = ("Memcpy", "Memset")
MOST_DEVICES = 1_000
_CPU_EXECUTION = "ThunkExecutor::Execute"
_END = "end: "  # prefix of the end mark of an operation of the CPU client
#: Collective operations as HLO names them; what begins one returns at once, and counts for nothing.
_COLLECTIVE = re.compile(
    r"(all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-permute"
    r"|collective-broadcast|send|recv)(-done)?(\.\d+)*"
)
_NONE = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class Collectives:
    """Executions of collective operations of a device: arrays of the same length.

    Attributes:
        op: numbers of their names in ``names``.
        begin, end: nanoseconds.
    """

    names: list[str]
    op: wire.Array
    begin: Times
    end: Times

    @staticmethod
    def of(parts: Sequence[tuple[Sequence[str], Times, Times]]) -> Collectives:
        """From the operations' names, begins and ends on each line of the device."""
        names = sorted({name for part, _, _ in parts for name in part})
        number = {name: index for index, name in enumerate(names)}
        op = [number[name] for part, _, _ in parts for name in part]
        empty = np.empty(0, np.int64)
        return Collectives(
            names,
            np.array(op, np.int64),
            np.concatenate([empty, *(begin for _, begin, _ in parts)]),
            np.concatenate([empty, *(end for _, _, end in parts)]),
        )


@dataclass(slots=True)
class Device:
    """A device of a process.

    Attributes:
        number: counts the devices of the process from 0.
        kind: CPU, GPU, TPU or the name of its plane.
        busy: when it ran anything.
        computing: when it ran anything but copies.
        modules: when it ran each module, if its plane shows that.
        own: when it ran anything but collectives, if their names identify them.
        ops: columns hlo_module, hlo_op, count, duration_ns, self_ns; one row per operation.
        collectives: executions of collective operations.
    """

    number: int
    name: str
    kind: str
    busy: Intervals
    computing: Intervals
    modules: Intervals
    own: Intervals | None = None
    ops: dict[str, list[Any]] = field(default_factory=dict)
    collectives: Collectives = field(default_factory=lambda: Collectives.of([]))


def find_devices(timeline: Timeline) -> list[Device]:
    """All devices; without any, the CPU client's threads if they ran XLA programs.

    Of more than :data:`MOST_DEVICES` it returns one more than are read.
    """
    codes = {stat: _codes(timeline, stat) for stat in ("hlo_op", "hlo_module")}
    copies, collectives = timeline.beginning(*COPIES), timeline.beginning(*events("collective"))
    devices: list[Device] = []
    for plane in timeline.space.planes:
        match = _DEVICE.fullmatch(plane.name)
        if match and plane.lines and len(devices) <= MOST_DEVICES:
            kind = match["kind"].upper()
            lines = working(plane)
            busy = _busy(timeline, [(line, slice(None)) for line in lines])
            modules = _modules(timeline, plane)
            ops = _Ops(timeline, codes, modules, _shown(plane))
            computing = _others(timeline, lines, copies)
            for line, which in computing:
                ops.take(line, which)
            runs = Intervals(modules["begin"], modules["end"]) if modules else _NONE
            devices.append(
                Device(
                    len(devices),
                    plane.name,
                    kind,
                    busy,
                    _busy(timeline, computing),
                    runs,
                    _busy(timeline, _others(timeline, lines, collectives))
                    if collectives.any()
                    else None,
                    ops.columns(),
                    ops.collectives(),
                )
            )
    return devices or _cpu(timeline, codes)


def uncounted(timeline: Timeline) -> list[str]:
    """Notes on parts of devices whose work is not counted."""
    cores = sum(
        bool(_SPARSE_CORE.fullmatch(plane.name)) and any(line.count for line in plane.lines)
        for plane in timeline.space.planes
    )
    if not cores:
        return []
    return [
        f"{timeline.space.path}: what {cores} SparseCore{'s' * (cores > 1)} of TPUs ran is not"
        " counted; a device may be shown as idle meanwhile"
    ]


def _others(
    timeline: Timeline, lines: list[Line], choice: wire.Array
) -> list[tuple[Line, wire.Array]]:
    """The events of each line whose names are not in a mask."""
    return [(line, timeline.chosen(line, ~choice)) for line in lines]


def working(plane: Plane) -> list[Line]:
    """The lines that show the device's work, rather than a view of it."""
    by_name = {line.name: line for line in plane.lines if line.count}
    streams = [line for line in plane.lines if line.name.startswith("Stream") and line.count]
    if streams:
        return [line for line in streams if not _IDLE_STREAM.fullmatch(line.name)]
    for name in ("XLA Ops", "XLA Modules"):
        if name in by_name:
            return [by_name[name]]
    return [line for line in by_name.values() if line.name != "Steps"]


def _cpu(timeline: Timeline, codes: dict[str, wire.Array]) -> list[Device]:
    """The CPU client, however many devices it has: they share its threads."""
    ops = _Ops(timeline, codes, {}, {})
    # Includes the wait for completion: work on Eigen's threads leaves no events.
    executions = timeline.beginning(_CPU_EXECUTION)
    parts: list[tuple[Line, wire.Array | slice]] = []
    for line in timeline.threads:
        which = np.flatnonzero(codes["hlo_op"][line.events] >= 0)
        ops.take(line, which)
        parts += [(line, which), (line, timeline.chosen(line, executions))]
    busy = _busy(timeline, parts)
    if not len(busy.begin):
        return []
    begun = np.array([timeline.begin, _already_begun(timeline, codes["hlo_op"])])
    busy = Intervals.union(np.append(busy.begin, begun[:1]), np.append(busy.end, begun[1:]))
    return [
        Device(0, "/host:CPU", "CPU", busy, busy, _NONE, None, ops.columns(), ops.collectives())
    ]


def _already_begun(timeline: Timeline, ops: wire.Array) -> int:
    """When the last operation ended that had begun before the profile; the profile's begin if none.

    For such an operation the profile only has the mark of its end.
    """
    names = timeline.events.names
    operation = np.array(
        [
            timeline.events.index(name.removeprefix(_END)) if name.startswith(_END) else -1
            for name in names
        ],
        np.int64,
    )
    begun, ended = (np.full(len(names), NEVER) for _ in range(2))
    for line in timeline.threads:
        name, begin = timeline.events.name[line.events], timeline.begins(line)
        of_op = ops[line.events] >= 0
        np.minimum.at(begun, name[of_op], begin[of_op])
        marks = operation[name] != -1
        np.minimum.at(ended, name[marks], begin[marks])
    early = (ended < np.where(operation >= 0, begun[operation], NEVER)) & (ended < NEVER)
    return int(ended[early].max(initial=timeline.begin))


def _busy(timeline: Timeline, parts: Iterable[tuple[Line, wire.Array | slice]]) -> Intervals:
    spans = [
        Intervals.union(timeline.begins(line, which), timeline.ends(line, which))
        for line, which in parts
    ]
    spans = [intervals for intervals in spans if len(intervals.begin)]
    if not spans:
        return _NONE
    return Intervals.union(
        np.concatenate([part.begin for part in spans]), np.concatenate([part.end for part in spans])
    )


def _codes(timeline: Timeline, stat: str) -> wire.Array:
    """The index of each event's text under a stat, in the names of the events; -1 for none."""
    codes = np.full(len(timeline.events.name), -1, np.int32)
    rows = timeline.events.rows_of(stat)
    codes[rows.event] = timeline.events.interned(rows)
    return codes


def _modules(timeline: Timeline, plane: Plane) -> dict[str, Any]:
    """Executions of modules on a device, for operations that do not name their module."""
    for line in plane.lines:
        if line.name == "XLA Modules" and line.count:
            begins, ends = timeline.begins(line), timeline.ends(line)
            order = np.argsort(begins, kind="stable")
            return {
                "begin": begins[order],
                "end": ends[order],
                "name": timeline.events.name[line.events][order],
            }
    return {}


def _shown(plane: Plane) -> dict[str, str]:
    """Names for display: the name of a TPU's operation is its whole HLO text."""
    return {
        entry.name: entry.display_name
        for entry in plane.event_metadata.values()
        if entry.display_name
    }


def _without_id(module: str | None) -> str | None:
    """A module's name without the program's number, which device lines add."""
    return re.sub(r"\(\d+\)$", "", module) if module else None


class _Ops:
    """Adds up operations by module and instruction."""

    def __init__(
        self,
        timeline: Timeline,
        codes: dict[str, wire.Array],
        modules: dict[str, Any],
        shown: dict[str, str],
    ) -> None:
        self._timeline = timeline
        self._codes = codes
        self._modules = modules
        self._shown = shown
        self._sums: dict[tuple[int, int], list[int]] = {}
        self._collectives: list[tuple[list[str], Times, Times]] = []

    def take(self, line: Line, which: wire.Array) -> None:
        """Add the events of a line with these numbers."""
        if not len(which):
            return
        events, part = self._timeline.events, line.events
        duration = events.duration_ps[part][which]
        _, own, _ = nest(events.start_ps[part][which], duration)
        op = self._codes["hlo_op"][part][which]
        op = np.where(op >= 0, op, events.name[part][which]).astype(np.int64)
        self._take_collectives(line, which, op, events.name[part][which])
        module = self._module(line, which)
        keys, where = np.unique(module * len(events.names) + op, return_inverse=True)
        count = np.bincount(where)
        lasted, alone = np.bincount(where, duration), np.bincount(where, own)
        for key, *sums in zip(
            keys.tolist(), count.tolist(), lasted.tolist(), alone.tolist(), strict=True
        ):
            known = self._sums.setdefault(divmod(key, len(events.names)), [0, 0, 0])
            known[:] = [int(a + b) for a, b in zip(known, sums, strict=True)]

    def _take_collectives(
        self, line: Line, which: wire.Array, op: wire.Array, name: wire.Array
    ) -> None:
        # On a GPU the kernel of what HLO begins early (all-reduce-start) does the exchange itself.
        own = self._of_collectives(op) | self._of_collectives(name)
        if own.any():
            which, op = which[own], op[own]
            self._collectives.append(
                (
                    [self._name(code) for code in op.tolist()],
                    self._timeline.begins(line, which),
                    self._timeline.ends(line, which),
                )
            )

    def _of_collectives(self, codes: wire.Array) -> wire.Array:
        """Which of these names are those of collectives."""
        beginnings = events("collective")
        distinct, where = np.unique(codes, return_inverse=True)
        names = [self._name(code) for code in distinct.tolist()]
        found = [bool(_COLLECTIVE.fullmatch(name)) or name.startswith(beginnings) for name in names]
        return np.array(found, np.bool_)[where]

    def _name(self, code: int) -> str:
        name = self._timeline.events.names[code]
        return self._shown.get(name, name)

    def collectives(self) -> Collectives:
        """The executions of collective operations."""
        return Collectives.of(self._collectives)

    def _module(self, line: Line, which: wire.Array) -> wire.Ints:
        module = self._codes["hlo_module"][line.events][which].astype(np.int64)
        if not self._modules:
            return module
        begins = self._timeline.begins(line, which)
        at = np.maximum(np.searchsorted(self._modules["begin"], begins, side="right") - 1, 0)
        inside = (begins >= self._modules["begin"][at]) & (begins < self._modules["end"][at])
        return np.where((module < 0) & inside, self._modules["name"][at], module)

    def columns(self) -> dict[str, list[Any]]:
        """One row per operation, the longest first."""
        names = [*self._timeline.events.names, None]  # the last is for no module
        rows = sorted(self._sums.items(), key=lambda item: (-item[1][2], item[0]))
        return {
            "hlo_module": [_without_id(names[module]) for (module, _), _ in rows],
            "hlo_op": [self._shown.get(names[op] or "", names[op]) for (_, op), _ in rows],
            "count": [sums[0] for _, sums in rows],
            "duration_ns": [sums[1] // 1000 for _, sums in rows],
            "self_ns": [sums[2] // 1000 for _, sums in rows],
        }
