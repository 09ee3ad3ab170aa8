"""How a call of a framework is timed and reported, whichever framework it is.

A frontend puts these wrappers around the calls that it knows. Each calls the original, whatever
fails here. A save counts as one of the device's state if its own thread read a tensor or waited for
one meanwhile (``touched``). That is more complete than a walk through the saved object, and unlike
metrics it leaves out what other threads did.
"""

from __future__ import annotations

from typing import Any, Callable

from . import clock
from .call_site import CallSites
from .disguise import hide_frames
from .events import Events
from .graphs import Graphs
from .hooks import Hooks
from .recorder import Recorder
from .step import ThreadState

_PATIENCE_NS = 100_000_000  # the longest wait for a sample, which takes microseconds
_MOMENT_S = 2e-5

_clock = clock.perf_counter_ns


Before = Callable[[ThreadState, "int | None", Any, Any], int]
#: Makes a wrapper of the original.
Make = Callable[[Any], Any]


class Calls:
    """Makes wrappers, which report each timed call and closed step to ``events``."""

    def __init__(
        self, recorder: Recorder, sites: CallSites, events: Events, graphs: Graphs, hooks: Hooks
    ) -> None:
        self.recorder = recorder
        self.hooks = hooks
        self.events = events
        self.sites = sites
        self.graphs = graphs
        #: Called with the thread, the site and the arguments of a barrier or a read, just before
        #: it, if the framework looks at what that will launch. Returns how long it took, in ns,
        #: without the time that it waited for the device, as the call would. It may raise what the
        #: call itself would, and handles faults of its own.
        self.before_barrier: Before | None = None
        self.before_read: Before | None = None
        #: Called with a read's site and the value read, if the framework looks at values.
        self.looks: Callable[[int | None, Any], None] | None = None

    def note(self, record: Callable[..., Any], *what: Any) -> Any:
        """Record something, and return what ``record`` returns.

        A fault in doing so ends the capture, never the program; then None is returned.
        """
        try:
            return record(*what)
        except Exception as fault:
            self.events.fail(fault)
            return None

    def line(self, depth: int = 3) -> int | None:
        """The call site of the line that called the wrapper."""
        try:
            return self.sites.here(depth)
        except Exception as fault:
            self.events.fail(fault)
            return None

    def outermost(self) -> ThreadState | None:
        """The state of this thread, unless this call is part of another timed one, or the capture
        has ended.
        """
        state = None if self.recorder.off else self.note(self.recorder.thread)
        return None if state is None or state.inside else state

    def definition(self, code: Any) -> int | None:
        """The call site at which the program defines a function; None if it is not its own."""
        return None if code is None else self.sites.definition(code)

    def is_inside(self) -> bool:
        """Whether this call is part of another timed call of this thread; also after a fault."""
        state = self.note(self.recorder.thread)
        if state is None:
            return True
        state.touched = state.touched or bool(state.inside)
        return bool(state.inside)

    def _enter(self, inside: str, hear: Callable[[ThreadState], None], depth: int = 3) -> Any:
        """Begin a timed call, and return the thread's state and the calling site.

        Returns None after a fault of the capture, which ends the capture, never the program.
        """
        try:
            state = self.recorder.thread()
            hear(state)
            site = self.sites.here(depth)
            state.inside = inside
        except Exception as fault:
            self.events.fail(fault)
            return None
        else:
            return state, site

    # -- calls that are noted, and not timed ---------------------------------------------------

    def before(self, record: Callable[..., object], handed: bool = True) -> Make:
        """Wrap a call so that ``record`` is called before it.

        Args:
            handed: whether ``record`` gets the arguments of the call.
        """

        def make(original: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                try:
                    self._record(record, handed, args, kwargs)
                    return original(*args, **kwargs)
                except BaseException as error:
                    hide_frames(error)
                    raise

            return call

        return make

    def after(self, record: Callable[..., object], handed: bool = True) -> Make:
        """Wrap a call so that ``record`` is called once it has returned, as by :meth:`before`."""

        def make(original: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                try:
                    result = original(*args, **kwargs)
                    self._record(record, handed, args, kwargs)
                except BaseException as error:
                    hide_frames(error)
                    raise
                return result

            return call

        return make

    def _record(self, record: Callable[..., object], handed: bool, args: Any, kwargs: Any) -> None:
        if self.recorder.off:
            return
        try:
            if handed:
                record(*args, **kwargs)
            else:
                record()
        except Exception as fault:
            self.events.fail(fault)

    # -- barriers ----------------------------------------------------------------------------

    def barrier(self, original: Any) -> Any:
        """Wrap a call that ends a step."""
        recorder, events = self.recorder, self.events

        def hear(state: ThreadState) -> None:
            events.entering(state)
            state.outer = state.inside
            if recorder.looking.locked():
                self._let_the_sampler_end()

        def barrier(*args: Any, **kwargs: Any) -> Any:
            try:
                entered = None if recorder.off else self._enter("barrier", hear)
                if entered is None:
                    return original(*args, **kwargs)
                state, site = entered
                begin = _clock()
                try:
                    before = self.before_barrier
                    if before is not None:
                        begin += before(state, site, args, kwargs)
                    result = original(*args, **kwargs)
                finally:
                    state.inside = state.outer
                    events.barrier_left(state, site, begin, _clock())
            except BaseException as error:
                hide_frames(error)
                raise
            if events.enough(state):
                raise SystemExit(0)  # the program's own `finally` and `atexit` still run
            return result

        return barrier

    def _let_the_sampler_end(self) -> None:
        """Wait for the sampler without taking its lock: an exception from a signal handler could
        leave it locked.
        """
        patience = _clock() + _PATIENCE_NS  # at exit the sampler may die while holding the lock
        while self.recorder.looking.locked() and _clock() < patience:
            clock.sleep(_MOMENT_S)

    # -- reads and uploads -------------------------------------------------------------------

    def read(self, kind: str, original: Any, *args: Any, **kwargs: Any) -> Any:
        """Time a call that reads a value from the device. Called by a wrapper."""
        events = self.events
        entered = self._enter("read", events.entering, 4)
        if entered is None:
            return original(*args, **kwargs)
        state, site = entered
        if self.looks is not None:
            self.note(self.looks, site, args)
        begin = _clock()
        try:
            before = self.before_read
            if before is not None:
                begin += before(state, site, args, kwargs)
            if not events.annotates:
                result = original(*args, **kwargs)
            else:
                with events.annotation("read", site, kind=kind):
                    result = original(*args, **kwargs)
        finally:
            state.inside = ""
            events.read_left(state, site, kind, begin, _clock())
        if events.enough_of_reads(state):
            raise SystemExit(0)
        return result

    def reading(
        self, kind: str, unless: Callable[[], bool] | None = None, wakes: bool = True
    ) -> Make:
        """Wrap a call that waits for what the device computes, or reads it.

        Args:
            kind: as in :meth:`read`.
            unless: whether the call at hand is not one of the program's.
            wakes: whether it shows that the program uses the device.
        """
        recorder, events = self.recorder, self.events

        def make(original: Any) -> Any:
            def read(*args: Any, **kwargs: Any) -> Any:
                try:
                    if (
                        recorder.off
                        or not (wakes or events.awake)
                        or self.is_inside()
                        or (unless is not None and unless())
                    ):
                        return original(*args, **kwargs)
                    return self.read(kind, original, *args, **kwargs)
                except BaseException as error:
                    hide_frames(error)
                    raise

            return read

        return make

    def upload(self, arrays: Any, original: Any, *args: Any, **kwargs: Any) -> Any:
        """Time a call that sends arrays to the device. Called by a wrapper."""
        events = self.events
        site = self.line(4)
        begin = _clock()
        if events.annotates:
            with events.annotation("upload", site):
                result = original(*args, **kwargs)
        else:
            result = original(*args, **kwargs)
        self.note(self.recorder.uploads, site, arrays, _clock() - begin)
        self.note(events.used)
        return result

    # -- input and saves ---------------------------------------------------------------------

    def input(self, original: Any) -> Any:
        """Wrap a call that returns the next batch."""
        recorder, events = self.recorder, self.events

        def next_batch(*args: Any, **kwargs: Any) -> Any:
            try:
                state = self.outermost()
                if state is None:
                    return original(*args, **kwargs)
                site = self.line() if events.annotates else None
                state.inside = "batch"
                begin = _clock()
                try:
                    with events.annotation("input", site):
                        return original(*args, **kwargs)
                finally:
                    state.inside = ""
                    self.note(recorder.input, state, begin, _clock())
            except BaseException as error:
                hide_frames(error)
                raise

        return next_batch

    def save(self, original: Any, fetched: bool = False) -> Any:
        """Wrap a call that saves state.

        Args:
            fetched: whether the state may have been read from the device earlier in the same step.
        """
        recorder, events = self.recorder, self.events

        def save(*args: Any, **kwargs: Any) -> Any:
            try:
                outermost = self.outermost() is not None
                entered = self._enter("save", events.saving) if outermost else None
                if entered is None:
                    return original(*args, **kwargs)
                state, site = entered
                state.touched = fetched and bool(state.step.reads)
                begin = _clock()
                try:
                    with events.annotation("save", site):
                        return original(*args, **kwargs)
                finally:
                    state.inside = ""
                    events.saved()
                    if state.touched:  # a save of host tensors alone is not recorded
                        self.note(recorder.save, state, site, begin, _clock())
            except BaseException as error:
                hide_frames(error)
                raise

        return save


class Installer:
    """Installs hooks in a framework, which report to ``calls``."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._recorder = calls.recorder
        self._events = calls.events
        self._hooks = calls.hooks
