"""Wraps the calls of torch, for programs in which only torch.compile compiles.

A compiled function must not meet a wrapper that Dynamo cannot look through. Reads of values have no
hook: on the CPU there is nothing to wait for, and on a GPU a timeline shows the wait.
"""

from __future__ import annotations

import functools
import threading
import weakref
from types import FrameType
from typing import Any

from .. import clock
from ..anchors import Anchors
from ..calls import Calls
from ..disguise import hide_frames
from ..event_counters import EventCounters
from ..facts import Phases
from ..pytorch import guards
from ..pytorch.dynamo import Dynamo, generated_code
from ..pytorch.hiding import hide_from_dynamo
from ..pytorch.listener import Attempt, Listener
from ..pytorch.loaders import Loaders
from ..step import ThreadState
from .disk_cache import DiskCache
from .settings import ENTRIES, WRAPPERS

_CALLS_LOOKED_AT = 8  # of a site, for which functions it calls
#: Counters of how often Inductor and AOTAutograd found their code on disk, and how often not.
_CACHED = (("inductor", "fxgraph_cache_hit"), ("aot_autograd", "autograd_cache_hit"))
_NOT_CACHED = (("inductor", "fxgraph_cache_miss"), ("aot_autograd", "autograd_cache_miss"))


class Adapter(Listener):
    """Installs the hooks, which report to ``calls``."""

    def __init__(self, torch: Any, counters: EventCounters, calls: Calls) -> None:
        super().__init__(calls)
        self._torch = torch
        self._counters = counters
        self._dynamo = Dynamo(calls, self, calls.hooks)
        self._work = calls.sites.work
        #: By site and frame, the operations compiled.
        self._operations: dict[int | None, dict[str, int]] = {}
        self._functions: dict[int, tuple[Any, int]] = {}  # by id: compiled functions, numbered
        self._numbers: dict[str, int] = {}  # numbers of compilations, by id
        self._latest: dict[Any, int] = {}  # number of each function's latest compilation
        self._first: dict[Any, int] = {}  # launches of a site before it compiled a function
        self._found = (0, 0)
        self._local = threading.local()  # row: the call's compilation, whether it has a reason
        self._before = 0  # parts run by the end of the latest call
        self._leaders: dict[int, int] = {}  # by thread: the optimizer that ends its steps
        self._others: dict[int, int] = {}  # by thread: updates of other optimizers since

    def install(self) -> None:
        """Install all hooks."""
        torch, hooks = self._torch, self._hooks
        self._calls.sites.generated = generated_code()
        self._dynamo.install()
        hide_from_dynamo((), self._calls)
        for name, install in (
            ("input", Loaders(torch, self._calls).install),
            ("saves", lambda: hooks.replace(torch, "save", self._save)),
            ("optimizers", self._install_optimizers),
            ("collectives", self._install_collectives),
            ("cache on disk", DiskCache(self._calls).install),
        ):
            hooks.attempt(name, install)

    def _save(self, original: Any) -> Any:
        """Wrap saves; all saved state counts as the device's."""
        calls = self._calls
        return calls.save(calls.before(self._recorder.touched, handed=False)(original))

    def _install_collectives(self) -> None:
        """Hook the wait for a collective, of which Kineto records the launch alone."""
        events, distributed = self._events, self._torch.distributed

        def waiting(original: Any) -> Any:
            def wait(*args: Any, **kwargs: Any) -> Any:
                try:
                    with events.annotation("collective", None):
                        return original(*args, **kwargs)
                except BaseException as error:
                    hide_frames(error)
                    raise

            return wait

        if distributed.is_available():
            self._hooks.replace(distributed.Work, "wait", waiting)

    # -- steps -------------------------------------------------------------------------------

    def _install_optimizers(self) -> None:
        """Hook the empty function that each optimizer calls in its update.

        An optimizer hook would be compiled by Dynamo, if a step is compiled.
        """
        kind = self._torch.optim.Optimizer
        events, recorder = self._events, self._recorder
        is_compiling = self._torch.compiler.is_compiling  # a constant True for Dynamo

        def stepping(original: Any) -> Any:
            def _optimizer_step_code(self: Any) -> None:  # profilers look for its `self`
                if not is_compiling() and events.awake and not recorder.off:
                    adapter._calls.note(adapter._stepped, id(self))
                original(self)

            file = original.__code__.co_filename  # Dynamo decides by the file what it traces
            code = _optimizer_step_code.__code__.replace(co_filename=file)
            _optimizer_step_code.__code__ = code
            return _optimizer_step_code

        adapter = self
        self._hooks.replace(kind, "_optimizer_step_code", stepping)

    def _stepped(self, optimizer: int) -> None:
        """Called after an optimizer's update. If there are several optimizers, one ends steps."""
        state = self._recorder.thread()
        self._recorder.optimizer(state, optimizer)
        leader = self._leaders.setdefault(state.id, optimizer)
        if optimizer != leader:
            self._others[state.id] = self._others.get(state.id, 0) + 1
            if self._others[state.id] < 2:
                return
            self._leaders[state.id] = optimizer
        self._others[state.id] = 0
        self._end_step(state, self._calls.sites.here(2), launched=False)

    def _end_step(self, state: ThreadState, site: int | None, launched: bool = True) -> None:
        with self._events.annotation(f"step#{state.index}", None):
            pass  # marks the end of the step in the timeline
        self._events.step_launched(state, site, launched)

    # -- calls of compiled functions ---------------------------------------------------------

    def called(self) -> None:
        self._local.row = None
        if not self._events.awake and not _others_record(self._events):
            self._events.used()

    def returned(self, wrapper: FrameType) -> None:
        """Count the call as a launch, which may end a step."""
        self._local.row = None
        self._counters.launches += 1
        state = self._recorder.thread()
        parts, self._before = self.parts - self._before, self.parts
        if state.inside or not self._events.awake:
            return
        sites = self._calls.sites
        site = sites.here(4)
        sites.launches[site] = sites.launches.get(site, 0) + 1
        if sites.parts is not None:
            sites.parts[site] = sites.parts.get(site, 0) + parts
            if sites.launches[site] <= _CALLS_LOOKED_AT:
                self._note_function(site, wrapper)
        state.compiling = 0
        if not self._ends_step(state, site):
            self._recorder.launch(state, site)
            return
        sites.ended_steps[site] = sites.ended_steps.get(site, 0) + 1
        if not state.anchors.since:
            self._events.loop_found()
        self._end_step(state, site)

    def _note_function(self, site: int | None, wrapper: FrameType) -> None:
        """Note which function the site calls: it may have been compiled for a call elsewhere."""
        function = wrapper.f_locals.get("fn")
        if function is None:  # another release of torch
            return
        known = self._functions.get(id(function))
        if known is None or known[0]() is not function:  # a number of one that is gone
            try:
                reference = weakref.ref(function)
            except TypeError:  # of a class with slots
                return
            known = self._functions[id(function)] = (reference, len(self._functions))
        self._calls.sites.functions.setdefault(site, set()).add(known[1])

    def _ends_step(self, state: ThreadState, site: int | None) -> bool:
        if state.anchors is None:
            state.anchors = Anchors(self._work, self._calls.sites.kind, ENTRIES, WRAPPERS)
        if state.id in self._leaders and self._torch.is_grad_enabled():
            return False
        return bool(state.anchors.ends_step(site))

    # -- compilations ------------------------------------------------------------------------

    def cached(self, counters: Any) -> bool | None:
        before = self._found
        # `get`, as `[]` may add a group, or run Counter's Python code, which Dynamo would compile.
        hits, misses = (
            sum(counters.get(group, {}).get(name, 0) for group, name in names)
            for names in (_CACHED, _NOT_CACHED)
        )
        self._found = hits, misses
        if hits < before[0] or misses < before[1]:  # the program cleared the counters
            return None
        return False if misses > before[1] else True if hits > before[0] else None

    def compiled(self, attempt: Attempt) -> None:
        """Record a compilation. Later frames compiled in the same call, without a recompile reason
        of their own, are added to the call's first compilation.
        """
        if attempt.metrics.get("is_forward") is False:
            self.spent(attempt)
            return
        if not self._events.awake:
            return
        self._add_work(attempt)
        row: tuple[int, bool] | None = getattr(self._local, "row", None)
        if row is not None and (row[1] or attempt.reason is None):
            self._numbers[attempt.id] = self._latest[self._key(attempt)] = row[0]
            self.spent(attempt)
            return
        site, function = attempt.site, attempt.function
        self._counters.begun += 1
        self._counters.note(attempt.spent)
        launches = self._calls.sites.launches.get(site, 0)
        first = self._first.setdefault((site, function), launches)
        number = self._recorder.compilations.count + 1
        state = self._recorder.thread()
        self._recorder.compilations.record(
            state,
            state.inside or "launch",
            site,
            attempt.spent,
            {
                "function": function,
                "ordinal": launches - first,
                "phases": attempt.phases,
                "cached": attempt.cached,
                **self._changed(attempt),
            },
        )
        self._numbers[attempt.id] = self._latest[self._key(attempt)] = number
        self._local.row = (number, attempt.reason is not None)

    def _add_work(self, attempt: Attempt) -> None:
        operations = self._operations.setdefault(attempt.site, {})
        operations[attempt.id.partition("/")[0]] = int(attempt.metrics.get("graph_op_count") or 0)
        self._work[attempt.site] = 1.0 + sum(operations.values())

    def _key(self, attempt: Attempt) -> Any:
        metrics = attempt.metrics
        return metrics.get("co_filename"), metrics.get("co_firstlineno"), metrics.get("co_name")

    def _changed(self, attempt: Attempt) -> dict[str, Any]:
        change, against = attempt.change, None
        if change is not None:
            earlier = guards.compared_with(attempt.reason or "")
            against = self._numbers.get(earlier or "", self._latest.get(self._key(attempt)))
        defined = self._calls.definition(attempt.code)
        changes = [[*change]] if against is not None and change is not None else []
        return {
            "defined": defined,
            "against": against,
            "changes": changes,
            "used": attempt.used,
            "hint": guards.hint(attempt.reason or ""),
        }

    def spent(self, attempt: Attempt) -> None:
        if self._events.awake and attempt.spent > 0:
            state = self._recorder.thread()
            self._recorder.compilations.add_time(state, attempt.spent)
            self._recorder.log_fact(
                Phases(
                    thread=state.id,
                    number=self._numbers.get(attempt.id),
                    end_ns=clock.time_ns(),
                    phases=attempt.phases,
                )
            )


@functools.cache
def _sessions() -> Any:
    from .. import session

    return session


def _others_record(events: Any) -> bool:
    """Whether the program uses another framework, whose frontend records what it does."""
    others = (other for other in _sessions().captures if other.framework != "torch")
    return any(other.awake or other.uses_device for other in others)
