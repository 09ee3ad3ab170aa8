"""The step log: what the program did between two barriers, thread by thread.

The user's threads only add to counters and append finished lines to a list; a background thread
(:mod:`.writer`) formats and writes them. All durations are nanoseconds of a monotonic clock, all
instants nanoseconds of the wall clock, which is the clock of the metrics and of the timeline.

Lines of ``steps.jsonl`` (one JSON object each; ``event`` tells which):

``step``     a barrier that launched work: duration since the previous one, and what happened
``compile``  one compilation: when it ended and how long it took
``optimizer`` the call site of an optimizer's updates, once
``upload``   a shape that a call site sent to the device for the first time
``outlier``  a step that took much longer than usual
``tail``     what a thread did after its last barrier

Of a step or tail, ``reads``, ``uploads`` and ``saves`` are lists with a row for each call site.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from . import clock
from .call_site import CallSites
from .step import Step, ThreadState

_METRICS = ("CompileTime", "ExecuteTime", "TransferFromDeviceTime", "TransferToDeviceTime",
            "InboundData", "OutboundData", "DeviceLockWait", "LazyTracing")  # fmt: skip
_SNAPSHOT_NS = 250_000_000  # reading a metric copies up to 1,024 samples: not at each step
_SNAPSHOT_SHARE = 1000  # and later every thousandth of the time passed: the log stays bounded
_DENSE_STEPS = 20
_LINES_A_STRIDE = 20_000  # written with one barrier a line, then ten, a hundred, …
_MOST_EVENTS = 100_000  # compilations and shapes that have a line of their own
_SHAPES_A_SITE = 256
_RECENT = 256


def is_fallback(counter: str) -> bool:
    """Whether a counter is of an operator that ran on the CPU, or of scalar reads."""
    return "::" in counter and not counter.startswith(("xla::", "torch_xla::"))


class Recorder:
    """Collects the step log of a process. All methods are called on the user's threads."""

    def __init__(self, xlac: Any, sites: CallSites) -> None:
        self._counter = xlac._xla_counter_value
        self._counter_names = xlac._xla_counter_names
        self._metric = xlac._xla_metric_data
        self._sites = sites
        self.analysis_log: str | None = None
        self.log_begin = 0  # bytes of it that lie in earlier parts
        self._local = threading.local()
        self.threads: list[ThreadState] = []
        self.by_ident: dict[int, ThreadState] = {}  # idents are used again, so this stays small
        self.lines: list[dict[str, Any] | Step] = []
        self.emitted = self._events = 0
        self.compiled = 0
        #: How often each call site waited for the device's values, and how, closures left out.
        self.waits: dict[tuple[int | None, str], int] = {}
        self.off = False
        self._counting = threading.Lock()
        self.looking = threading.Lock()  # held while the sampler holds frames of the program
        self._recent: list[tuple[float, float]] = []  # end in seconds, duration in nanoseconds
        self._compile_samples = 0
        self._counters: dict[str, int] = {}
        self._fallbacks = xlac._get_executed_fallback_ops  # counters of operators on the CPU
        self._cleared: dict[str, int] = {}  # what counters held when the program cleared them
        self._metrics: dict[str, tuple[int, float]] = {}
        self._began = clock.perf_counter_ns()
        self._next_snapshot = 0
        self._optimizers: set[int] = set()
        self._shapes: set[Any] = set()  # site, shape and type of what was sent
        self._shapes_of: dict[int | None, int] = {}  # how many, of each site
        self._stride = 1

    def thread(self) -> ThreadState:
        """The state of the thread that asks."""
        try:
            state: ThreadState = self._local.state
        except AttributeError:
            state = self._local.state = self._new_thread()
        return state

    def _new_thread(self) -> ThreadState:
        state = ThreadState(clock.perf_counter_ns())
        ended = self.by_ident.get(state.ident)
        if ended is not None and ended in self.threads and not self.off:
            self.threads.remove(ended)
            self._tail(ended)
        self.threads.append(state)
        self.by_ident[state.ident] = state
        return state

    def forget_the_past(self) -> None:
        """What was compiled and counted before the capture is none of its own."""
        timed = self._metric("CompileTime")
        self._compile_samples = timed[0] if timed else 0
        self._snapshot()

    # -- what happened ---------------------------------------------------------------------

    def barrier(self, state: ThreadState, site: int | None, begin: int, end: int) -> bool:
        """A step barrier returned. True if it launched a graph, and so closed a step."""
        step = state.step
        compile_ns = self.compilations(state, "barrier", site, end - begin)
        step.barrier_ns += max(0, end - begin - compile_ns)
        launched = self.graphs(state) - state.graphs
        if launched == 0:
            return False
        step.executions += max(launched, 1)  # the program may clear the counters meanwhile
        step.steps += 1
        if step.steps >= self._stride or state.probed or (
            step.compilations and self._events < _MOST_EVENTS
        ):  # fmt: skip
            self._close(state, site, end)
        else:
            state.index += 1
        return True

    def read(self, state: ThreadState, site: int | None, kind: str, begin: int, end: int) -> None:
        """The host read a device value, and was blocked from ``begin`` to ``end``."""
        compile_ns = self.compilations(state, "read", site, end - begin)
        step = state.step
        if step.reads is None:
            step.reads = {}
        row = step.reads.setdefault((site, kind, state.closure), [0, 0, 0])
        row[0] += 1
        row[1] += end - begin
        row[2] += compile_ns
        if not state.closure:
            self._count_wait(site, kind)

    def _count_wait(self, site: int | None, kind: str) -> None:
        self.waits[site, kind] = self.waits.get((site, kind), 0) + 1

    def data(self, state: ThreadState, begin: int, end: int) -> None:
        """The thread waited for the next batch."""
        step = state.step
        begin = max(begin, step.begin)  # a barrier inside it closed a step
        if step.data is None:
            step.data = [0, 0]
        step.data[0] += 1
        step.data[1] += end - begin

    def uploads(self, site: int | None, tensors: Any, nanoseconds: int) -> None:
        """Host tensors were sent to the device; a shape is logged when new at this site."""
        state = self.thread()
        step = state.step
        if step.uploads is None:
            step.uploads = {}
        row = step.uploads.setdefault(site, [0, 0, 0])
        row[2] += min(nanoseconds, clock.perf_counter_ns() - step.begin)
        for tensor in tensors:
            row[0] += 1
            row[1] += tensor.numel() * tensor.element_size()
            if (site, tensor.shape, tensor.dtype) not in self._shapes:
                self._log_shape(state, site, tensor)

    def _log_shape(self, state: ThreadState, site: int | None, tensor: Any) -> None:
        count = self._shapes_of.get(site, 0)
        if count >= _SHAPES_A_SITE:
            return
        self._shapes_of[site] = count + 1
        self._shapes.add((site, tensor.shape, tensor.dtype))
        dtype = str(tensor.dtype).removeprefix("torch.")
        self._emit_event({"event": "upload", "thread": state.id, "step": state.index, "site": site,
                          "shape": list(tensor.shape), "dtype": dtype})  # fmt: skip

    def save(self, state: ThreadState, site: int | None, begin: int, end: int) -> None:
        """State of the device was saved."""
        step = state.step
        begin = max(begin, step.begin)  # a barrier inside it closed a step
        compile_ns = self.compilations(state, "save", site, end - begin)
        state.saved = True
        if step.saves is None:
            step.saves = {}
        row = step.saves.setdefault(site, [0, 0])
        row[0] += 1
        row[1] += max(0, end - begin - compile_ns)
        if not state.closure:
            self._count_wait(site, "save")

    def optimizer(self, state: ThreadState, identity: int) -> None:
        """An optimizer updated its parameters; the line that asked for it is logged once."""
        step = state.step
        if step.optimizers is None:
            step.optimizers = {}
        step.optimizers[identity] = step.optimizers.get(identity, 0) + 1
        if identity not in self._optimizers:
            self._optimizers.add(identity)
            self._emit({"event": "optimizer", "thread": state.id, "site": self._sites.here(4)})

    def has_compiled(self, state: ThreadState) -> bool:
        """Whether anything was, since :meth:`compilations` was last called for the thread."""
        return (self._counter("UncachedCompile") or 0) != state.compiled

    def settle(self, state: ThreadState) -> None:
        """Log what was compiled before the call to come, and so in none that is timed."""
        if self.has_compiled(state):
            since = clock.perf_counter_ns() - state.step.begin
            self.compilations(state, "other", None, since)

    def compilations(self, state: ThreadState, during: str, site: int | None, within: int) -> int:
        """Log what was compiled since the last call; return the nanoseconds of this thread's wait.

        Counters and samples are those of the process. Threads that compile side by side each wait
        for their own graph, so that each counts all, but never more than ``within``, its own time.
        """
        count = self._counter("UncachedCompile") or 0
        if count == state.compiled:
            return 0
        state.compiled = count
        self._log_compilations(state, during, site)
        fresh = [ns for ended, ns in self._recent if ended > state.checked]
        state.checked = max((ended for ended, _ in self._recent), default=0.0)
        spent = min(int(sum(fresh)), within)
        state.step.compilations += len(fresh)
        state.step.compile_ns += spent
        return spent

    def _log_compilations(self, state: ThreadState, during: str, site: int | None) -> None:
        with self._counting:
            total, _, samples = self._metric("CompileTime") or (0, 0.0, ())
            self._compile_samples = min(self._compile_samples, total)  # the program cleared them
            fresh = total - self._compile_samples
            self._compile_samples = total
            self.compiled += fresh
            new = samples[-fresh:] if fresh > 0 else ()
            self._recent = [*self._recent, *new][-_RECENT:]
        for ended, nanoseconds in new:
            self._emit_event({"event": "compile", "thread": state.id, "step": state.index,
                              "site": site, "during": during, "end_ns": int(ended * 1e9),
                              "duration_ns": int(nanoseconds)})  # fmt: skip

    # -- closing a step --------------------------------------------------------------------

    def graphs(self, state: ThreadState) -> int:
        """Graphs that the process launched so far, right after :meth:`compilations`."""
        return state.compiled + (self._counter("CachedCompile") or 0)

    def compiling(self) -> bool:
        """Whether a compilation is under way: it is counted when it begins, timed when it ends."""
        timed, begun = self._metric("CompileTime"), self._counter("UncachedCompile") or 0
        if timed is None or timed[0] < self._compile_samples:  # the program cleared its metrics
            return False
        return bool(begun > timed[0])

    def _close(self, state: ThreadState, site: int | None, end: int) -> None:
        step = self._ended(state, end)
        step.site = site
        now = clock.perf_counter_ns()
        if state.index < _DENSE_STEPS or now >= self._next_snapshot:
            step.grown = self._snapshot()
            self._next_snapshot = now + max(_SNAPSHOT_NS, (now - self._began) // _SNAPSHOT_SHARE)
        elif names := self._fallbacks():
            with self._counting:
                counters = self._changed(names)
            if counters:
                step.grown = {"counters": counters}
        self._emit(step)
        state.index += 1
        state.step = Step(state, clock.perf_counter_ns())

    def _ended(self, state: ThreadState, end: int) -> Step:
        """The thread's step, which is over."""
        step = state.step
        step.index = state.index
        if step.compilations:
            step.log = self.log_size()
        step.end(end)
        return step

    def tails(self) -> None:
        """Emit what each thread did after its last barrier (at the end of the program)."""
        for state in self.threads:
            self._tail(state)

    def _tail(self, state: ThreadState) -> None:
        line = self._ended(state, clock.perf_counter_ns()).line("tail")
        if state.main:
            self._emit({**line, **self._snapshot()})
        elif state.index or line.keys() & {"reads", "uploads", "saves", "compilations", "data"}:
            self._emit_event(line)

    def _changed(self, names: list[str]) -> dict[str, int]:
        """What the counters grew by since they were last asked for."""
        changed = {}
        for name in names:
            value, known = self._counter(name) or 0, self._counters.get(name, 0)
            if value != known:
                changed[name] = value - known if value > known else value
                self._counters[name] = value
        for name, value in self._cleared.items():
            changed[name] = changed.get(name, 0) + value
        self._cleared.clear()
        return changed

    def clearing(self) -> None:
        """The program is about to clear all counters."""
        with self._counting:
            self._cleared = self._changed(self._counter_names())
            self._counters.clear()

    def _snapshot(self) -> dict[str, Any]:
        with self._counting:
            return self._grown()

    def _grown(self) -> dict[str, Any]:
        """Counters and metrics that changed since the last time, and by how much."""
        names = self._counter_names()
        metrics: dict[str, list[float]] = {}
        for name in _METRICS:
            data = self._metric(name)
            total, accumulator = (data[0], data[1]) if data else (0, 0.0)
            known = self._metrics.get(name, (0, 0.0))
            if total != known[0]:
                metrics[name] = [total - known[0], accumulator - known[1]]
                self._metrics[name] = (total, accumulator)
        return {"counters": self._changed(names), "metrics": metrics}

    def log_size(self) -> int:
        """Bytes of the analysis log so far, those of its earlier parts included."""
        try:
            size = os.stat(self.analysis_log).st_size if self.analysis_log else 0
        except OSError:
            size = 0
        return self.log_begin + size

    def outlier(self, state: ThreadState, duration: int, typical: float, traced: bool) -> None:
        """A step took much longer than usual."""
        self._emit_event({"event": "outlier", "thread": state.id, "step": state.index - 1,
                          "end_ns": clock.time_ns(), "duration_ns": duration,
                          "typical_ns": int(typical), "traced": traced})  # fmt: skip

    def _emit_event(self, line: dict[str, Any]) -> None:
        self._events += 1
        if self._events <= _MOST_EVENTS:
            self._emit(line)

    def _emit(self, line: dict[str, Any] | Step) -> None:
        self.emitted += 1
        if self.emitted % _LINES_A_STRIDE == 0:
            self._stride *= 10
        self.lines.append(line)
