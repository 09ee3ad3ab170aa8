"""Lowers some graphs once more, just before torch_xla does, to keep them as they are then.

While torch_xla compiles, nothing of Python runs, and afterwards the graph is gone. So a graph is
lowered where it is probably new: at the first barrier of a line, at one in whose step a shape was
sent that was not sent before, and at the next one of a line whose last barrier compiled. In steady
steps nothing is lowered.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from .. import clock
from ..calls import Calls
from ..disguise import pass_on
from ..step import ThreadState

_MOST = 24  # graphs lowered: each takes some hundredths of the time of its compilation


class _Lowered(NamedTuple):
    """What a launch was about to compile, or to launch.

    Attributes:
        step: the number of its step.
        again: whether it was lowered because the last graph of the line was compiled.
    """

    graph: bytes
    step: int
    again: bool


class _Thread:
    """A thread at its last barrier, or read that launches work.

    Attributes:
        compiled: compilations of the process before that.
        shapes: new shapes that the process had sent by then.
    """

    def __init__(self, state: ThreadState) -> None:
        self.state = state
        self.site: int | None = None
        self.compiled = self.shapes = 0
        self.lowered: _Lowered | None = None


class Lowering:
    """Hands graphs over to ``calls.graphs``."""

    def __init__(self, xlac: Any, calls: Calls, missing: dict[str, str]) -> None:
        self._xlac = xlac
        self._calls = calls
        self._recorder = calls.recorder
        self._graphs = calls.graphs
        self._missing = missing
        self._count = 0
        self._threads: dict[int, _Thread] = {}
        self._sites = set[int | None]()  # of barriers
        self._kept = set[int | None]()  # lines with a graph that was kept
        self._fresh = set[int | None]()  # lines whose last graph was compiled

    def install(self) -> None:
        """Look at barriers and reads from now on."""
        self._graphs.supported = hasattr(self._xlac, "_get_stablehlo")
        if self._graphs.supported:
            self._graphs.before_end = self._end
            self._calls.before_barrier = self._before_barrier
            self._calls.looks = self._before_read

    def before_warm_up(self, tensors: Any) -> None:
        """What torch.compile has traced is about to be compiled."""
        if not self._graphs.supported or self._recorder.off:
            return
        state, begin = self._recorder.thread(), clock.perf_counter_ns()
        if graph := self._lower(state, begin, tensors):
            number = self._recorder.compilations.ended()
            self._keep(state, graph, state.index, self._calls.sites.here(4), number)

    def _before_barrier(self, state: ThreadState, site: int | None, args: Any, kwargs: Any) -> None:
        """Called before each barrier; most have nothing new."""
        thread = self._threads.get(state.id) or self._thread(state)
        recorder = self._recorder
        shapes = recorder.shapes
        if (
            thread.compiled == recorder.compilations.count
            and thread.shapes == shapes
            and thread.lowered is None
            and site in self._sites
        ):
            thread.site = site
            return
        device = kwargs.get("device", args[0] if args else "")
        new = thread.shapes != shapes or site not in self._sites
        self._sites.add(site)
        thread.shapes = shapes
        self._look(thread, site, new, [], device)

    def _before_read(self, site: int | None, args: Any) -> None:
        """In a program without barriers, reads launch its graphs."""
        state = self._recorder.thread()
        if state.index == 0 and args:
            thread = self._threads.get(state.id) or self._thread(state)
            self._look(thread, site, False, [args[0]])

    def _thread(self, state: ThreadState) -> _Thread:
        thread = self._threads[state.id] = _Thread(state)
        thread.compiled = self._recorder.compilations.count
        return thread

    def _look(
        self, thread: _Thread, site: int | None, new: bool, tensors: Any, device: str = ""
    ) -> None:
        """Lower what a launch is about to compile: where it is probably new."""
        begin = clock.perf_counter_ns()
        self._settle(thread)
        again = site in self._fresh
        thread.site = site
        if new or again:
            graph = self._lower(thread.state, begin, tensors, device)
            thread.lowered = _Lowered(graph, thread.state.index, again) if graph else None

    def _settle(self, thread: _Thread) -> None:
        """Keep what the last launch lowered, if that was new."""
        was, thread.compiled = thread.compiled, self._recorder.compilations.count
        site, lowered, thread.lowered = thread.site, thread.lowered, None
        compiled = thread.compiled > was
        self._fresh.discard(site)
        if compiled:
            self._fresh.add(site)
        if lowered is None:
            return
        launched = thread.state.index > lowered.step
        if compiled or (launched and site not in self._kept):
            number = was if compiled else was - 1 if lowered.again and was else None
            self._keep(thread.state, lowered.graph, lowered.step, site, number)

    def _keep(
        self, state: ThreadState, graph: bytes, step: int, site: int | None, number: int | None
    ) -> None:
        self._kept.add(site)
        replicas, partitions = self._devices()
        self._graphs.add(
            state,
            graph,
            step=step,
            site=site,
            compilation=number,
            replicas=replicas,
            partitions=partitions,
        )

    def _devices(self) -> tuple[int, int]:
        """How many devices run a graph each with inputs of its own, and how many share arrays."""
        runtime: Any = sys.modules.get("torch_xla.runtime")
        if runtime is not None and runtime.is_spmd():
            return 1, len(self._xlac._xla_get_all_runtime_devices())
        return self._xlac._xla_get_replication_devices_count() or 1, 1

    def _lower(self, state: ThreadState, begin: int, tensors: Any, device: str = "") -> bytes:
        """The graph of tensors, of all that are not computed yet without any; empty if it is not
        lowered.
        """
        if not self._graphs.wanted or self._count >= _MOST:
            self._graphs.leave_out()
            return b""
        self._count += 1
        try:
            graph: bytes = self._xlac._get_stablehlo(tensors, device, [], True)
        except Exception as error:  # an operation that has no place in StableHLO
            pass_on(error)
            self._missing.setdefault("graphs before optimization", repr(error))
            graph = b""
        spent = clock.perf_counter_ns() - begin
        state.leave_out(spent, state.step)
        state.previous += spent if state.previous else 0
        return graph

    def _end(self) -> None:
        for thread in list(self._threads.values()):
            self._settle(thread)
