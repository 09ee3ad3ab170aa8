"""Compilations in a timeline, and which of its modules each of them made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from xladoctor.frontends.vocabulary import events
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.xplane.space import Space


class Compiled(NamedTuple):
    """One compilation: its graph, and the client's part of it, in nanoseconds.

    ``client_ns`` is its sample of the compile-time metric; None if it is not in the timeline.
    """

    begin_ns: int
    end_ns: int
    graph_hash: str | None
    client_ns: int | None


def find(timeline: Timeline) -> list[Compiled]:
    """The compilations of all threads, in order of time."""
    compilations: list[Compiled] = []
    rows = timeline.events.rows_of("graph_hash")
    texts = timeline.events.interned(rows)
    hashes = dict(zip(rows.event.tolist(), texts.tolist(), strict=True))
    for line in (line for plane in timeline.hosts for line in plane.lines):
        graphs = timeline.named(line, *events("compilation"))
        clients = timeline.named(line, *events("client_compilation"))
        begins, ends = timeline.begins(line, graphs), timeline.ends(line, graphs)
        starts, stops = timeline.begins(line, clients), timeline.ends(line, clients)
        inside = np.searchsorted(starts, begins)
        for event, begin, end, client in zip(graphs.tolist(), begins.tolist(), ends.tolist(),
                                             inside.tolist(), strict=True):  # fmt: skip
            within = client < len(starts) and starts[client] < end
            code = hashes.get(line.first + event, -1)
            compilations.append(Compiled(
                begin, end, timeline.events.names[code] if code >= 0 else None,
                int(stops[client] - starts[client]) if within else None,
            ))  # fmt: skip
    return sorted(compilations, key=lambda compiled: compiled.begin_ns)


def _program(name: str, key: int) -> int:
    """The number in a module's name, ``jit_step(6)``, which events refer to; else its key."""
    number = re.search(r"\((\d+)\)$", name)
    return int(np.uint64(int(number[1]) % (1 << 64)).view(np.int64)) if number else key


def modules(
    space: Space, compiled: list[Compiled], ingested: Ingested
) -> Iterator[tuple[int, bytes, str | None]]:
    """(program id, serialized HloProto, graph hash or None) of each module in the file.

    Modules and compilations both come in the order of compilation. Modules from before the
    profile's start may be among them; they come first and have no event. With fewer modules than
    compilations the order proves nothing and none is named: a module under the wrong hash would
    give a wrong cause. If no compilation names its graph, as in JAX traces, none has a hash.
    """
    serialized = protos(space)
    earlier = len(serialized) - len(compiled)
    if serialized and earlier < 0:
        ingested.notes.append(
            f"{space.path}: {len(serialized)} modules for {len(compiled)} compilations;"
            " modules not joined"
        )
    hashes = [compilation.graph_hash for compilation in compiled]
    named = [None] * len(serialized) if earlier < 0 else [None] * earlier + hashes
    for (program, proto), graph_hash in zip(serialized, named, strict=True):
        yield program, proto, graph_hash


def protos(space: Space) -> list[tuple[int, bytes]]:
    """Number and serialized HloProto of each module in the file, in the order of compilation."""
    return sorted(
        (_program(entry.name, entry.id or key), stats["Hlo Proto"])
        for plane in space.planes if plane.name == "/host:metadata"
        for key, entry in plane.event_metadata.items()
        for stats in [plane.metadata_stats(entry)] if stats.get("Hlo Proto")
    )  # fmt: skip
