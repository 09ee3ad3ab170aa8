"""Wraps what compiles in JAX, and finds out why: the key of a call that misses its cache."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from .. import clock
from ..call_site import USER
from ..calls import Calls, Installer
from ..compiler_output import CompilerOutput
from ..disguise import hide_frames, origin, pass_on
from ..sharding_facts import FullCopy
from ..step import ThreadState
from .assignments import Assignments, Place
from .call_arrays import call_arrays
from .constants import large_constants, size_of, text_of, variables
from .disk_cache import DiskCache
from .divisions import Redivided, meshes, redivided
from .executable import Executable, is_partitioned
from .graphs import kept
from .key_reader import KeyReader, is_operation
from .keys import Key, Keys
from .lines import Places, named_as, traced
from .modules import Modules

if TYPE_CHECKING:
    from ..event_counters import EventCounters

_SLOW_NS = 500_000_000  # nanoseconds of compiling, above which a loop in the function matters

_clock = clock.perf_counter_ns


class _Miss:
    """A call that missed its function's cache: when it began, and what it called."""

    def __init__(self, function: Any, info: Any, args: Any, kwargs: Any) -> None:
        self.began = _clock()
        self.call: tuple[Any, ...] | None = (function, info, args, kwargs)
        self.key: Key | None = None
        self.constants: list[Any] | None = None  # large ones; None if they are unknown
        self.jaxpr: Any = None  # with its constants, once it is traced
        self.arrays: list[list[Any]] | None = None  # large arguments and results, if known
        self.traced: int | None = None  # when that was, until it is compiled
        self.open = True
        self.tracing = False


class Compiling(Installer):
    """Installs the wrappers, which report to ``calls``.

    A call that misses its function's cache goes through ``_infer_params``, which has its key, and
    then through ``compile_or_get_cached``, unless it was compiled before.
    """

    def __init__(
        self, module: Any, counters: EventCounters, modules: Modules, calls: Calls
    ) -> None:
        super().__init__(calls)
        self._jax = module
        self._counters = counters
        self._modules = modules
        self.disk_cache = DiskCache(calls)
        #: See :attr:`..framework.Framework.meshes`.
        self.meshes: list[dict[str, int]] = []
        self.output = CompilerOutput()
        self._local = threading.local()
        self._keys = Keys()
        self._work = calls.sites.work
        #: By id of functions and of their executables: the work, and whether it is a single
        #: operation.
        self._work_of: dict[int, tuple[float, bool]] = {}
        #: By site and function, the site's launches before it first compiled the function.
        self._first: dict[tuple[int | None, str], int] = {}

    def install_compilations(self) -> None:
        """Wrap the function that compiles a lowered module."""
        from jax._src import compiler

        self._hooks.replace(compiler, "compile_or_get_cached", self._compile)
        self._calls.graphs.supported = True

    def install_keys(self) -> None:
        """Wrap what a call that misses its function's cache goes through."""
        from jax._src import api, pjit

        self._reader = KeyReader(self._jax, self._calls.sites.kind)
        self._assigned = Assignments(self._calls.sites.kind)
        whole = "_run_python_pjit" if hasattr(pjit, "_run_python_pjit") else "_python_pjit_helper"
        self._hooks.replace(pjit, whole, self._closing)
        traces = "_infer_params" if hasattr(pjit, "_infer_params") else "_trace_for_jit"  # of 0.9
        self._hooks.replace(pjit, traces, self._infer)
        cleared = self._calls.after(self._keys_are_gone, handed=False)
        self._hooks.replace(api, "clear_caches", cleared, self._jax)

    def launched_elsewhere(self, site: int | None, compiled: Any) -> None:
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

    def _compile(self, original: Any) -> Any:
        counters = self._counters

        def compile_or_get_cached(backend: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
            if self._recorder.off:
                return original(backend, module, *args, **kwargs)
            begin = _clock()
            self._calls.note(self._events.used)
            self.disk_cache.begin()
            counters.begun += 1
            partitioned = self._calls.note(is_partitioned, args)
            if partitioned:
                self._calls.note(self.output.begin)
            try:
                executable = original(backend, module, *args, **kwargs)
            except BaseException as error:
                counters.begun -= 1
                hide_frames(error)
                raise
            finally:
                said = self._calls.note(self.output.end) if partitioned else None
            self._calls.note(self._compiled, executable, begin, module, args)
            for text, count in (said or {}).items():
                self._calls.note(self._said, text, count)
            return executable

        return compile_or_get_cached

    def _compiled(self, executable: Any, begin: int, lowered: Any, args: tuple[Any, ...]) -> None:
        miss = self._miss()
        end = _clock()
        spent = end - (begin if miss is None or not miss.open else max(miss.began, 0))
        phases = None
        if miss is not None:
            if miss.open and miss.traced is not None:
                phases = miss.traced - miss.began, begin - miss.traced
            miss.began, miss.traced = end, None
        self._counters.note(spent)
        state = self._recorder.thread()
        state.compiles = False
        site = self._calls.sites.here(4)
        details = Executable(executable, args)
        of = [executable, *(miss.call[:1] if miss is not None and miss.call else ())]
        operation = not self.is_of_program()
        self._launches_from(site, details.work, operation)
        self._work_of.update((id(each), (details.work, operation)) for each in of)
        launches = self._calls.sites.launches.get(site, 0)
        known = self._changed(miss, site)
        first = self._first.setdefault((site, known.get("function", details.name)), launches)
        arrays = self._arrays(miss, details.function)
        cached = self.disk_cache.finish(
            state, lowered, details.name, self._recorder.compilations.count, site
        )
        if cached and is_partitioned(args):
            self.output.loaded()
        number = self._recorder.compilations.record(
            state,
            state.inside or "launch",
            site,
            spent,
            {
                "function": details.function,
                **details.described(),
                **known,
                **self._lines(miss, details.function, spent, phases),
                **self._captured(miss, spent),
                **({} if arrays is None or operation else {"arrays": arrays}),
                **self._divisions(miss, lowered, details.function),
                "ordinal": launches - first,
                "cached": cached,
            },
        )
        module = details.module
        if module is not None:
            self._modules.add(number, details.name, module, details.assignment)
        if not operation:
            function = str(known.get("function", details.function))
            self._keep(state, lowered, name=function, compilation=number - 1, site=site)

    def is_of_program(self) -> bool:
        """Whether the call that misses its cache now is of a function of the program's."""
        miss = self._miss()
        called = miss.call if miss is not None else None
        return called is None or not is_operation(called[0], self._calls.sites.kind)

    def _said(self, text: str, count: int) -> None:
        state, site = self._recorder.thread(), self._calls.sites.here(4)
        number = self._recorder.compilations.count - 1
        said = FullCopy(thread=state.id, index=number, text=text, count=count, site=site)
        self._recorder.log_fact(said)

    def _keep(self, state: ThreadState, lowered: Any, **fields: Any) -> None:
        """Keep the graph as it was lowered."""
        graphs = self._calls.graphs
        if not graphs.wanted:
            graphs.leave_out()
            return
        graph = self._hooks.examine("graphs before optimization", kept, lowered)
        if graph is not None:
            graphs.add(state, **graph._asdict(), **fields)

    def _lines(
        self, miss: _Miss | None, function: str, spent: int, phases: tuple[int, int] | None
    ) -> dict[str, Any]:
        """Fields of the step log about the lines that the function comes from, if compiling took
        long: with the nanoseconds of tracing and of lowering it, where they are known.
        """
        jaxpr, kind = None if miss is None else miss.jaxpr, self._calls.sites.kind
        if miss is None or jaxpr is None or not (miss.open or named_as(jaxpr, function)):
            return {}
        if spent < _SLOW_NS:
            return {}
        found = self._hooks.examine("lines of a function", traced, jaxpr, kind)
        if found is None:
            return {}
        lines = [[self._made(each.place, None), *each[1:]] for each in found.lines]
        fields = {"traced": [found.equations, found.complete, *(phases or (None, None)), lines]}
        if found.repeated is not None:
            fields["repeated"] = [self._made(found.repeated.place, None), *found.repeated[1:]]
        return fields

    def _divisions(self, miss: _Miss | None, lowered: Any, function: str) -> dict[str, Any]:
        """Fields of the step log about how a function divides values over devices."""
        found = self._hooks.examine("meshes", lambda: [*meshes(lowered)]) or []
        self.meshes += [each for each in found if each not in self.meshes]
        jaxpr = None if miss is None else miss.jaxpr
        if miss is None or jaxpr is None or not (miss.open or named_as(jaxpr, function)):
            return {}
        miss.jaxpr = None
        if not found:
            return {"redivided": []}
        places = Places(self._calls.sites.kind)
        changed = self._hooks.examine(
            "divisions", redivided, jaxpr, lambda traceback: places.at(traceback).place
        )
        return {} if changed is None else {"redivided": [*map(self._redivided, changed)]}

    def _redivided(self, value: Redivided) -> list[Any]:
        lines = [
            each and [self._made(each.place, None), each.text]
            for each in (value.first, value.then, value.last)
        ]
        return [*lines, self._made(value.used, None), value.array, value.bytes]

    def _arrays(self, miss: _Miss | None, function: str) -> list[list[Any]] | None:
        """The large arrays of the call, if it is the one that was compiled."""
        jaxpr = None if miss is None else miss.jaxpr
        if miss is None or jaxpr is None or not (miss.open or named_as(jaxpr, function)):
            return None
        arrays, miss.arrays = miss.arrays, None
        return arrays

    def _captured(self, miss: _Miss | None, spent: int) -> dict[str, Any]:
        """Fields of the step log about large arrays that the function closes over."""
        if miss is None or miss.constants is None:
            return {}
        arrays = miss.constants if spent >= _SLOW_NS else []
        try:
            held = variables(miss.call[0], arrays) if miss.call else {}
            places = self._assigned.places(value for _, value in held.values()) if held else {}
            return {"captured": [self._constant(each, held, places) for each in arrays]}
        except Exception as error:  # what a function holds may be anything
            pass_on(error)
            return {}

    def _constant(self, array: Any, held: dict[int, Any], places: dict[int, Place]) -> list[Any]:
        name, value = held.get(id(array), ("", None))
        made = self._made(places.get(id(value)), None)
        return [made, name, text_of(array), size_of(array)]

    def _changed(self, miss: _Miss | None, site: int | None) -> dict[str, Any]:
        """Fields of the step log about the key of a compilation."""
        key = None if miss is None else self._key(miss)
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

    def _key(self, miss: _Miss) -> Key | None:
        """The key of a call; None if it cannot be read."""
        if miss.key is not None or miss.call is None:
            return miss.key
        try:
            return self._reader.read(*miss.call)
        except Exception as error:  # private parts of JAX, which any release may change
            pass_on(error)
            if self._calls.sites.kind(origin(error)) != USER:  # or the program's own class
                self._hooks.missing.setdefault("keys", repr(error))
            return None

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

    def _keys_are_gone(self) -> None:
        sites = self._calls.sites
        site = sites.here(4)
        place = None if site is None else Place(*sites.rows[site][:3])
        self._keys.cleared(self._recorder.compilations.count, place)

    def _infer(self, original: Any) -> Any:
        def infer_params(function: Any, info: Any, args: Any, kwargs: Any) -> Any:
            what = function, info, args, kwargs
            miss = None if self._recorder.off else self._calls.note(self._begin_miss, *what)
            if miss is None:
                return original(*what)
            caller = sys._getframe(1).f_code.co_name
            try:
                result = original(*what)
            except BaseException as error:
                self._calls.note(self.miss_is_over)
                hide_frames(error)
                raise
            miss.tracing = False
            self._calls.note(self._keep_constants, miss, result)
            if caller not in ("cache_miss", "_python_pjit_helper"):  # lowered now, compiled later
                self._calls.note(self._keep_key, miss)
            return result

        return infer_params

    def _begin_miss(self, *what: Any) -> _Miss | None:
        """Note that a call has missed its cache, unless it is part of one that has."""
        miss = self._miss()
        if miss is not None and miss.open:
            return None
        self._recorder.thread().compiles = True
        miss = self._local.miss = _Miss(*what)
        miss.tracing = True
        return miss

    def _keep_constants(self, miss: _Miss, inferred: Any) -> None:
        miss.constants = self._hooks.examine("constants", large_constants, *inferred[:1])
        miss.arrays = self._hooks.examine("arrays of calls", call_arrays, *inferred[:1])
        miss.jaxpr, miss.traced = inferred[0].params.get("jaxpr"), _clock()

    def _keep_key(self, miss: _Miss) -> None:
        miss.key = self._key(miss)
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
            except BaseException as error:
                hide_frames(error)
                raise
            finally:
                local.depth = depth
                if depth == 0 and not (miss is not None and miss.tracing):
                    self._calls.note(self.miss_is_over)

        return call

    def _miss(self) -> _Miss | None:
        return getattr(self._local, "miss", None)

    def miss_is_over(self) -> ThreadState:
        """Forget the call that missed its cache: it has been compiled, or has ended.

        Returns the state of the thread.
        """
        self._local.miss = None
        state = self._recorder.thread()
        state.compiles = False
        return state
