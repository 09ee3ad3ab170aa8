"""Compiles graphs for TPUs, and reads the executables into facts."""

from __future__ import annotations

import gzip
import math
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
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
from xladoctor.quantities import binary_size, nanoseconds
from xladoctor.tpu_check.compiler.environments import of_job
from xladoctor.tpu_check.compiler.interpreter import FLAGS, Compiler
from xladoctor.tpu_check.compiler.outcome import Buffer, Compiled, Least, Outcome, Refused, Verdict
from xladoctor.tpu_check.compiler.run import Limits, Tell, compile_graph
from xladoctor.tpu_check.compiler.topology import Topology
from xladoctor.tpu_check.element_types import to_hlo
from xladoctor.tpu_check.executable import Executable, read_executable
from xladoctor.tpu_check.graphs import MOST, Found, Graph, find_graphs
from xladoctor.tpu_check.kept import kept_graphs

#: How much more another release of the compiler may need, as a share; docs/tpu-check-accuracy.md
#: says how that was found.
MARGIN = 0.25
_NEAR = f"it fits, but near the limit: another release may need up to {MARGIN:.0%} more"
_THE_JOBS = "compile it with the job's release of JAX: --jax VERSION"
_MOST = 20_000  # operations of a graph: the largest are kept


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
    compiler = of_job(request.compiler, found.graphs[0].versions)
    parts = list[TpuCheckFile]()
    for topology, (number, graph) in product(request.topologies, enumerate(found.graphs)):
        outcome = compile_graph(graph, topology, compiler, limits=request.limits, progress=progress)
        parts.append(_checked(graph, number, topology, outcome, folders, compiler))
        if isinstance(outcome, Refused) and outcome.kind == "interrupted":
            break
    facts: dict[str, Any] = {
        name: tuple(fact for part in parts for fact in getattr(part, name))
        for name in ("graphs", "operations", "products", "buffers", "peak")
    }
    return TpuCheckFile(frontend=frontend, **facts)


def _checked(
    graph: Graph,
    number: int,
    topology: Topology,
    outcome: Outcome,
    folders: Folders,
    compiler: Compiler,
) -> TpuCheckFile:
    """What came of one graph, as facts."""
    of: dict[str, Any] = {"graph": number, "topology": topology.name}
    described: dict[str, Any] = {**of, **_described(graph, compiler)}
    described |= {"available_bytes": topology.memory, "compiled_for": topology.name}
    described |= _bound(outcome.least)
    if isinstance(outcome, Refused):
        described |= {"verdict": "refused", "reason": outcome.what, "hint": outcome.hint}
        return TpuCheckFile(graphs=(TpuGraph(**described),))
    described |= _found(outcome)
    peak = _peak(outcome, of, folders)
    if not isinstance(outcome, Compiled):
        described["available_bytes"] = outcome.available or topology.memory
        known = "; ".join(filter(None, [outcome.note, _had(graph, compiler)]))
        described |= {"needed_bytes": outcome.needed, "reason": known}
        too_large = TpuGraph(**described, verdict="does_not_fit")
        return TpuCheckFile(graphs=(too_large,), buffers=_given(of, outcome), peak=peak)
    executable = _executable(outcome, number, topology, folders)
    described |= {"peak_bytes": outcome.memory.peak, **_written(executable.operations)}
    had = _had(graph, compiler)
    if _is_certain(described):
        described |= {"verdict": "fits", "reason": had}
    else:
        described |= {"verdict": "unknown", "reason": _NEAR, "hint": had or _THE_JOBS}
    return TpuCheckFile(
        graphs=(TpuGraph(**described),),
        operations=_largest(executable.operations),
        products=tuple(executable.products),
        buffers=_with_names(executable.buffers, outcome.buffers),
        peak=peak,
    )


def _described(graph: Graph, compiler: Compiler) -> dict[str, Any]:
    """A graph, and what compiles it."""
    return {
        "name": graph.name,
        "source": str(graph.source),
        "role": graph.role,
        "launches": graph.launches,
        "compiler": _listed(compiler.versions),
        "flags": os.environ.get(FLAGS, ""),
        "recorded": _listed(graph.versions),
        "of_job": compiler.stated or compiler.is_of(graph.versions),
    }


def _found(verdict: Verdict) -> dict[str, Any]:
    """What is known whether it fits or not."""
    return {
        "compiled_for": verdict.topology,
        "devices": verdict.devices,
        "operations": verdict.operations,
        "compile_ns": nanoseconds(verdict.seconds),
        "processor_ns": nanoseconds(verdict.processor),
        "stage": verdict.stage,
        "cached": verdict.cached,
        "argument_bytes": verdict.memory.arguments,
        "result_bytes": verdict.memory.outputs,
        "aliased_bytes": verdict.memory.aliased,
        "temporary_bytes": verdict.memory.temporaries,
    }


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items() if version)


def _had(graph: Graph, compiler: Compiler) -> str:
    """What the run had, unless that is the compiler or the user has said what is."""
    versions = graph.versions
    if not versions or compiler.stated or compiler.is_of(versions):
        return ""
    had = f"the run had {_listed(versions)}"
    if "jax" in versions:
        return f"{had}; --jax {versions['jax']} compiles with these"
    return had if len(versions) > 1 else f"{had}; which libtpu the job has is unknown"


def _is_certain(described: Mapping[str, Any]) -> bool:
    """Whether a graph that fits with this compiler fits with the job's."""
    most: float = (described["peak_bytes"] or 0) * (1 + MARGIN)
    return bool(described["of_job"]) or most <= described["available_bytes"]


def _bound(least: Least | None) -> dict[str, Any]:
    """What a device must hold at least, and which of it is what."""
    if least is None:
        return {}
    parts = (("arguments", least.arguments), ("results beside them", least.results))
    named = [f"{name} {binary_size(size)}" for name, size in parts if size]
    return {"least_bytes": least.bytes, "least_parts": ", ".join(named)}


def _peak(verdict: Verdict, of: dict[str, Any], folders: Folders) -> tuple[TpuPeakBuffer, ...]:
    """What it holds at its peak; nothing if the compiler has not written that."""
    if verdict.plan is None:
        return ()
    try:
        held = hlo.decode(gzip.decompress(verdict.plan.read_bytes()), 0, folders).held()
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


def _written(operations: Sequence[TpuOperation]) -> dict[str, int]:
    # Transfers between memories write what another operation has written.
    made = [each for each in operations if each.does != "transfers"]
    if not made:
        return {}
    return {
        "written_bytes": sum(each.bytes * each.times for each in made),
        "padding_bytes": sum(map(_padding, made)),
        "unknown_layouts": sum(each.times for each in made if each.padded_bytes is None),
    }


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
