"""Finds compilations in a timeline, and the module that each of them made."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from xladoctor.frontends.vocabulary import called, events
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import Intervals, Times, covering
from xladoctor.ingest.xplane.nesting import in_order, innermost, nest
from xladoctor.ingest.xplane.space import Line, Space

_OF_MODULE = "module "  # followed by its number; stands for the hash of a graph


class Compiled(NamedTuple):
    """One compilation: its graph, and the client's part of it, in nanoseconds.

    ``client_ns`` is its sample of the compile-time metric; None if it is not in the timeline.
    ``function``: the called function, if the framework compiles functions.
    """

    begin_ns: int
    end_ns: int
    graph_hash: str | None
    client_ns: int | None
    function: str | None = None


def find(timeline: Timeline) -> list[Compiled]:
    """The compilations of all threads, in order of time."""
    compilations: list[Compiled] = []
    rows = timeline.events.rows_of("graph_hash")
    texts = timeline.events.interned(rows)
    hashes = dict(zip(rows.event.tolist(), texts.tolist(), strict=True))
    for line in timeline.threads:
        graphs = timeline.named(line, *events("compilation"))
        clients = timeline.named(line, *events("client_compilation"))
        begins, ends = timeline.begins(line, graphs), timeline.ends(line, graphs)
        starts, stops = timeline.begins(line, clients), timeline.ends(line, clients)
        inside = np.searchsorted(starts, begins)
        functions = _functions(timeline, line, begins)
        begins = np.maximum(begins - _traced(timeline, line, begins, ends), 0)
        for event, begin, end, client, function in zip(
            graphs.tolist(), begins.tolist(), ends.tolist(), inside.tolist(), functions, strict=True
        ):
            within = client < len(starts) and starts[client] < end
            code = hashes.get(line.first + event, -1)
            compilations.append(
                Compiled(
                    begin,
                    end,
                    timeline.events.names[code] if code >= 0 else None,
                    int(stops[client] - starts[client]) if within else None,
                    function,
                )
            )
    return sorted(compilations, key=lambda compiled: compiled.begin_ns)


def calls_that_compiled(timeline: Timeline, line: Line) -> tuple[Times, Times]:
    """The spans from the begin of each outermost call that compiled to its last compilation's end.

    Before the compiler runs, the call traces and lowers the function.
    """
    which = timeline.named(line, *events("compilation"))
    ends = np.sort(timeline.ends(line, which))
    calls = timeline.chosen(line, timeline.compiled_calls)
    begin, end = timeline.begins(line, calls), timeline.ends(line, calls)
    whole = Intervals.union(begin, end)
    last = np.searchsorted(ends, whole.end, side="right") - 1
    inside = (last >= 0) & (np.append(ends, 0)[last] > whole.begin)
    return whole.begin[inside], ends[last[inside]]


def _traced(timeline: Timeline, line: Line, begins: Times, ends: Times) -> Times:
    """How long the call traced before each compilation, since the previous one."""
    since, until = calls_that_compiled(timeline, line)
    order = np.argsort(ends, kind="stable")
    before = np.empty_like(ends)
    before[order] = np.append(0, ends[order])[:-1]
    call = covering(since, until, begins)
    start = np.append(since, 0)[call]
    return np.where(call >= 0, np.maximum(begins - np.maximum(start, before), 0), 0)


def _functions(timeline: Timeline, line: Line, instants: Times) -> list[str | None]:
    """The innermost compiled function that is being called at each instant."""
    names = timeline.events.names
    which = timeline.chosen(line, timeline.compiled_calls)
    begin, end = timeline.begins(line, which), timeline.ends(line, which)
    begin, end, which = in_order(begin, end, which)
    _, _, parent = nest(begin, end - begin)
    texts = [called(names[index]) for index in timeline.events.name[line.events][which]]
    return [
        texts[call] if call >= 0 else None
        for call in innermost(begin, end, parent, instants).tolist()
    ]


def _number(name: str, key: int) -> int:
    """The number in a module's name, ``jit_step(6)``, which events refer to; else its key."""
    number = re.search(r"\((\d+)\)$", name)
    return int(np.uint64(int(number[1]) % (1 << 64)).view(np.int64)) if number else key


def program_of(name: str) -> str:
    """The part of a module's name that it shares with calls of its function.

    ``PjitFunction(<lambda>)`` runs ``jit__lambda(6)``, or ``jit__lambda_(6)``.
    """
    function = called(name)
    plain = f"jit_{function}" if function else re.sub(r"\(\d+\)$", "", name)
    return re.sub(r"\W+", "_", plain).strip("_")


def with_modules(space: Space, compiled: Sequence[Compiled]) -> list[Compiled]:
    """The compilations; if they only name functions, with their module in place of a graph.

    The last modules of a function belong to its compilations in the timeline, in order. If it has
    fewer modules than compilations, none is assigned.
    """
    made: dict[str, list[int]] = defaultdict(list)
    for module, program, _ in _modules(space):
        made[program_of(module)].append(program)
    calls: dict[str, list[int]] = defaultdict(list)
    for row, each in enumerate(compiled):
        if each.function and each.graph_hash is None:
            calls[program_of(f"jit_{each.function}")].append(row)
    named = list(compiled)
    for name, rows in calls.items():
        programs = made[name][-len(rows) :]
        if len(programs) == len(rows):
            for row, program in zip(rows, programs, strict=True):
                named[row] = named[row]._replace(graph_hash=f"{_OF_MODULE}{program}")
    return named


def modules(
    space: Space, compiled: list[Compiled], notes: list[str]
) -> Iterator[tuple[int, bytes, str | None]]:
    """(program id, serialized HloProto, graph hash or None) of each module in the file.

    Modules and compilations are both in the order of compilation. Modules from before the profile's
    start may come first; they have no event. With fewer modules than compilations the order proves
    nothing, and none gets a hash: a module under the wrong hash would give a wrong cause. If
    compilations name functions, :func:`with_modules` has joined them.
    """
    serialized = protos(space)
    hashes = [compilation.graph_hash for compilation in compiled]
    if any(compilation.function for compilation in compiled):
        for program, proto in serialized:
            stands = f"{_OF_MODULE}{program}"
            yield program, proto, stands if stands in hashes else None
        return
    earlier = len(serialized) - len(compiled)
    if serialized and earlier < 0:
        notes.append(
            f"{space.path}: {len(serialized)} modules for {len(compiled)} compilations;"
            " modules not joined"
        )
    named = [None] * len(serialized) if earlier < 0 else [None] * earlier + hashes
    for (program, proto), graph_hash in zip(serialized, named, strict=True):
        yield program, proto, graph_hash


def protos(space: Space) -> list[tuple[int, bytes]]:
    """Number and serialized HloProto of each module in the file, in the order of compilation."""
    return [(program, proto) for _, program, proto in _modules(space)]


def _modules(space: Space) -> list[tuple[str, int, bytes]]:
    """As :func:`protos`, with the modules' names."""
    return sorted(
        (
            (entry.name, _number(entry.name, entry.id or key), stats["Hlo Proto"])
            for plane in space.planes
            if plane.name == "/host:metadata"
            for key, entry in plane.event_metadata.items()
            for stats in [plane.metadata_stats(entry)]
            if stats.get("Hlo Proto")
        ),
        key=lambda module: module[1:],
    )
