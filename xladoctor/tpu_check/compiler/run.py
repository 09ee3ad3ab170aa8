"""Compiles graphs for TPUs, each in a process of its own, one at a time for each user.

The compiler can take minutes and gigabytes, never end, or abort its process: it is held to limits,
and whatever becomes of it is an outcome, never an exception.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xladoctor.quantities import duration
from xladoctor.tpu_check.compiler import memory
from xladoctor.tpu_check.compiler.answer import outcome_of, read_result, refused
from xladoctor.tpu_check.compiler.cache import Cache, key_of
from xladoctor.tpu_check.compiler.interpreter import Compiler, clean_environment
from xladoctor.tpu_check.compiler.outcome import Outcome, Refused
from xladoctor.tpu_check.compiler.topology import Topology
from xladoctor.tpu_check.graphs import Graph

CHILD = Path(__file__).with_name("child")
_LOOK_S = 0.1
_TELL_S = 1.0
_GRACE_S = 3.0  # from SIGTERM to SIGKILL
_TAIL = 65_536  # bytes of output in which to look for a message
_FATAL = re.compile(r"^F\d{4} [^\]]*\] (.*)", re.MULTILINE)
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """What compiling one graph may take.

    Attributes:
        seconds: of time.
        memory: bytes of the child's resident memory; None for most of what is free at its start.
    """

    seconds: float = 600.0
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is.

    Attributes:
        phase: ``waiting`` for another process, ``starting`` the compiler, or ``compiling``.
        seconds: since this phase's compilation, or waiting, began.
        operations: of the graph, once they are counted.
        topology: with its shape, once it is chosen; before, as it was given.
        holder: the process that is waited for, if it is known.
    """

    phase: Literal["waiting", "starting", "compiling"]
    seconds: float
    operations: int | None = None
    topology: str = ""
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

    A graph that does not fit is found out within seconds, since the compiler plans memory early.
    What is kept are executables, and that a graph does not fit. The module of a result lies in the
    cache, and lives as long as that.

    Args:
        limits: by default those of :class:`Limits`.
        progress: called once a second.
        cache: by default the user's.

    Raises:
        OSError: the cache's folder cannot be written.
    """
    cache = cache or Cache()
    key = key_of(graph, topology, compiler)
    if kept := cache.get(key):
        return outcome_of(*kept, topology, compiler, cached=True)
    tell = _Teller(progress or (lambda _: None), topology.name)
    with cache.working(tell.waiting) as work:
        if kept := cache.get(key):  # of the process that was waited for
            return outcome_of(*kept, topology, compiler, cached=True)
        failure = _run(work, graph, topology, compiler, limits or Limits(), tell)
        result = read_result(work)
        if failure is not None or result is None:
            return failure or refused("no_result", topology, compiler, "damaged result")
        if result.verdict == "refused":
            return outcome_of(result, work, topology, compiler)
        return outcome_of(result, cache.put(key, work), topology, compiler)


class _Teller:
    """Calls the user's function at most once a second."""

    def __init__(self, progress: Tell, topology: str) -> None:
        self._progress = progress
        self._topology = topology
        self._began = time.monotonic()
        self._last = 0.0

    def waiting(self, holder: int | None) -> None:
        """Another process compiles."""
        self._say("waiting", holder=holder)

    def start(self) -> None:
        """From now on the child runs."""
        self._began = time.monotonic()
        self._last = 0.0

    def running(self, work: Path) -> None:
        """The child runs, and may have written how far it is."""
        if time.monotonic() - self._last < _TELL_S:
            return
        try:
            found = json.loads((work / "progress.json").read_bytes())
            operations, name = int(found["operations"]), str(found["topology"])
        except (OSError, ValueError, KeyError, TypeError):
            self._say("starting")
        else:
            self._say("compiling", operations, name)

    def _say(
        self,
        phase: Literal["waiting", "starting", "compiling"],
        operations: int | None = None,
        topology: str = "",
        holder: int | None = None,
    ) -> None:
        now = time.monotonic()
        if now - self._last >= _TELL_S:
            self._last = now
            name = topology or self._topology
            self._progress(Progress(phase, now - self._began, operations, name, holder))


def _run(
    work: Path, graph: Graph, topology: Topology, compiler: Compiler, limits: Limits, tell: _Teller
) -> Refused | None:
    """Let a child write a result into ``work``; what happened if there may be none."""
    most = limits.memory if limits.memory is not None else memory.most()
    output = work / "output"
    with output.open("wb") as said:
        try:
            child = subprocess.Popen(
                [str(compiler.python), str(CHILD), str(_request(work, graph, topology))],
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
    try:
        exceeded = _watch(child, work, limits.seconds, most, tell)
    finally:
        _end(child)
    if exceeded == "timed_out":
        return refused("timed_out", topology, compiler, duration(limits.seconds))
    if exceeded:
        detail = f"the limit is {most / _GIB:.3g} GiB"
        return refused("out_of_memory", topology, compiler, detail)
    if (work / "result.json").exists():
        return None
    return _death(child.returncode, output, topology, compiler)


def _request(work: Path, graph: Graph, topology: Topology) -> Path:
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
            {"devices": each.devices, "name": each.name, "options": dict(each.kind.options)}
            for each in topology.shaped()
        ],
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
    child: subprocess.Popen[bytes], work: Path, seconds: float, most: int, tell: _Teller
) -> Literal["timed_out", "out_of_memory"] | None:
    """Wait until the child ends, or exceeds a limit."""
    end = time.monotonic() + seconds
    while True:
        try:
            child.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            pass
        else:
            return None
        if memory.resident(child.pid) > most:
            return "out_of_memory"
        if time.monotonic() > end:
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
