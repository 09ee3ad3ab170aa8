"""Wraps the calls of JAX.

Executions on the fast path go through a hook of the extension module, all others through
``ExecuteReplicated``. Each hook is installed separately: if a release of JAX lacks one, the others
still work.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable

from .. import clock, options
from ..anchors import Anchors
from ..argument_facts import ArgumentReshard, ArgumentUse
from ..calls import Calls, Installer
from ..disguise import hide_frames
from ..step import ThreadState
from .argument_use import LOOKS, Uses
from .compiling import Compiling
from .config_changes import ConfigChanges
from .executable import function_of
from .flattening import AT_LAUNCH, flattening
from .lower_only import LowerOnly
from .modules import Modules
from .origins import Origins
from .reads import Reads
from .resharding import Resharding
from .results import begin
from .settings import ENTRIES, WRAPPERS
from .transfers import Transfers

if TYPE_CHECKING:
    from ..event_counters import EventCounters

_clock = clock.perf_counter_ns


class Adapter(Installer):
    """Installs all hooks."""

    def __init__(
        self, module: Any, counters: EventCounters, modules: Modules, calls: Calls
    ) -> None:
        super().__init__(calls)
        self._counters = counters
        self.config_changes = ConfigChanges(calls, counters)
        self._compiling = Compiling(module, counters, modules, calls)
        self.meshes = self._compiling.meshes
        self._reads = Reads(calls, counters)
        self._transfers = Transfers(calls)
        self._work = calls.sites.work
        self._annotated = False
        self._tree = module.tree_util
        sites = calls.sites
        self._origins = Origins(module.tree_util.tree_leaves, sites.launches)
        sites.origins = self._origins.reads
        self._uses = Uses(module.tree_util.tree_leaves, sites.operations)
        self._resharding = Resharding(module.tree_util.tree_leaves)
        calls.looks = self._read
        self._results = begin(module.tree_util.tree_leaves)
        self._arrays: set[Any] = set()  # the class of arrays on a device

    @property
    def unheard(self) -> str:
        """Why not all that the compiler says of shardings was heard; empty if it was."""
        return self._compiling.output.unheard

    def install(self) -> None:
        """Install all hooks."""
        if options.read().lower_only:
            LowerOnly(self._hooks, self._compiling.is_of_program).install()
        for name, install in (
            ("launches", self._install_launches),
            ("resharded arguments", self._install_resharding),
            ("compilations", self._compiling.install_compilations),
            ("keys", self._compiling.install_keys),
            ("cache on disk", self._compiling.disk_cache.install),
            ("reads", self._reads.install_values),
            ("memory reads", self._reads.install_memory),
            ("callbacks", self._reads.install_callbacks),
            ("uploads", self._transfers.install_uploads),
            ("marked steps", self._install_steps),
            ("settings", self.config_changes.install),
            ("input", self._transfers.install_input),
            ("saves", self._transfers.install_saves),
        ):
            self._hooks.attempt(name, install)

    def _install_launches(self) -> None:
        from jax._src import api, config
        from jax._src.array import ArrayImpl
        from jax._src.interpreters import pxla

        self._arrays = {ArrayImpl}
        self._hooks.replace(pxla.ExecuteReplicated, "__call__", self._execute)
        hooks, check = api._post_hook_state, api._nan_check_posthook
        launched = self._hook()

        def checked(function: Any, args: Any, kwargs: Any, out: Any) -> None:
            launched(function, args, kwargs, out)
            check(function, args, kwargs, out)

        def update_global(_: Any) -> None:
            wanted = config._read("jax_debug_nans") or config._read("jax_debug_infs")
            hooks.set_global(checked if wanted else launched)

        def update_local(_: Any) -> None:
            wanted = True in (config.debug_nans.get_local(), config.debug_infs.get_local())
            hooks.set_local(checked if wanted else launched)

        for option in (config.debug_nans, config.debug_infs):
            option._add_hooks(update_global, update_local)

        def undo() -> None:
            for option in (config.debug_nans, config.debug_infs):
                option._add_hooks(
                    api._update_debug_special_global, api._update_debug_special_thread_local
                )

        self._hooks.on_undo(undo)

    def _install_resharding(self) -> None:
        from jax._src.interpreters import pxla

        self._hooks.replace(pxla, "cc_shard_arg", self._resharding.wrap)

    def _hook(self) -> Callable[[Any, Any, Any, Any], None]:
        """The hook for calls of compiled functions that returned on the fast path.

        It runs at each launch: what it needs is bound once, and the common case makes few calls.
        """
        recorder, events, sites = self._recorder, self._events, self._calls.sites
        counters, thread, here, frame = self._counters, recorder.thread, sites.here, sys._getframe
        launching, launch, given, work = sites.launching, self._launched, self._given, self._work
        launches, pending, use, arrays = sites.launches, self._uses.pending, self._use, self._arrays
        resharded = self._resharding.pending

        def launched(function: Any, args: Any, kwargs: Any, out: Any) -> None:
            if recorder.off:
                return
            try:
                state = thread()
                if state.inside and state.inside != "callback":
                    counters.launches += 1
                    return
                begin, step = _clock(), state.step
                if not events.awake:
                    events.used()
                site = here(2)
                if site not in work:
                    self._compiling.launched_elsewhere(site, getattr(function, "__wrapped__", None))
                caller = frame(1)
                if (id(caller.f_code), caller.f_lasti) not in launching:
                    sites.launches_here(caller)
                if pending or resharded or launches.get(site) in LOOKS:
                    use(state, site, function, args, kwargs)
                if {*map(type, args or kwargs.values())} - arrays:
                    given(state, site, function, args, kwargs)
                launch(state, site, getattr(function, "__name__", ""), out)
                state.leave_out(_clock() - begin, step)
            except Exception as fault:
                events.fail(fault)

        return launched

    def _given(
        self, state: ThreadState, site: int | None, function: Any, args: Any, kwargs: Any
    ) -> None:
        """Called when a call's arguments are not all arrays of a device."""
        self._transfers.sent(site, args)
        sites = self._calls.sites
        if sites.launches.get(site) == AT_LAUNCH and site not in sites.operations:
            where = {"thread": state.id, "site": site}
            call = function, args, kwargs
            look, tree = self._hooks.examine, self._tree
            found = look("flattening", flattening, tree, *call, where)
            if found is not None:
                self._recorder.log_fact(found)

    def _use(self, state: ThreadState, site: int | None, *call: Any) -> None:
        """Called when a call that is looked at has returned, or one after it."""
        if self._resharding.pending:
            look = self._hooks.examine
            for found in look("resharded arguments", self._resharding.called, site, *call) or ():
                self._recorder.log_fact(ArgumentReshard(thread=state.id, **found))
        launches = self._calls.sites.launches.get(site, 0)
        for use in (
            self._hooks.examine("uses of arguments", self._uses.called, launches, site, *call) or ()
        ):
            self._recorder.log_fact(ArgumentUse(thread=state.id, **use))

    def _read(self, site: int | None, values: Any) -> None:
        self._origins.read(site, values)
        if self._uses.pending:
            self._hooks.examine("uses of arguments", self._uses.note, "read", values)

    def _execute(self, original: Any) -> Any:
        def execute(executable: Any, *args: Any) -> Any:
            state = None if self._recorder.off else self._calls.note(self._compiling.miss_is_over)
            if state is None:
                return original(executable, *args)
            begin = _clock()
            try:
                result = original(executable, *args)
                if state.inside in ("", "callback") and not self._recorder.off:
                    self._calls.note(self._executed, state, begin, executable, args, result)
            except BaseException as error:
                hide_frames(error)
                raise
            return result

        return execute

    def _executed(
        self, state: ThreadState, begin: int, executable: Any, args: Any, out: Any
    ) -> None:
        self._events.used()
        if self._uses.pending:
            self._hooks.examine("uses of arguments", self._uses.note, "launch", args)
        site = self._calls.sites.here(4)
        if site not in self._work:
            self._compiling.launched_elsewhere(site, getattr(executable, "xla_executable", None))
        state.step.barrier_ns += _clock() - max(begin, state.step.begin)
        self._launched(state, site, function_of(str(getattr(executable, "name", ""))), out)

    def _launched(self, state: ThreadState, site: int | None, function: str, out: Any) -> None:
        self._launch(state, site, function)
        self._origins.made(state.index, site, out)
        if self._results is not None and site not in self._calls.sites.operations:
            self._results.keep(function, out)

    def _launch(self, state: ThreadState, site: int | None, function: str) -> None:
        self._counters.launches += 1
        sites = self._calls.sites
        launches = sites.launches
        launches[site] = launches.get(site, 0) + 1
        state.compiling = 0
        anchors = state.anchors
        if anchors is None:
            anchors = state.anchors = Anchors(
                self._work, sites.kind, ENTRIES, WRAPPERS, sites.operations
            )
        if self._annotated or not anchors.ends_step(site, function):
            self._recorder.launch(state, site)
            return
        sites.ended_steps[site] = sites.ended_steps.get(site, 0) + 1
        sites.beside.discard(site)
        if not anchors.since:
            if anchors.functions:
                sites.beside |= sites.operations & sites.ended_steps.keys()
            self._events.loop_found()
        self._events.step_launched(state, site)

    def _install_steps(self) -> None:
        """Hook the program's own step marks for the profiler: they are the best source of steps."""
        from jax.profiler import StepTraceAnnotation

        marked = self._calls.after(self._step_marked, handed=False)
        self._hooks.replace(StepTraceAnnotation, "__exit__", marked)

    def _step_marked(self) -> None:
        self._annotated = True
        state = self._recorder.thread()
        if self._events.awake and not state.inside:
            self._events.step_launched(state, self._calls.sites.here(4), launched=False)
