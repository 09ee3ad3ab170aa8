"""Compiles graphs for TPUs, and reads the executables into facts."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from xladoctor.evidence.pod_runs import is_run
from xladoctor.facts.records import TpuCheckFile
from xladoctor.facts.tpu import TpuBuffer, TpuGraph, TpuOperation, TpuPeakBuffer
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.ingest import hlo
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.hlo.layout import bits
from xladoctor.quantities import nanoseconds
from xladoctor.tpu_check.compiler.interpreter import Compiler
from xladoctor.tpu_check.compiler.outcome import Buffer, Compiled, Outcome, Refused, Verdict
from xladoctor.tpu_check.compiler.run import Limits, Tell, compile_graph
from xladoctor.tpu_check.compiler.topology import Topology
from xladoctor.tpu_check.element_types import to_hlo
from xladoctor.tpu_check.executable import Executable, read_executable
from xladoctor.tpu_check.graphs import MOST, Found, Graph, find_graphs
from xladoctor.tpu_check.kept import kept_graphs

_MOST = 20_000  # operations of a graph: the largest are kept
_NAMED = ("jax", "libtpu")


@dataclass(frozen=True)
class Request:
    """What to compile graphs for, and with what.

    Attributes:
        most: how many graphs to compile at most.
    """

    topologies: Sequence[Topology]
    compiler: Compiler
    limits: Limits
    most: int = MOST


def check(path: Path, request: Request, progress: Tell) -> tuple[TpuCheckFile, list[str]]:
    """Compile the graphs in a path for each topology; also returns notes on what was left out.

    Args:
        path: a file, a folder, or a run directory.

    Raises:
        GraphsError: there is no graph in it.
        IngestError: the run is damaged.
        OSError: the cache's folder cannot be written.
    """
    find = kept_graphs if is_run(path) else find_graphs
    found = find(path, request.most)
    notes = list(found.notes)
    if count := len(found.left_out):
        notes.append(f"{count} more graph{'s were' if count > 1 else ' was'} left out")
    return check_graphs(found, request, progress), notes


def check_graphs(found: Found, request: Request, progress: Tell) -> TpuCheckFile:
    """Compile graphs for each topology. Raises OSError: the cache's folder cannot be written."""
    frontend = found.graphs[0].frontend
    folders = Folders(framework=vocabulary(frontend).packages)
    parts = [
        _checked(
            graph,
            number,
            topology,
            compile_graph(
                graph, topology, request.compiler, limits=request.limits, progress=progress
            ),
            folders,
        )
        for topology in request.topologies
        for number, graph in enumerate(found.graphs)
    ]
    facts: dict[str, Any] = {
        name: tuple(fact for part in parts for fact in getattr(part, name))
        for name in ("graphs", "operations", "products", "buffers", "peak")
    }
    return TpuCheckFile(frontend=frontend, **facts)


def _checked(
    graph: Graph, number: int, topology: Topology, outcome: Outcome, folders: Folders
) -> TpuCheckFile:
    """What came of one graph, as facts."""
    of: dict[str, Any] = {"graph": number, "topology": topology.name}
    described: dict[str, Any] = {
        **of,
        "name": graph.name,
        "source": str(graph.source),
        "role": graph.role,
        "launches": graph.launches,
        "available_bytes": topology.memory,
    }
    if isinstance(outcome, Refused):
        refused = TpuGraph(
            **described,
            compiled_for=topology.name,
            verdict="refused",
            reason=outcome.what,
            hint=outcome.hint,
        )
        return TpuCheckFile(graphs=(refused,))
    described |= {
        "compiled_for": outcome.topology,
        "devices": outcome.devices,
        "operations": outcome.operations,
        "compile_ns": nanoseconds(outcome.seconds),
        "cached": outcome.cached,
        "compiler": ", ".join(
            f"{name} {outcome.versions[name]}" for name in _NAMED if name in outcome.versions
        ),
    }
    if not isinstance(outcome, Compiled):
        described["available_bytes"] = outcome.available or topology.memory
        too_large = TpuGraph(**described, verdict="does_not_fit")
        return TpuCheckFile(graphs=(too_large,), buffers=_given(of, outcome))
    executable = _executable(outcome, number, topology, folders)
    return TpuCheckFile(
        graphs=(TpuGraph(**described, **_of_executable(outcome, executable), verdict="fits"),),
        operations=_largest(executable.operations),
        products=tuple(executable.products),
        buffers=_with_names(executable.buffers, outcome.buffers),
        peak=_peak(outcome, of, folders),
    )


def _peak(compiled: Compiled, of: dict[str, Any], folders: Folders) -> tuple[TpuPeakBuffer, ...]:
    """What it holds at its peak; nothing if the compiler has not written that."""
    if compiled.plan is None:
        return ()
    try:
        held = hlo.decode(gzip.decompress(compiled.plan.read_bytes()), 0, folders).held()
    except (OSError, EOFError, zlib.error, DecodeError):
        return ()
    names = [name for name in TpuPeakBuffer.__annotations__ if name in held]
    rows = zip(*(held[name] for name in names), strict=True)
    return tuple(TpuPeakBuffer(**of, **dict(zip(names, row, strict=True))) for row in rows)


def _executable(
    compiled: Compiled, number: int, topology: Topology, folders: Folders
) -> Executable:
    content = gzip.decompress(compiled.module.read_bytes())
    with suppress(DecodeError):  # of a libtpu that writes modules otherwise: memory is known
        return read_executable(content, folders, number, topology.name, compiled.mesh)
    return Executable([], [], [])


def _of_executable(compiled: Compiled, executable: Executable) -> dict[str, Any]:
    memory, operations = compiled.memory, executable.operations
    found: dict[str, Any] = {
        "peak_bytes": memory.peak,
        "argument_bytes": memory.arguments,
        "result_bytes": memory.outputs,
        "aliased_bytes": memory.aliased,
        "temporary_bytes": memory.temporaries,
    }
    # Transfers between memories write what another operation has written.
    if made := [each for each in operations if each.does != "transfers"]:
        found |= {
            "written_bytes": sum(each.bytes * each.times for each in made),
            "padding_bytes": sum(map(_padding, made)),
            "unknown_layouts": sum(each.times for each in made if each.padded_bytes is None),
        }
    return found


def _padding(operation: TpuOperation) -> int:
    padded = operation.padded_bytes
    return 0 if padded is None else (padded - operation.bytes) * operation.times


def _largest(operations: Sequence[TpuOperation]) -> tuple[TpuOperation, ...]:
    taken = {id(each): (each.padded_bytes or each.bytes) * each.times for each in operations}
    largest = sorted(operations, key=lambda each: taken[id(each)], reverse=True)
    return tuple(largest[:_MOST])


def _with_names(buffers: Iterable[TpuBuffer], given: Sequence[Buffer]) -> tuple[TpuBuffer, ...]:
    """Buffers of an executable with the names that the graph has."""
    names = {(each.role, each.number): each.name for each in given}
    return tuple(
        TpuBuffer(**{**vars(each), "name": each.name or names.get((each.role, each.number), "")})
        for each in buffers
    )


def _given(of: dict[str, Any], verdict: Verdict) -> tuple[TpuBuffer, ...]:
    """Buffers of a graph without an executable; none if what each device has is not known."""
    if verdict.devices > 1:
        return ()
    return tuple(
        TpuBuffer(
            **of,
            role=each.role,
            number=each.number,
            name=each.name,
            type=type_,
            shape=each.shape,
            bytes=-(-math.prod(each.shape) * bits(type_) // 8),
            donated=each.donated,
        )
        for each in verdict.buffers
        for type_ in (to_hlo(each.type),)
    )
