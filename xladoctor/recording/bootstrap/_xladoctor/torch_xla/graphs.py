"""Lowers some graphs once more, just before torch_xla does, to keep them as they are then.

While torch_xla compiles, nothing of Python runs, and afterwards the graph is gone. So a graph is
lowered where it is probably new: at the first barrier of a line, at one in whose step a shape was
sent that was not sent before, and at the next one of a line whose last barrier compiled, or had
nothing to launch. In steady steps nothing is lowered.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from .. import clock
from ..calls import Calls, Installer
from ..step import ThreadState

_MOST = 12  # graphs lowered: each takes some hundredths of the time of its compilation


class _Lowered(NamedTuple):
    """What a launch was about to compile, or to launch.

    Attributes:
        step: the number of its step.
        again: whether it was lowered because the last graph of the line was compiled.
        read: whether a read launches it.
    """

    graph: bytes
    step: int
    again: bool
    read: bool


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


#: A launch that may be new: its thread and call site, whether it is new for sure, what is launched
#: (without any tensors all that is not computed yet), and the device.
_Launch = tuple[_Thread, int | None, bool, Any, str]


class Lowering(Installer):
    """Hands graphs over to ``calls.graphs``."""

    def __init__(self, xlac: Any, calls: Calls) -> None:
        super().__init__(calls)
        self._xlac = xlac
        self._wait = xlac._xla_wait_device_ops  # before it is wrapped
        self._default_device = xlac._xla_get_default_device
        self._graphs = calls.graphs
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
            self._calls.before_read = self._before_read

    def before_warm_up(self, tensors: Any, *_: Any) -> None:
        """What torch.compile has traced is about to be compiled; it has waited for the device."""
        if not self._graphs.supported or self._recorder.off:
            return
        state, begin = self._recorder.thread(), clock.perf_counter_ns()
        if self._room() and (graph := self._lower(tensors, "")):
            number = self._recorder.compilations.ended()
            self._keep(state, graph, state.index, self._calls.sites.here(4), number)
        self._leave_out(state, begin)

    def _before_barrier(self, state: ThreadState, site: int | None, args: Any, kwargs: Any) -> int:
        """Called before each barrier; most have nothing new."""
        launch = self._calls.note(self._at_barrier, state, site, args, kwargs)
        return self._look(*launch) if launch else 0

    def _before_read(self, state: ThreadState, site: int | None, args: Any, kwargs: Any) -> int:
        """In a program without barriers, reads launch its graphs."""
        launch = self._calls.note(self._at_read, state, site, args)
        return self._look(*launch) if launch else 0

    def _at_barrier(
        self, state: ThreadState, site: int | None, args: Any, kwargs: Any
    ) -> _Launch | None:
        """The launch of a barrier, if it may have something new."""
        thread = self._threads.get(state.id)
        recorder = self._recorder
        shapes = recorder.shapes
        if (
            thread is not None
            and thread.compiled == recorder.compilations.count
            and thread.shapes == shapes
            and thread.lowered is None
            and site in self._sites
        ):
            thread.site = site
            return None
        new = site not in self._sites or (thread is not None and thread.shapes != shapes)
        self._sites.add(site)
        thread = thread or self._thread(state)
        thread.shapes = shapes
        device = kwargs.get("device", args[0] if args else "")
        return thread, site, new, [], device or self._default_device()

    def _at_read(self, state: ThreadState, site: int | None, args: Any) -> _Launch | None:
        """The launch of a read, before the first barrier."""
        if state.index or not args:
            return None
        thread = self._threads.get(state.id) or self._thread(state)
        return thread, site, False, [args[0]], str(args[0].device)

    def _thread(self, state: ThreadState) -> _Thread:
        thread = self._threads[state.id] = _Thread(state)
        thread.compiled = self._recorder.compilations.count
        return thread

    def _look(self, thread: _Thread, site: int | None, new: bool, tensors: Any, device: str) -> int:
        """Lower what a launch is about to compile, where it is probably new.

        Args:
            tensors: what is launched; without any, all that is not computed yet.

        Returns:
            How long it took, in ns. The program would wait for the device, too.
        """
        waits_for = self._calls.note(self._due, thread, site, new, device)
        if not waits_for:
            return 0
        # Until the last launch has ended, its results have no buffers, and lowering may crash.
        # An error of that launch is raised here, and is the program's.
        self._wait([waits_for])
        begin = clock.perf_counter_ns()
        self._calls.note(self._take, thread, site in self._fresh, tensors, device)
        return self._calls.note(self._leave_out, thread.state, begin) or 0

    def _due(self, thread: _Thread, site: int | None, new: bool, device: str) -> str:
        """The device to wait for, if a launch is to be lowered; else empty."""
        self._settle(thread)
        thread.site = site
        if not (new or site in self._fresh) or not self._room():
            return ""
        if self._shares():
            return "SPMD:0"
        names: list[str] = self._xlac._xla_real_devices([device])
        return names[0]

    def _take(self, thread: _Thread, again: bool, tensors: Any, device: str) -> None:
        if graph := self._lower(tensors, device):
            thread.lowered = _Lowered(graph, thread.state.index, again, bool(tensors))

    def _room(self) -> bool:
        if self._graphs.wanted and self._count < _MOST:
            return True
        self._graphs.leave_out()
        return False

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
        launched = lowered.read or thread.state.index > lowered.step
        if not launched and not compiled:
            self._fresh.add(site)  # such as the first of torch_xla.compile's two: try the next
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
        if self._shares():
            return 1, len(self._xlac._xla_get_all_runtime_devices())
        return self._xlac._xla_get_replication_devices_count() or 1, 1

    def _shares(self) -> bool:
        runtime: Any = sys.modules.get("torch_xla.runtime")
        return runtime is not None and bool(runtime.is_spmd())

    def _lower(self, tensors: Any, device: str) -> bytes:
        """The graph of tensors; empty if it has no place in StableHLO."""
        self._count += 1
        lower = self._xlac._get_stablehlo
        found = self._hooks.examine("graphs before optimization", lower, tensors, device, [], True)
        return found or b""

    @staticmethod
    def _leave_out(state: ThreadState, begin: int) -> int:
        """Leave the time since then out of the program's; returns it, in ns."""
        spent = clock.perf_counter_ns() - begin
        state.leave_out(spent, state.step)
        state.previous += spent if state.previous else 0
        return spent

    def _end(self) -> None:
        for thread in list(self._threads.values()):
            self._settle(thread)
