"""Where Python is, a hundred times a second, in the threads that run the loop.

A sample needs the interpreter for some microseconds. If it had to wait until the program gave
it up by itself (see :mod:`.switch_interval`), it is counted without a line: the line is not known.

Frames hold the program's tensors, and a tensor that lives on until a barrier becomes an output of
the graph, which is then another one and compiled. Between taking the frames and dropping them
nothing is done that hands the interpreter over, but it may be taken away: so barriers wait.
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
_GOLDEN = 0.618034  # pauses of 5 to 15 ms spread evenly, so that no loop keeps time with them

_Seen = tuple[ThreadState, str, "Place | None", bool, bool]
_Key = tuple[str, int, bool, "str | None", bool, bool, "int | None"]


class Sampler:
    """Counts samples by phase, thread, what it does, and call site.

    The loop's are those of whole iterations after warm-up; what comes before them, and what no
    further iteration follows, are phases of their own.
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
        """Look at the threads of the loop once."""
        states = list(self._recorder.by_ident.values())
        turns = sum(state.turns for state in states)
        if turns != self._turns:
            self._turns = turns
            self._keep()
        exact = self._interval.is_exact(late_s)
        # Before Python 3.12 a walk up a stack may collect garbage, and callbacks of frameworks let
        # other threads run then: what the walk was about to read is gone.
        collects = sys.version_info < (3, 12) and gc.isenabled()
        with self._recorder.looking:
            if collects:
                gc.disable()
            try:
                seen, new_files = self._look(states)  # which lets go of the frames when it returns
            finally:
                if collects:
                    gc.enable()
        for file in new_files:
            self._sites.kind(file)  # so that the next sample knows it
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
        for ours in (self.thread, self._writer):  # our own frame would hold itself by this
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
        """An iteration ended: what was seen in it belongs to the loop, not to what follows it."""
        for key, count in self._since_turn.items():
            self._counts[key] = self._counts.get(key, 0) + count
        self._since_turn.clear()

    def rows(self) -> list[dict[str, Any]]:
        """The counts so far, as ``host_samples.json`` holds them."""
        names = ("phase", "thread", "main", "doing", "in_framework", "generator", "site", "count")
        after = [
            ((key[0].replace("loop", "after"), *key[1:]), count)
            for key, count in list(self._since_turn.items())
        ]
        return [
            dict(zip(names, (*key, count))) for key, count in (*list(self._counts.items()), *after)
        ]


def _in_the_loop(state: ThreadState) -> bool:
    """After warm-up; loaders' threads, which make the loop's batches, close no steps themselves."""
    return state.turns >= WARMUP or state.inside == "batch"
