"""Finds the lines whose operators fall back to the CPU, by probing single steps.

torch_xla counts each fallback under the operator's own name (``aten::nonzero``) but not where it
came from. In a few *probe steps* a mode compares these counters before and after each call of torch
from Python, and so sees what C++ does inside one (``x[mask]`` calls ``nonzero``). It is a
``TorchFunctionMode``: a ``TorchDispatchMode`` makes some operators take another path, which changes
the graph. Probe steps are marked in the step log and left out of all timings.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable

from .. import clock, framework
from ..call_site import CallSites
from ..frontend import Counters
from ..recorder import Recorder
from ..step import ThreadState

_PROBE_STEPS = 3
_ATTEMPTS = 12
_EACH_STEP, _SELDOM = 24, 16
_PARTS = 4  # parts between the barriers of an iteration that are probed in turn


class Probe(framework.Probe):
    """Enters the mode at a barrier and leaves it at the next one of the same thread."""

    def __init__(
        self,
        counters: Counters,
        sites: CallSites,
        recorder: Recorder,
        fail: Callable[[Exception], None],
    ) -> None:
        super().__init__()
        self._counters = counters
        self._fail = fail
        self._sites = sites
        self._recorder = recorder
        self._known: dict[str, int] = {}
        self._located: dict[str, int] = {}
        self._attempts = 0
        self._in_vain = 0  # attempts in a row that located nothing
        self._located_before = 0  # fallbacks, when the latest attempt began
        self._wait = 0  # barriers to let pass before the next attempt
        self._mode: Any = None
        self._make: Any = None
        self._owner: ThreadState | None = None
        self._counting = False

    def is_due(self, state: ThreadState) -> bool:
        """Whether to check for fallbacks at this barrier.

        Not at each one: there are many counters, and what falls back once does so again.
        """
        return (
            self._mode is not None
            or self._wait > 0
            or state.index <= _EACH_STEP
            or not state.index % _SELDOM
        )

    def begin(self, state: ThreadState) -> bool:
        if self._mode is not None or _uses_dynamo() or not _may_enter():
            return False
        self._enter(state)
        return True

    def end(self, state: ThreadState) -> None:
        if self._mode is not None and state is self._owner:
            self._leave()

    def at_barrier(self, state: ThreadState) -> None:
        """End a running probe; start one if operators without a line yet have fallen back.

        Where an iteration has several barriers, what follows this one need not have them: after an
        attempt in vain the next one is a barrier later.
        """
        if self._mode is not None:
            if state is self._owner:
                self._leave()
            return
        if self._wait:
            self._wait -= 1
            if not self._wait and _may_enter():
                self._enter(state)
            return
        counts = self.counts()
        grown = [name for name, n in counts.items() if n > self._known.get(name, 0)]
        self._known = counts
        missing = any(self._located.get(name, 0) < _PROBE_STEPS for name in grown)
        if missing and self._attempts < _ATTEMPTS and _may_enter():
            self._attempts += 1
            self._wait = self._in_vain % _PARTS
            if not self._wait:
                self._enter(state)

    def stop(self) -> None:
        """Stop probing. The mode can only be left if it is innermost, and on its own thread."""
        self._counting = False
        owner = self._owner
        if owner is not None and owner.ident == threading.get_ident() and _is_innermost(self._mode):
            self._mode.__exit__(None, None, None)
            self._mode = self._owner = None

    def _times(self) -> int:
        return sum(times for times, _, _ in self.rows.values())

    def counts(self) -> dict[str, int]:
        counters = self._counters
        names = (name for name in counters.names() if counters.is_fallback(name))
        return {name: counters.value(name) or 0 for name in names if name not in counters.reads}

    def _enter(self, state: ThreadState) -> None:
        self._make = self._make or _mode_of(self)
        mode, self._located_before = self._make(), self._times()
        mode.__enter__()
        self._mode, self._owner, self._counting = mode, state, True
        state.probed = True

    def _leave(self) -> None:
        self._counting = False
        if self._owner is None or not _is_innermost(self._mode):
            return  # a mode of the program is above ours: stay, idle, until it is gone
        self._mode.__exit__(None, None, None)
        self._owner.probed = False
        self._mode = self._owner = None
        self._in_vain = self._in_vain + 1 if self._times() == self._located_before else 0
        for name in {name for name, _ in self.rows}:
            self._located[name] = self._located.get(name, 0) + 1
        self._known = self.counts()

    def watch(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run one operator, and note its fallbacks."""
        if not self._counting:
            return func(*args, **kwargs)
        self.calls += 1
        before, state = self._tried(self.counts), self._tried(self._recorder.thread)
        begin, compiling = clock.perf_counter_ns(), self._tried(self._compile_ns)
        if state is None:  # after a fault
            return func(*args, **kwargs)
        outer, state.watched = state.watched, True
        try:
            result = func(*args, **kwargs)
            self._tried(lambda: self._compare(before, begin, compiling))
            self._tried(self._place_compilations)
        finally:
            state.watched = outer
        return result

    def _tried(self, look: Callable[[], Any]) -> Any:
        """Call ``look``; a fault in it ends the capture, never the program."""
        try:
            return look() if self._counting else None
        except Exception as fault:
            self._fail(fault)

    def _compare(self, before: dict[str, int], begin: int, compiling: int) -> None:
        for name, count in self.counts().items():
            made = count - before.get(name, 0)
            if made > 0:
                spent = clock.perf_counter_ns() - begin
                self._note(name, made, spent, self._compile_ns() - compiling)

    def _place_compilations(self) -> None:
        """Attribute compilations in the call to its line: an operator on the CPU cuts the graph."""
        state = self._recorder.thread()
        if self._recorder.compilations.are_new(state):
            within = clock.perf_counter_ns() - state.step.begin
            self._recorder.compilations.note(state, "other", self._sites.here(4), within)

    def _note(self, name: str, made: int, spent: int, compiling: int) -> None:
        site = self._sites.here(5)
        if site is None:  # the backward pass runs on autograd's own thread
            main = threading.main_thread().ident or 0
            site = self._sites.of(sys._current_frames().get(main))
        row = self.rows.setdefault((name, site), [0, 0, 0])
        row[0] += made
        row[1] += spent
        row[2] += compiling

    def _compile_ns(self) -> int:
        return int(self._counters.compile_times()[1])


def _mode_of(probe: Probe) -> Any:
    """The class of the probe's modes."""
    from torch.overrides import TorchFunctionMode

    class FallbackProbe(TorchFunctionMode):  # type: ignore[misc]  # torch may be absent
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return probe.watch(func, args, kwargs or {})

    return FallbackProbe


def _may_enter() -> bool:
    """Whether a mode is safe: it would make Dynamo compile again what it has compiled."""
    compiled = sys.modules.get("torch._dynamo.utils")
    return compiled is None or not compiled.counters.get("frames")


def _uses_dynamo() -> bool:
    """Whether the program called torch.compile, even if the compiled function has not run yet."""
    module = sys.modules.get("torch._dynamo.eval_frame")
    backends = getattr(module, "cached_backends", {})
    return any(backend is not None for backend in backends.values())


def _is_innermost(mode: Any) -> bool:
    import torch

    depth = torch._C._len_torch_function_stack()
    return bool(depth) and torch._C._get_function_stack_at(depth - 1) is mode
