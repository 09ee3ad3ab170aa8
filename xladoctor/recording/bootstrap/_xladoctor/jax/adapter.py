"""Wraps the calls of JAX.

Executions on the fast path go through a hook of the extension module, all others through
``ExecuteReplicated``. A call that misses its function's cache goes through ``_infer_params`` first,
which has its key. Values are read through a property of arrays or, on the CPU, from their memory.
Each hook is installed separately: if a release of JAX lacks one, the others still work.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable, Iterable

from .. import clock
from ..anchors import Anchors
from ..call_site import USER
from ..calls import Calls
from ..import_hook import when_imported
from ..patches import Patches
from ..pytorch.loaders import Loaders
from ..step import ThreadState
from . import buffers
from .assignments import Place
from .config_changes import ConfigChanges
from .keys import Key, KeyReader, Keys, is_operation
from .modules import Modules
from .origins import Origins
from .settings import ENTRIES, WRAPPERS
from .unrolled import repeated

if TYPE_CHECKING:
    from ..event_counters import EventCounters

#: Function that reads an array's value -> the kind of read that is recorded.
_READS = {
    "__float__": "float",
    "__bool__": "bool",
    "__int__": "int",
    "__index__": "index",
    "__complex__": "complex",
    "__repr__": "repr",
    "__str__": "repr",
    "__format__": "format",
    "_item": "item",
    "item": "item",
    "tolist": "tolist",
    "__array__": "array",
    "_device_get": "device_get",
}
#: Custom calls of graphs that run Python on the host, on CPUs and GPUs.
_CALLBACK = re.compile(rb"xla_(?:ffi_)?(?:partitioned_)?python_(?:cpu|gpu)_callback")
_CONTAINERS = frozenset({tuple, list, dict})
_SLOW_NS = 500_000_000  # nanoseconds of compiling, above which a loop in the function matters
_FEW = 8  # entries of a container that are searched for NumPy arrays

_clock = clock.perf_counter_ns


class _Miss:
    """A call that missed its function's cache: when it began, and what it called."""

    def __init__(self, function: Any, info: Any, args: Any, kwargs: Any) -> None:
        self.began = _clock()
        self.call: tuple[Any, ...] | None = (function, info, args, kwargs)
        self.key: Key | None = None
        self.open = True
        self.tracing = False


class Adapter:
    """Installs the hooks, which report to ``calls``."""

    def __init__(
        self, module: Any, counters: EventCounters, modules: Modules, calls: Calls
    ) -> None:
        self._jax = module
        self._counters = counters
        self._modules = modules
        self._calls = calls
        self._recorder = calls.recorder
        self._events = calls.events
        self._patches = Patches()
        self._undo: list[Callable[[], None]] = []
        self._local = threading.local()
        self._keys = Keys()
        self.config_changes = ConfigChanges(calls, counters)
        self._work = calls.sites.work
        #: By id of functions and of their executables: the work, and whether it is a single
        #: operation.
        self._work_of: dict[int, tuple[float, bool]] = {}
        #: By site and function, the site's launches before it first compiled the function.
        self._first: dict[tuple[int | None, str], int] = {}
        self._annotated = False
        sites = calls.sites
        self._origins = Origins(module.tree_util.tree_leaves, sites.launches)
        sites.origins = self._origins.reads
        calls.looks = self._origins.read
        self._array: Any = None  # the class of arrays on a device, and classes of host arrays
        self._host: tuple[type, ...] = ()
        #: Hooks that this release of JAX does not support, with the reason.
        self.missing: dict[str, str] = {}

    def install(self) -> None:
        """Install all hooks."""
        for name, install in (
            ("launches", self._install_launches),
            ("compilations", self._install_compilations),
            ("keys", self._install_keys),
            ("reads", self._install_reads),
            ("memory reads", self._install_buffers),
            ("callbacks", self._install_callbacks),
            ("uploads", self._install_uploads),
            ("marked steps", self._install_steps),
            ("settings", self._install_settings),
            ("input", self._install_input),
            ("saves", self._install_saves),
        ):
            try:
                install()
            except Exception as error:  # private parts of JAX, which any release may change
                self.missing[name] = repr(error)

    def uninstall(self) -> None:
        """Remove all hooks."""
        self._patches.undo()
        for undo in reversed(self._undo):
            undo()

    # -- launches ----------------------------------------------------------------------------

    def _install_launches(self) -> None:
        import numpy
        from jax._src import api, config
        from jax._src.array import ArrayImpl
        from jax._src.interpreters import pxla

        self._array, self._host = ArrayImpl, (numpy.ndarray, numpy.generic)
        literals = sys.modules.get("jax._src.literals")
        wrapper = getattr(literals, "TypedNdArray", numpy.ndarray)
        if not issubclass(wrapper, numpy.ndarray):  # JAX 0.8 wraps its argument
            self._host += (wrapper,)
        self._patches.replace(pxla.ExecuteReplicated, "__call__", self._execute)
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

        self._undo.append(undo)

    def _hook(self) -> Callable[[Any, Any, Any, Any], None]:
        """The hook for calls of compiled functions that returned on the fast path.

        It runs at each launch: what it needs is bound once, and the common case makes few calls.
        """
        recorder, events, sites = self._recorder, self._events, self._calls.sites
        counters, thread, here, frame = self._counters, recorder.thread, sites.here, sys._getframe
        launching, launch, sent, work = sites.launching, self._launch, self._sent, self._work
        made = self._origins.made

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
                    self._called_elsewhere(site, getattr(function, "__wrapped__", None))
                caller = frame(1)
                if (id(caller.f_code), caller.f_lasti) not in launching:
                    sites.launches_here(caller)
                for arg in args:
                    if type(arg) is not self._array:
                        sent(site, args)
                        break
                launch(state, site, getattr(function, "__name__", ""))
                made(state.index, site, out)
                state.leave_out(_clock() - begin, step)
            except Exception as fault:
                events.fail(fault)

        return launched

    def _execute(self, original: Any) -> Any:
        def execute(executable: Any, *args: Any) -> Any:
            if self._recorder.off:
                return original(executable, *args)
            self._miss_is_over()
            state = self._recorder.thread()
            begin = _clock()
            result = original(executable, *args)
            if state.inside in ("", "callback") and not self._recorder.off:
                self._calls.note(self._executed, state, begin, executable, result)
            return result

        return execute

    def _sent(self, site: int | None, args: Any) -> None:
        if arrays := _of_host(args, self._host):
            self._recorder.uploads(site, arrays, 0)

    def _called_elsewhere(self, site: int | None, compiled: Any) -> None:
        """Called when a site launches for the first time what another site has compiled."""
        self._launches_from(site, *self._work_of.get(id(compiled), (0.0, False)))

    def _launches_from(self, site: int | None, work: float, operation: bool) -> None:
        """Note the work of a site's launches, and whether they are single operations."""
        operations = self._calls.sites.operations
        if not operation:
            operations.discard(site)
        elif site not in self._work:
            operations.add(site)
        self._work[site] = max(self._work.get(site, 0.0), work)

    def _executed(self, state: ThreadState, begin: int, executable: Any, out: Any) -> None:
        self._events.used()
        site = self._calls.sites.here(4)
        if site not in self._work:
            self._called_elsewhere(site, getattr(executable, "xla_executable", None))
        state.step.barrier_ns += _clock() - max(begin, state.step.begin)
        self._launch(state, site, _function(str(getattr(executable, "name", ""))))
        self._origins.made(state.index, site, out)

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

    # -- compilations ------------------------------------------------------------------------

    def _install_compilations(self) -> None:
        from jax._src import compiler

        self._patches.replace(compiler, "compile_or_get_cached", self._compile)

    def _compile(self, original: Any) -> Any:
        counters = self._counters

        def compile_or_get_cached(backend: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
            if self._recorder.off:
                return original(backend, module, *args, **kwargs)
            begin = _clock()
            self._calls.note(self._events.used)
            counters.begun += 1
            try:
                executable = original(backend, module, *args, **kwargs)
            except BaseException:
                counters.begun -= 1
                raise
            self._calls.note(self._compiled, executable, begin, module, args)
            return executable

        return compile_or_get_cached

    def _compiled(self, executable: Any, begin: int, lowered: Any, args: tuple[Any, ...]) -> None:
        miss = self._miss()
        end = _clock()
        spent = end - (begin if miss is None or not miss.open else max(miss.began, 0))
        if miss is not None:
            miss.began = end
        self._counters.note(spent)
        state = self._recorder.thread()
        state.compiles = False
        site = self._calls.sites.here(4)
        details = _Executable(executable, args)
        of = [executable, *(miss.call[:1] if miss is not None and miss.call else ())]
        operation = len(of) > 1 and is_operation(of[1], self._calls.sites.kind)
        self._launches_from(site, details.work, operation)
        self._work_of.update((id(each), (details.work, operation)) for each in of)
        launches = self._calls.sites.launches.get(site, 0)
        known = self._changed(miss, site)
        first = self._first.setdefault((site, known.get("function", details.name)), launches)
        number = self._recorder.compilations.record(
            state,
            state.inside or "launch",
            site,
            spent,
            {
                "function": details.function,
                **details.described(),
                **known,
                **self._repeated(lowered, spent),
                "ordinal": launches - first,
            },
        )
        module = details.module
        if module is not None:
            self._modules.add(number, details.name, module)

    def _repeated(self, lowered: Any, spent: int) -> dict[str, Any]:
        """Fields of the step log about a line traced many times, if compiling took long."""
        if spent < _SLOW_NS:
            return {}
        try:
            found = repeated(lowered, self._calls.sites.kind)
        except Exception as error:  # MLIR's bindings, which any release may change
            self.missing.setdefault("repeated operations", repr(error))
            return {}
        if found is None:
            return {}
        return {"repeated": [self._made(found.place, None), *found[1:]]}

    def _changed(self, miss: _Miss | None, site: int | None) -> dict[str, Any]:
        """Fields of the step log about the key of a compilation."""
        if miss is None:
            return {}
        try:
            key = miss.key or self._reader.read(*miss.call) if miss.call else miss.key
        except Exception as error:  # private parts of JAX, which any release may change
            self.missing.setdefault("keys", repr(error))
            return {}
        if key is None:
            return {}
        number = self._recorder.compilations.count + 1
        against, changes = self._keys.add(number, key, site, self._calls.sites.call())
        defined = self._calls.definition(key.function.code)
        return {
            "function": key.function.name,
            "defined": defined,
            "against": against,
            "changes": [[*change[:4]] for change in changes],
            "made": [self._made(change.place, site) for change in changes],
        }

    def _made(self, place: Place | None, call: int | None) -> int | None:
        """The site of a line of the program, if it is not the call's own line."""
        sites = self._calls.sites
        if place is None or sites.kind(place.file) != USER:
            return None
        made = sites.intern((*place, None, None, None, ""))
        if made is None or call is None:
            return made
        named = sites.rows[call]
        return None if sites.rows[made][:2] in (named[:2], named[3:5]) else made

    # -- keys --------------------------------------------------------------------------------

    def _install_keys(self) -> None:
        from jax._src import api, pjit

        self._reader = KeyReader(self._jax, self._calls.sites.kind)
        whole = "_run_python_pjit" if hasattr(pjit, "_run_python_pjit") else "_python_pjit_helper"
        self._patches.replace(pjit, whole, self._closing)
        self._patches.replace(pjit, "_infer_params", self._infer)

        self._patches.replace(api, "clear_caches", self._clear)
        self._patches.put(self._jax, "clear_caches", api.clear_caches)

    def _clear(self, original: Any) -> Any:
        def clear_caches() -> None:
            original()
            self._calls.note(self._keys_are_gone)

        return clear_caches

    def _keys_are_gone(self) -> None:
        sites = self._calls.sites
        site = sites.here(4)
        place = None if site is None else Place(*sites.rows[site][:3])
        self._keys.cleared(self._recorder.compilations.count, place)

    def _infer(self, original: Any) -> Any:
        def infer_params(function: Any, info: Any, args: Any, kwargs: Any) -> Any:
            miss = self._miss()
            if self._recorder.off or (miss is not None and miss.open):
                return original(function, info, args, kwargs)
            miss = self._local.miss = _Miss(function, info, args, kwargs)
            self._recorder.thread().compiles = True
            caller = sys._getframe(1).f_code.co_name
            miss.tracing = True
            try:
                result = original(function, info, args, kwargs)
            except BaseException:
                self._miss_is_over()
                raise
            miss.tracing = False
            if caller not in ("cache_miss", "_python_pjit_helper"):  # lowered now, compiled later
                self._calls.note(self._keep_key, miss)
            return result

        return infer_params

    def _keep_key(self, miss: _Miss) -> None:
        if miss.call is not None:
            miss.key = self._reader.read(*miss.call)
        miss.call, miss.open = None, False
        self._recorder.thread().compiles = False

    def _closing(self, original: Any) -> Any:
        """Wrap a call that ends the miss if it is the outermost one, and not made while tracing."""
        local = self._local

        def call(*args: Any, **kwargs: Any) -> Any:
            miss, depth = self._miss(), getattr(local, "depth", 0)
            local.depth = depth + 1
            try:
                return original(*args, **kwargs)
            finally:
                local.depth = depth
                if depth == 0 and not (miss is not None and miss.tracing):
                    self._miss_is_over()

        return call

    def _miss(self) -> _Miss | None:
        return getattr(self._local, "miss", None)

    def _miss_is_over(self) -> None:
        self._local.miss = None
        self._recorder.thread().compiles = False

    # -- reads -------------------------------------------------------------------------------

    def _install_reads(self) -> None:
        import jax
        from jax._src import api, dispatch
        from jax._src.array import ArrayImpl

        self._patches.replace(dispatch, "_check_special", self._check)
        kind: Any = ArrayImpl
        value = kind._value
        recorder, calls = self._recorder, self._calls

        def read_value(array: Any) -> Any:
            if buffers.stopped and (stop := buffers.stopped.pop(threading.get_ident(), None)):
                raise stop
            if recorder.off or calls.is_inside():
                return value.fget(array)
            caller = sys._getframe(1)
            how = _READS.get(caller.f_code.co_name, "value")
            if how == "array" and _in_item(caller):
                how = "item"
            return calls.read(how, value.fget, array)

        self._patches.put(kind, "_value", property(read_value, doc=value.__doc__))
        self._patches.replace(kind, "block_until_ready", self._wait)
        for name, make in (("block_until_ready", self._wait), ("device_get", self._get)):
            self._patches.replace(api, name, make)
            self._patches.put(jax, name, getattr(api, name))

    def _check(self, original: Any) -> Any:
        """Wrap the NaN check: the setting causes its reads, not the program's line."""

        def check(*args: Any, **kwargs: Any) -> Any:
            state = self._recorder.thread()
            outer, state.inside = state.inside, state.inside or "check"
            try:
                return original(*args, **kwargs)
            finally:
                state.inside = outer

        return check

    def _wait(self, original: Any) -> Any:
        return self._reading("wait", original)

    def _get(self, original: Any) -> Any:
        return self._reading("device_get", original)

    def _reading(self, kind: str, original: Any) -> Any:
        def read(*args: Any, **kwargs: Any) -> Any:
            if self._recorder.off or not self._events.awake or self._calls.is_inside():
                return original(*args, **kwargs)
            return self._calls.read(kind, original, *args, **kwargs)

        return read

    def _install_buffers(self) -> None:
        from jax._src.array import ArrayImpl

        recorder, calls = self._recorder, self._calls

        def reads(array: Any, read: Callable[[], Any]) -> Any:
            if recorder.off or calls.is_inside() or not _on_cpu(array):
                return read()  # refused for other devices; NumPy then calls __array__
            how = "item" if _in_item(sys._getframe(1)) else "array"
            return calls.read(how, lambda _: read(), array)

        self._undo.append(buffers.watch(ArrayImpl, reads))

    def _install_callbacks(self) -> None:
        from jax._src import callback, debugging

        for module, name in (
            (callback, "pure_callback_impl"),
            (callback, "io_callback_impl"),
            (debugging, "debug_callback_impl"),
            (debugging, "debug_print_impl"),
        ):
            if hasattr(module, name):
                self._patches.replace(module, name, self._call_back)
        self._patches.replace(debugging.debug_callback_p, "impl", self._call_back)

    def _call_back(self, original: Any) -> Any:
        """Wrap host callbacks: their arguments have been computed, so reads in them do not wait.

        Launches within them are recorded as usual.
        """

        def call_back(*args: Any, **kwargs: Any) -> Any:
            state = self._recorder.thread()
            if self._recorder.off or state.inside:
                return original(*args, **kwargs)
            state.inside = "callback"
            begin = _clock()
            try:
                return original(*args, **kwargs)
            finally:
                state.inside = ""
                self._counters.call_back(_clock() - begin)

        return call_back

    # -- uploads, steps, input, saves --------------------------------------------------------

    def _install_uploads(self) -> None:
        from jax._src.interpreters import pxla

        self._patches.replace(pxla, "batched_device_put", self._put)

    def _put(self, original: Any) -> Any:
        def batched_device_put(
            aval: Any, sharding: Any, arrays: Any, *args: Any, **kwargs: Any
        ) -> Any:
            if self._recorder.off or self._recorder.thread().inside:
                return original(aval, sharding, arrays, *args, **kwargs)
            host = [
                getattr(array, "val", array) for array in arrays if isinstance(array, self._host)
            ]
            if not host:
                return original(aval, sharding, arrays, *args, **kwargs)
            return self._calls.upload(host, original, aval, sharding, arrays, *args, **kwargs)

        return batched_device_put

    def _install_settings(self) -> None:
        self.config_changes.install(self._patches)

    def _install_steps(self) -> None:
        """Hook the program's own step marks for the profiler: they are the best source of steps."""
        from jax.profiler import StepTraceAnnotation

        def leave(original: Any) -> Any:
            def __exit__(annotation: Any, *error: Any) -> Any:  # noqa: N807
                result = original(annotation, *error)
                if not self._recorder.off:
                    self._calls.note(self._step_marked)
                return result

            return __exit__

        self._patches.replace(StepTraceAnnotation, "__exit__", leave)

    def _step_marked(self) -> None:
        self._annotated = True
        state = self._recorder.thread()
        if self._events.awake and not state.inside:
            self._events.step_launched(state, self._calls.sites.here(4), launched=False)

    def _install_input(self) -> None:
        calls = self._calls

        def tell(owner: str, name: str) -> Callable[[Any], None]:
            def wrap(module: Any) -> None:
                kind = getattr(module, owner, None)
                if kind is not None and name in vars(kind):
                    self._patches.replace(kind, name, calls.input)

            return wrap

        grain = "grain._src.python.dataset.transformations"
        for module, owner, name in (
            ("grain._src.python.data_loader", "DataLoaderIterator", "__next__"),
            (f"{grain}.map", "_MapDatasetIterator", "__next__"),
            (f"{grain}.batch", "_BatchDatasetIterator", "__next__"),
            (f"{grain}.prefetch", "PrefetchDatasetIterator", "__next__"),
            (f"{grain}.prefetch", "ThreadPrefetchDatasetIterator", "__next__"),
            (f"{grain}.process_prefetch", "ProcessPrefetchDatasetIterator", "__next__"),
            ("tensorflow.python.data.ops.dataset_ops", "NumpyIterator", "__next__"),
            ("tensorflow.python.data.ops.iterator_ops", "OwnedIterator", "__next__"),
        ):
            self._undo.append(when_imported(module, tell(owner, name)))
        self._undo.append(
            when_imported(
                "torch.utils.data.dataloader",
                lambda _: Loaders(sys.modules["torch"], calls, self._patches).install(),
            )
        )

    def _install_saves(self) -> None:
        def wrap(kind: str) -> Callable[[Any], None]:
            def tell(module: Any) -> None:
                owner = getattr(module, kind, None)
                if owner is not None and hasattr(owner, "save"):
                    self._patches.replace(owner, "save", self._calls.save)

            return tell

        for module, kind in (
            ("orbax.checkpoint.checkpoint_manager", "CheckpointManager"),
            ("orbax.checkpoint._src.checkpointers.checkpointer", "Checkpointer"),
            ("orbax.checkpoint._src.checkpointers.async_checkpointer", "AsyncCheckpointer"),
        ):
            self._undo.append(when_imported(module, wrap(kind)))
        for module, names in (
            ("numpy", ("save", "savez", "savez_compressed")),
            ("pickle", ("dump",)),
        ):
            self._undo.append(when_imported(module, functools.partial(self._written_by, names)))

    def _written_by(self, names: Iterable[str], module: Any) -> None:
        for name in names:
            self._patches.replace(module, name, functools.partial(self._calls.save, fetched=True))


class _Executable:
    """Facts about a compiled executable. JAX guarantees none of them, so each may be missing."""

    def __init__(self, executable: Any, args: tuple[Any, ...]) -> None:
        self._executable = executable
        self._callbacks = next((len(value) for value in args if isinstance(value, list)), 0)
        modules = self._tried(executable.hlo_modules) or [None]
        self._module = modules[0]
        self.name = str(getattr(self._module, "name", "module"))

    @property
    def function(self) -> str:
        """The function that JAX named the module after."""
        return _function(self.name)

    def _tried(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except Exception:  # backends implement only a part
            return None

    @property
    def work(self) -> float:
        """FLOPs plus bytes written.

        Bytes read are left out: a lookup of some rows of a table counts as a read of all of it.
        """
        analysis = self._tried(self._executable.cost_analysis)
        if isinstance(analysis, list):
            analysis = analysis[0] if analysis else None
        known = analysis if isinstance(analysis, dict) else {}
        return float((known.get("flops") or 0.0) + (known.get("bytes accessedout{}") or 0.0))

    @functools.cached_property
    def module(self) -> bytes | None:
        """The serialized HloModuleProto."""
        module = self._module
        if module is None:
            return None
        proto = self._tried(module.as_serialized_hlo_module_proto)
        return proto if isinstance(proto, bytes) else None

    @property
    def callbacks(self) -> int:
        """The number of calls of Python on the host: the backend's channels, or custom calls."""
        return max(self._callbacks, len(_CALLBACK.findall(self.module or b"")))

    def described(self) -> dict[str, Any]:
        """Sizes in bytes, as in the step log."""
        memory = self._tried(self._executable.get_compiled_memory_stats)
        sizes = {
            name: int(getattr(memory, f"{name}_size_in_bytes", 0) or 0)
            for name in ("argument", "output", "alias", "temp")
        }
        return {"memory": sizes, "callbacks": self.callbacks} if memory is not None else {}


def _function(name: str) -> str:
    """The function that a module or an executable is named after."""
    return name[4:-1] if name.startswith("jit(") else name.removeprefix("jit_")


def _of_host(args: Any, kinds: tuple[type, ...]) -> list[Any]:
    """The arrays of these kinds among the arguments, and in their small containers."""
    values: list[Any] = []
    for arg in args:
        kind = type(arg)
        if kind in _CONTAINERS and 0 < len(arg) <= _FEW:
            for value in arg.values() if kind is dict else arg:
                if isinstance(value, kinds):
                    values.append(getattr(value, "val", value))
        elif isinstance(arg, kinds):
            values.append(getattr(arg, "val", arg))
    return values


def _on_cpu(array: Any) -> bool:
    return all(device.platform == "cpu" for device in array.sharding.device_set)


def _in_item(frame: FrameType | None) -> bool:
    """Whether ``x.item()``, which calls other functions, is what reads the array's memory."""
    for _ in range(4):
        if frame is None:
            return False
        if frame.f_code.co_name == "_item":
            return True
        frame = frame.f_back
    return False
