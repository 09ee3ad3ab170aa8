"""Compiles graphs for TPUs, each in a process of its own, one at a time for each user.

The compiler can take minutes and gigabytes, never end, or abort its process: it is held to limits,
and whatever becomes of it is an outcome, never an exception.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from xladoctor.quantities import duration
from xladoctor.tpu_check.compiler import memory
from xladoctor.tpu_check.compiler.answer import outcome_of, read_result, refused
from xladoctor.tpu_check.compiler.cache import Cache, key_of
from xladoctor.tpu_check.compiler.interpreter import Compiler, clean_environment
from xladoctor.tpu_check.compiler.outcome import Least, Outcome, Refused
from xladoctor.tpu_check.compiler.topology import Topology
from xladoctor.tpu_check.graphs import Graph

CHILD = Path(__file__).with_name("child")
_LOOK_S = 0.1
_TELL_S = 1.0
_GRACE_S = 3.0  # from SIGTERM to SIGKILL
_TAIL = 65_536  # bytes of output in which to look for a message
_FATAL = re.compile(r"^F\d{4} [^\]]*\] (.*)", re.MULTILINE)
_GIB = 1 << 30
_LEAST_S = 600.0
#: For each operation, on a machine with much else to do: to a plan of memory, and to code. Of
#: measured graphs, a plan took 2 to 7 ms of processor time, and code 15 to 600.
_PLAN_S, _CODE_S, _MOST_S = 0.025, 2.0, 7200.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What compiling one graph may take.

    Attributes:
        seconds: of time; None for what the number of operations suggests.
        memory: bytes of the child's resident memory; None for most of what is free at its start.
        whole: whether machine code is generated, too.
    """

    seconds: float | None = None
    memory: int | None = None
    whole: bool = False

    def allowed(self, operations: int | None) -> float:
        """Seconds for a graph with that many operations; None if they are not counted yet."""
        if self.seconds is not None:
            return self.seconds
        if self.whole:
            return min(_MOST_S, max(_LEAST_S, _CODE_S * (operations or 0)))
        return max(_LEAST_S, _PLAN_S * (operations or 0))


Phase = Literal["waiting", "starting", "reading", "compiling"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is.

    Attributes:
        name: of the graph.
        phase: ``waiting`` for another process, ``starting`` the compiler, ``reading`` the graph, or
            ``compiling``.
        seconds: since this phase's compilation, or waiting, began; ``limit``: the most of them.
        available: memory of a device, in bytes.
        topology: with its shape, once it is chosen; before, as it was given.
        operations: of the graph, once they are counted; ``loops`` among them.
        least: a lower bound of what a device must hold, once it is found.
        holder: the process that is waited for, if it is known.
    """

    name: str
    phase: Phase
    seconds: float
    limit: float
    available: int
    topology: str = ""
    operations: int | None = None
    loops: int = 0
    least: Least | None = None
    holder: int | None = None


Tell = Callable[[Progress], None]


def compile_graph(
    graph: Graph,
    topology: Topology,
    compiler: Compiler,
    *,
    limits: Limits | None = None,
    progress: Tell | None = None,
    cache: Cache | None = None,
) -> Outcome:
    """Compile one graph for a TPU at the default level of optimization, or recall what came of it.

    The compiler plans memory early; it is stopped then unless the whole is asked for. What is kept
    are modules with their plan, and that a graph does not fit. The module of a result lies in the
    cache, and lives as long as that. Ctrl-C is an outcome, too.

    Args:
        limits: by default those of :class:`Limits`.
        progress: called once a second.
        cache: by default the user's.

    Raises:
        OSError: the cache's folder cannot be written.
    """
    cache, limits = cache or Cache(), limits or Limits()
    tell = _Teller(progress or (lambda _: None), graph, topology, limits)
    try:
        return _compiled(graph, topology, compiler, cache, tell)
    except (KeyboardInterrupt, SystemExit):  # Ctrl-C; what is known by then is reported
        return refused("interrupted", topology, compiler, least=tell.seen.least)


def _compiled(
    graph: Graph, topology: Topology, compiler: Compiler, cache: Cache, tell: _Teller
) -> Outcome:
    key = key_of(graph, topology, compiler, whole=tell.limits.whole)
    if kept := cache.get(key):
        return outcome_of(*kept, topology, compiler, cached=True)
    with cache.working(tell.waiting) as work:
        if kept := cache.get(key):  # of the process that was waited for
            return outcome_of(*kept, topology, compiler, cached=True)
        failure = _run(work, graph, topology, compiler, tell)
        result = read_result(work)
        if failure is not None or result is None:
            return failure or refused("no_result", topology, compiler, "damaged result")
        if result.verdict == "refused":
            return outcome_of(result, work, topology, compiler)
        return outcome_of(result, cache.put(key, work), topology, compiler)


class _Seen(msgspec.Struct):
    """``progress.json``; see ``child/``."""

    phase: Phase = "starting"
    operations: int | None = None
    loops: int = 0
    topology: str = ""
    least: Least | None = None


class _Teller:
    """Calls the user's function at most once a second.

    Attributes:
        seen: what the child has said last.
    """

    def __init__(self, progress: Tell, graph: Graph, topology: Topology, limits: Limits) -> None:
        self._progress, self._graph, self._topology = progress, graph, topology
        self._began = time.monotonic()
        self._last = 0.0
        self.limits = limits
        self.seen = _Seen()

    def waiting(self, holder: int | None) -> None:
        """Another process compiles."""
        self._say("waiting", holder)

    def start(self) -> None:
        """From now on the child runs."""
        self._began = time.monotonic()
        self._last = 0.0

    def running(self, work: Path) -> None:
        """The child runs, and may have written how far it is."""
        if time.monotonic() - self._last >= _TELL_S:
            self.look(work)
            self._say(self.seen.phase)

    def look(self, work: Path) -> None:
        """Read what the child has written."""
        with suppress(OSError, msgspec.DecodeError):
            content = (work / "progress.json").read_bytes()
            self.seen = msgspec.json.decode(content, type=_Seen)

    @property
    def allowed(self) -> float:
        """The limit, in seconds."""
        return self.limits.allowed(self.seen.operations)

    def _say(self, phase: Phase, holder: int | None = None) -> None:
        now, seen = time.monotonic(), self.seen
        if now - self._last < _TELL_S:
            return
        self._last = now
        self._progress(
            Progress(
                self._graph.name,
                phase,
                now - self._began,
                self.allowed,
                self._topology.memory,
                seen.topology or self._topology.name,
                seen.operations,
                seen.loops,
                seen.least,
                holder,
            )
        )


def _run(
    work: Path, graph: Graph, topology: Topology, compiler: Compiler, tell: _Teller
) -> Refused | None:
    """Let a child write a result into ``work``; what happened if there may be none."""
    most = tell.limits.memory if tell.limits.memory is not None else memory.most()
    request = _request(work, graph, topology, tell.limits)
    output = work / "output"
    with output.open("wb") as said:
        try:
            child = subprocess.Popen(
                [str(compiler.python), str(CHILD), str(request)],
                cwd=work,
                env=_environment(work),
                start_new_session=True,  # Ctrl-C is for us, who end it
                stderr=said,
                stdin=subprocess.DEVNULL,
                stdout=said,
            )
        except OSError as error:
            return refused("no_result", topology, compiler, str(error))
    tell.start()
    before = _processor()
    try:
        exceeded = _watch(child, work, most, tell)
    finally:
        _end(child)
        tell.look(work)
    least = tell.seen.least
    if exceeded == "timed_out":
        spent = duration(_processor() - before)
        detail = f"{duration(tell.allowed)}, {spent} of them on a processor"
        return refused("timed_out", topology, compiler, detail, least)
    if exceeded:
        detail = f"the limit is {most / _GIB:.3g} GiB"
        return refused("out_of_memory", topology, compiler, detail, least)
    if (work / "result.json").exists():
        return None
    return replace(_death(child.returncode, output, topology, compiler), least=least)


def _processor() -> float:
    """Seconds of processor time of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _request(work: Path, graph: Graph, topology: Topology, limits: Limits) -> Path:
    """Write what the child is asked."""
    content = work / "graph"
    content.write_bytes(graph.content)
    request = {
        "content": str(content),
        "folder": str(work),
        "form": graph.form,
        "parent": os.getpid(),
        "partitions": graph.partitions,
        "donated": graph.donated,
        "replicas": graph.replicas,
        "topologies": [
            {
                "devices": each.devices,
                "memory": each.memory,
                "name": each.name,
                "options": dict(each.kind.options),
            }
            for each in topology.shaped()
        ],
        "whole": limits.whole,
    }
    path = work / "request.json"
    path.write_text(json.dumps(request), encoding="utf-8")
    return path


def _environment(work: Path) -> dict[str, str]:
    """For the child: nothing asks for a TPU, and nothing is written outside of ``work``."""
    return {
        **clean_environment(),
        # It opens no TPU, so that it need not wait for whoever has one.
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
        "JAX_PLATFORMS": "cpu",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(work),
        "TPU_LOG_DIR": str(work / "logs"),
        "TPU_SKIP_MDS_QUERY": "1",
    }


def _watch(
    child: subprocess.Popen[bytes], work: Path, most: int, tell: _Teller
) -> Literal["timed_out", "out_of_memory"] | None:
    """Wait until the child ends, or exceeds a limit."""
    began = time.monotonic()
    while True:
        try:
            child.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            pass
        else:
            return None
        if memory.resident(child.pid) > most:
            return "out_of_memory"
        if time.monotonic() > began + tell.allowed:
            return "timed_out"
        tell.running(work)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child, with whatever it has started, if it runs."""
    if child.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with suppress(subprocess.TimeoutExpired):
            child.wait(_GRACE_S)
    # The child may be gone, and something that it has started not.
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _death(status: int, output: Path, topology: Topology, compiler: Compiler) -> Refused:
    """What became of a child that left no result."""
    with output.open("rb") as said:
        said.seek(max(0, said.seek(0, os.SEEK_END) - _TAIL))
        text = said.read().decode(errors="replace")
    if status >= 0:
        last = (text.strip().splitlines() or ["it printed nothing"])[-1]
        return refused("no_result", topology, compiler, f"status {status}, {last}")
    if -status == signal.SIGKILL:
        detail = "Linux killed it (SIGKILL), as it does when memory runs out"
        return refused("out_of_memory", topology, compiler, detail)
    fatal = _FATAL.search(text)
    said_last = f": {fatal[1]}" if fatal else ""
    name = signal.Signals(-status).name if -status in [*signal.Signals] else "unknown"
    return refused("crashed", topology, compiler, f"signal {-status} ({name}){said_last}")
