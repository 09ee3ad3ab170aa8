"""The timeline (``.xplane.pb``): host events worth a row, and the compiled modules in it.

Reads with protobuf, event by event, and keeps only the events named below. Structure: a plane
``/host:CPU`` with a line a thread; a plane ``/host:metadata`` whose event metadata carry, under the
stat ``Hlo Proto``, each module that was compiled while the profiler ran. Times are nanoseconds from
the start of the profile.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from xladoctor.ingest import hlo
from xladoctor.ingest.compilations import CLIENT_COMPILE, GRAPH_COMPILE
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.protobuf_schema import message

_KEPT = frozenset({
    "StepMarker", "SyncTensorsGraph", GRAPH_COMPILE, CLIENT_COMPILE,
    "PjRtComputationClient::TransferToDevice", "PjRtComputationClient::TransferFromDevice",
    "PjRtComputationClient::ExecuteComputation",
})  # fmt: skip


def read_xplane(path: Path, process: int, folders: Folders, ingested: Ingested) -> None:
    """Fill ``event``, ``hlo_module`` and ``hlo_parameter`` from one timeline.

    A file that is cut or corrupted leaves a note; nothing of it is used then.
    """
    try:
        space = message("XSpace").FromString(path.read_bytes())
    except (OSError, DecodeError) as error:
        ingested.notes.append(f"{path}: the timeline cannot be read ({error}); not used")
        return
    ingested.table("event")
    modules: list[tuple[int, bytes]] = []
    for plane in space.planes:
        names = {entry.key: entry.value.name for entry in plane.stat_metadata}
        if plane.name == "/host:metadata":
            modules += _modules(plane, names)
        elif plane.name == "/host:CPU":
            _events(plane, names, process, ingested)
    _join(modules, process, folders, ingested, path)


def _modules(plane: Any, names: dict[int, str]) -> list[tuple[int, bytes]]:
    return [
        (entry.value.id or entry.key, stat.bytes_value)
        for entry in plane.event_metadata
        for stat in entry.value.stats
        if names.get(stat.metadata_id) == "Hlo Proto" and stat.bytes_value
    ]


def _events(plane: Any, names: dict[int, str], process: int, ingested: Ingested) -> None:
    kept = {e.key: e.value.name for e in plane.event_metadata if e.value.name in _KEPT}
    for line in plane.lines:
        for event in line.events:
            name = kept.get(event.metadata_id)
            if name is None:
                continue
            hashes = [s.str_value or names.get(s.ref_value)  # a repeated text is a reference
                      for s in event.stats if names.get(s.metadata_id) == "graph_hash"]  # fmt: skip
            ingested.add(
                "event", process=process, line=line.id, name=name,
                start_ns=line.timestamp_ns + event.offset_ps // 1000,
                duration_ns=event.duration_ps // 1000, graph_hash=hashes[0] if hashes else None,
            )  # fmt: skip


def _join(
    modules: list[tuple[int, bytes]], process: int, folders: Folders, ingested: Ingested, path: Path
) -> None:
    """Name the graph hash of each module: both come in the order of compilation.

    Modules from before the profile's start may be among them; they come first, without an event.
    With fewer modules than compilations the order proves nothing, and none is named: a module
    under the wrong hash would be a wrong cause.
    """
    events = ingested.tables["event"]
    rows = zip(*(events.get(key, ()) for key in ("name", "start_ns", "graph_hash", "process")),
               strict=True)  # fmt: skip
    own = [row[1:3] for row in rows if row[0] == GRAPH_COMPILE and row[3] == process]
    compiled = sorted(own, key=lambda event: event[0])  # the hash may be missing
    hashes: list[str | None] = [graph_hash for _, graph_hash in compiled]
    earlier = len(modules) - len(hashes)
    if earlier < 0:
        ingested.notes.append(
            f"{path}: {len(modules)} modules for {len(hashes)} compilations; modules not joined"
        )
    unnamed: list[str | None] = [None] * (len(modules) if earlier < 0 else earlier)
    hashes = unnamed if earlier < 0 else unnamed + hashes
    for (program, proto), graph_hash in zip(sorted(modules), hashes, strict=True):
        hlo.read_module(proto, process, program, graph_hash, folders, ingested)
