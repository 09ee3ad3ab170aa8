"""Samples the Python lines of the threads that run the loop, a hundred times a second.

A sample needs the interpreter's lock for some microseconds. If it had to wait until the program
released the lock by itself (see :mod:`.switch_interval`), it is counted without a line.

Frames hold the program's tensors, and a tensor that lives until a barrier becomes an output of the
graph, which changes the graph and compiles it again. So nothing that releases the lock is done
while frames are held; and since another thread may still take the lock, barriers wait.
"""

from __future__ import annotations

import gc
import sys
from typing import Any, Callable

from . import clock
from .background import Background
from .call_site import CallSites, Place
from .recorder import Recorder
from .step import ThreadState
from .switch_interval import SwitchInterval
from .warmup import WARMUP

PERIOD_MS = 10
_GOLDEN = 0.618034  # spreads pauses evenly over 5 to 15 ms, so that no loop is in step with them

_Seen = tuple[ThreadState, str, "Place | None", bool, bool]
_Key = tuple[str, int, bool, "str | None", bool, bool, "int | None"]


class Sampler:
    """Counts samples by phase, thread, activity and call site.

    Whole iterations after warm-up are the phase of the loop. What comes before, and what follows
    the last iteration, are phases of their own.
    """

    def __init__(
        self,
        recorder: Recorder,
        sites: CallSites,
        writer: Background,
        fail: Callable[[Exception], None],
    ) -> None:
        self.thread = Background(self._run)
        self._recorder = recorder
        self._sites = sites
        self._writer = writer
        self._fail = fail
        self._counts: dict[_Key, int] = {}
        self._since_turn: dict[_Key, int] = {}
        self._turns = 0
        self._interval = SwitchInterval()

    def _run(self) -> None:
        phase = 0.0
        try:
            while not self._recorder.off:
                phase = (phase + _GOLDEN) % 1.0
                pause = PERIOD_MS * (0.5 + phase) / 1e3
                due = clock.perf_counter() + pause
                clock.sleep(pause)
                self.sample(clock.perf_counter() - due)
        except Exception as fault:
            self._fail(fault)
        finally:
            self.leave()

    def leave(self) -> None:
        """Undo what sampling changed in the interpreter; also called in a forked child."""
        self._interval.restore()

    def sample(self, late_s: float) -> None:
        """Take one sample of the loop's threads."""
        states = list(self._recorder.by_ident.values())
        turns = sum(state.turns for state in states)
        if turns != self._turns:
            self._turns = turns
            self._keep()
        exact = self._interval.is_exact(late_s)
        # Before Python 3.12, walking a stack may trigger garbage collection; callbacks of a
        # framework then let other threads run, and the frames about to be read are gone.
        collects = sys.version_info < (3, 12) and gc.isenabled()
        with self._recorder.looking:
            if collects:
                gc.disable()
            try:
                seen, new_files = self._look(states)  # drops the frames when it returns
            finally:
                if collects:
                    gc.enable()
        for file in new_files:
            self._sites.kind(file)  # for the next sample
        for state, doing, place, in_framework, generator in seen:
            site = self._sites.intern(place, sample=True) if exact else None
            phase = "loop" if _in_the_loop(state) else "warmup"
            key = (phase, state.id, state.main, doing or None, in_framework, generator, site)
            self._since_turn[key] = self._since_turn.get(key, 0) + 1

    def _look(self, states: list[ThreadState]) -> tuple[list[_Seen], list[str]]:
        """What the threads do now, and files on their stacks that are not classified yet."""
        seen: list[_Seen] = []
        new_files: list[str] = []
        frames = sys._current_frames()
        for ours in (self.thread, self._writer):  # our own frame would hold a reference to itself
            frames.pop(ours.ident, None)
        self._interval.adjust(frames)
        for state in states:
            frame = frames.get(state.ident)
            if frame is not None and not state.probed:
                try:
                    place = self._sites.place(frame)
                    doing = state.inside or ("compile" if state.compiles else "")
                    seen.append((state, doing, *place, self._sites.generates(frame)))
                except KeyError as new:
                    new_files.append(new.args[0])
        return seen, new_files

    def _keep(self) -> None:
        """Count the samples of an iteration that has ended as the loop's."""
        for key, count in self._since_turn.items():
            self._counts[key] = self._counts.get(key, 0) + count
        self._since_turn.clear()

    def rows(self) -> list[dict[str, Any]]:
        """The counts so far, as in ``host_samples.json``."""
        # Copied first: making a list of pairs may collect garbage, and a framework's callback of
        # that lets the sampling thread run, which adds to the counts.
        names = ("phase", "thread", "main", "doing", "in_framework", "generator", "site", "count")
        after = [
            ((key[0].replace("loop", "after"), *key[1:]), count)
            for key, count in self._since_turn.copy().items()
        ]
        return [
            dict(zip(names, (*key, count))) for key, count in (*self._counts.copy().items(), *after)
        ]


def _in_the_loop(state: ThreadState) -> bool:
    """Whether a thread is past warm-up, or loads the loop's batches: loaders close no steps."""
    return state.turns >= WARMUP or state.inside == "batch"
