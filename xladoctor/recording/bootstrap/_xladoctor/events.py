"""What the session does when a framework's wrappers report a call, on the user's threads.

Until a device is used only the recorder is active. :meth:`Events.listen` adds the timeline and the
probe, which follow the program's steps.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable

from . import clock
from .asked import Requests
from .call_site import CallSites
from .facts import Outlier
from .framework import Framework, Probe, SourceLines
from .live_memory import Arrays, MemoryLooks
from .options import Options
from .recorder import Recorder
from .step import ThreadState
from .timeline import Timeline

_MOST_OUTLIERS = 50  # recorded at most
_NOTHING = contextlib.nullcontext()


class Events:
    """Handles each timed call. A fault calls ``fail`` and ends the capture, never the program."""

    def __init__(
        self,
        framework: Framework,
        recorder: Recorder,
        sites: CallSites,
        fail: Callable[[Exception], None],
    ) -> None:
        self._framework = framework
        self._recorder = recorder
        self._sites = sites
        self.fail = fail
        self.awake = False
        self.wake: Callable[[], None]
        self.leave_worker: Callable[[], None]
        self.lines: SourceLines
        self.memory: MemoryLooks
        self._timeline: Timeline
        self._probe: Probe
        self._stop_after = 0
        self._requests: Requests | None = None

    def reset(self, lines: SourceLines) -> None:
        """Forget all events so far."""
        self.awake = False
        self.lines = lines
        self._outliers = 0
        self._quiet = 0  # barriers since the last compilation

    def listen(self, timeline: Timeline, probe: Probe, given: Options, asked: Requests) -> None:
        """Have these follow the program's steps from now on."""
        self._timeline = timeline
        self._probe = probe
        arrays = Arrays() if given.counts_only else self._framework.arrays()
        self.memory = MemoryLooks(arrays, self._recorder, self._sites)
        self._stop_after = given.stop_after
        self._requests = asked
        self.awake = True

    def used(self) -> None:
        """Called when the program uses a device."""
        if not self.awake:
            self.wake()

    def entering(self, state: ThreadState) -> None:
        """Called before a call that may wait for the device."""
        try:
            if not self.awake:
                self.wake()
            self.lines.before_call()
            if self.awake:
                self._settle(state)
            state.graphs = self._recorder.compilations.launched(state)
        except Exception as fault:
            self.fail(fault)

    def saving(self, state: ThreadState) -> None:
        """Called before a save, of state that need not be on the device."""
        try:
            self.lines.before_call()
            if self.awake:
                self._settle(state)
        except Exception as fault:
            self.fail(fault)

    def saved(self) -> None:
        """Called after a save."""
        try:
            self.lines.after_call()
        except Exception as fault:
            self.fail(fault)

    def _settle(self, state: ThreadState) -> None:
        if self._timeline.active:
            state.step.traced = True
        self._recorder.settle(state)

    def barrier_left(self, state: ThreadState, site: int | None, begin: int, end: int) -> None:
        """Called after a barrier.

        Runs at each step with cold caches: each call that it does not make saves half a
        microsecond.
        """
        recorder = self._recorder
        try:
            self.lines.after_call()
            if recorder.off:
                return
            looked_at = state.step.traced or state.probed
            if recorder.barrier(state, site, begin, end):
                self._step_closed(state, looked_at, end)
            step, now = state.step, clock.perf_counter_ns()
            step.capture_ns += now - end
            step.begin += now - max(end, step.begin)
            state.previous = now
        except Exception as fault:
            self.fail(fault)

    def loop_found(self) -> None:
        """Called when the main loop is found: earlier steps were set-up, not steps of the loop."""
        if self.awake:
            self._timeline.begin_anew()
            self.memory.begin_anew(self._recorder.thread().index)

    def step_launched(self, state: ThreadState, site: int | None, launched: bool = True) -> None:
        """Called when a step ends, in a framework without barriers.

        Args:
            site: the call site that ended it.
            launched: whether a launch ended it, rather than the program's own mark.
        """
        end = clock.perf_counter_ns()
        step = state.step
        if self._timeline.active:
            step.traced = True
        looked_at = step.traced
        step.executions += launched
        self._recorder.step(state, site, end)
        self._step_closed(state, looked_at, end)
        step, now = state.step, clock.perf_counter_ns()
        step.capture_ns += now - end
        step.begin += now - max(end, step.begin)
        state.previous = now
        if self.enough(state):
            raise SystemExit(0)  # the program's own `finally` and `atexit` still run

    def _step_closed(self, state: ThreadState, looked_at: bool, end: int) -> None:
        count = self._recorder.compilations.count
        compiled = count != state.seen
        state.seen = count
        self._quiet = 0 if compiled else self._quiet + 1
        if compiled or self.lines.recording:
            self.lines.step(self._quiet)
        if self._timeline.watches:
            self._timeline.barrier(state.index, self._quiet)
        if not (compiled or state.saved or looked_at) and state.previous:
            duration = end - state.previous
            if state.times.is_outlier(duration):
                self._outlier(state, duration)
        state.saved = False
        if self._probe.is_due(state):
            self._probe.at_barrier(state)
        if state.index >= self.memory.due:
            self._framework.hooks.examine("memory", self.memory.look, state)

    def _outlier(self, state: ThreadState, duration: int) -> None:
        """Record a step that took far too long for no known reason."""
        if self._outliers < _MOST_OUTLIERS:
            self._outliers += 1
            looked = self._timeline.outlier()
            self._recorder.log_fact(
                Outlier(
                    thread=state.id,
                    step=state.index - 1,
                    end_ns=clock.time_ns(),
                    duration_ns=duration,
                    typical_ns=int(state.times.typical_ns),
                    traced=looked,
                )
            )

    def enough(self, state: ThreadState) -> bool:
        """Whether the program has run the requested number of steps, or time."""
        asked = self._requests is not None and self._requests.stop_after(state.index)
        enough = asked or 0 < self._stop_after <= state.index
        return enough and not self._recorder.off

    def enough_of_reads(self, state: ThreadState) -> bool:
        """Whether a program without steps, which is cut at reads, has run the requested time."""
        asked = self._requests is not None and self._requests.stops_anywhere
        return asked and state.main and not state.index and not self._recorder.off

    def read_left(
        self, state: ThreadState, site: int | None, kind: str, begin: int, end: int
    ) -> None:
        """Called after a read. In a program without barriers, its loop is cut at reads."""
        try:
            self.lines.after_call()
            if self._recorder.off:
                return
            self._recorder.read(state, site, kind, begin, end)
            if state.index == 0 and state.main:
                self._probe.at_barrier(state)
                self._timeline.read()
        except Exception as fault:
            self.fail(fault)

    @property
    def annotates(self) -> bool:
        """Whether the timeline's window is open."""
        return self.awake and self._timeline.active

    def annotation(self, name: str, site: int | None, **more: str) -> Any:
        """A context that shows a call and its line in the timeline, while the window is open."""
        if not self.annotates:
            return _NOTHING
        try:
            row = () if site is None else self._sites.rows[site]
            values = {**dict(zip(("file", "line"), row)), **more}
            texts = {
                key: value.encode(errors="backslashreplace").decode()
                for key, value in values.items()
                if isinstance(value, str)
            }
            return self._framework.annotation(f"xladoctor.{name}", **{**values, **texts})
        except Exception as fault:
            self.fail(fault)
            return _NOTHING
