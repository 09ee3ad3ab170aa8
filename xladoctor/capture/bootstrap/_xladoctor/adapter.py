"""Where torch and torch_xla are touched: each wrapper calls the original and notes its time.

Barriers (``sync``, ``mark_step``, ``step``, ``optimizer_step``, loaders, ``StepTrace``) all end in
one function of the extension module. Values are read through a handful of tensor methods. A save is
one of the device's state if, on its own thread, it read a tensor or waited for one (``touched``):
pickling an XLA tensor calls its ``cpu()``, ``xm.save`` synchronizes the tensors that it finds. No
walk through the saved object is as complete, and metrics count what other threads do meanwhile.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any, Callable

from . import clock
from .call_site import CallSites
from .recorder import Recorder
from .step import ThreadState

#: Tensor method -> how a read through it is reported.
_READS = {
    "item": "item", "__bool__": "bool", "__float__": "float", "__int__": "int",
    "__index__": "index", "__complex__": "complex", "__repr__": "repr", "__format__": "format",
    "tolist": "tolist", "numpy": "numpy", "cpu": "cpu", "__array__": "array",
}  # fmt: skip

_DYNAMO = "torch_xla._dynamo"
_PATIENCE_NS = 100_000_000  # for a sample, which takes microseconds
_MOMENT_S = 2e-5

_clock = clock.perf_counter_ns


class Adapter:
    """Installs the wrappers; ``events`` hears of each timed call and closed step."""

    def __init__(self, torch_xla: Any, recorder: Recorder, sites: CallSites, events: Any) -> None:
        import torch

        self._torch = torch
        self._xlac = torch_xla._XLAC
        self._recorder = recorder
        self._sites = sites
        self._events = events
        self._plain = (torch.Tensor, torch.nn.Parameter)
        self._hook: Any = None
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def install(self) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook
        from torch.utils.data import dataloader
        from torch.utils.data._utils import worker
        from torch_xla.core import xla_model
        from torch_xla.distributed import parallel_loader

        self._replace(self._xlac, "_xla_get_default_device", self._device)
        self._replace(worker, "_worker_loop", self._worker_loop)
        self._replace(self._xlac, "_xla_step_marker", self._barrier)
        self._replace(self._xlac, "_xla_wait_device_ops", self._wait)
        self._replace(self._xlac, "_clear_xla_counters", self._clear)
        self._replace(self._xlac, "_xla_tensors_from_aten", self._send)
        self._replace(xla_model, "_run_step_closures", self._closures)
        self._replace(parallel_loader.ParallelLoader, "next_item", self._batch)
        self._replace(dataloader._BaseDataLoaderIter, "__next__", self._batch)
        for name, kind in _READS.items():
            if hasattr(self._torch.Tensor, name):
                self._replace(self._torch.Tensor, name, functools.partial(self._read, kind=kind))
        self._replace(self._torch.Tensor, "to", self._to)
        self._replace(self._xlac, "_xla_sync_multi", self._touch)
        self._install_saves(xla_model)
        self._hook = register_optimizer_step_post_hook(self._optimizer_stepped)

    def uninstall(self) -> None:
        """Put everything back, unless the program has replaced it since."""
        if self._hook is not None:
            self._hook.remove()
        for owner, name, wrapper, original in reversed(self._replaced):
            if owner.__dict__.get(name) is wrapper:
                delattr(owner, name)
                if getattr(owner, name, None) is not original:  # it was not inherited
                    setattr(owner, name, original)
        self._replaced.clear()

    def _install_saves(self, xla_model: Any) -> None:
        self._replace(self._torch, "save", self._save)
        self._put(self._torch.serialization, "save", self._torch.save)
        self._replace(xla_model, "save", self._save)
        with contextlib.suppress(ImportError):
            from torch_xla.utils import serialization

            self._replace(serialization, "save", self._save)

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        wrapper = functools.wraps(original)(make(original))
        if isinstance(owner, type):  # so that it can be pickled by its name
            wrapper.__module__, wrapper.__qualname__ = owner.__module__, f"{owner.__name__}.{name}"
        self._put(owner, name, wrapper)

    def _put(self, owner: Any, name: str, wrapper: Any) -> None:
        self._replaced.append((owner, name, wrapper, getattr(owner, name)))
        setattr(owner, name, wrapper)

    def _note(self, record: Callable[..., None], *what: Any) -> None:
        """Record something; a fault in doing so ends the capture, never the program."""
        try:
            record(*what)
        except Exception as fault:
            self._events.fail(fault)

    def _device(self, original: Any) -> Any:
        events = self._events

        def get_default_device(*args: Any, **kwargs: Any) -> Any:
            device = original(*args, **kwargs)
            if not events.awake:
                events.wake()
            return device

        return get_default_device

    def _worker_loop(self, original: Any) -> Any:
        def worker_loop(*args: Any, **kwargs: Any) -> Any:
            self._events.leave_worker()
            return original(*args, **kwargs)

        return worker_loop

    def _enter(self, inside: str, hear: Callable[[ThreadState], None], depth: int = 3) -> Any:
        """A call begins that is timed: the thread's state, and the line that calls.

        None after a fault here, which ends the capture, never the program.
        """
        try:
            state = self._recorder.thread()
            hear(state)
            site = self._sites.here(depth)
            state.inside = inside
        except Exception as fault:
            self._events.fail(fault)
            return None
        else:
            return state, site

    def _barrier(self, original: Any) -> Any:
        recorder, events = self._recorder, self._events

        def hear(state: ThreadState) -> None:
            events.entering(state)
            state.outer = state.inside
            state.graphs = recorder.graphs(state)
            if recorder.looking.locked():
                self._let_the_sampler_end()

        def step_marker(*args: Any, **kwargs: Any) -> Any:
            entered = None if recorder.off else self._enter("barrier", hear)
            if entered is None:
                return original(*args, **kwargs)
            state, site = entered
            begin = _clock()
            try:
                result = original(*args, **kwargs)
            finally:
                state.inside = state.outer
                events.barrier_left(state, site, begin, _clock())
            if events.enough(state):
                raise SystemExit(0)  # which the program's own `finally` and `atexit` see
            return result

        return step_marker

    def _let_the_sampler_end(self) -> None:
        """Never takes its lock, which a signal handler's exception could leave locked."""
        patience = _clock() + _PATIENCE_NS  # at exit the sampler dies with it
        while self._recorder.looking.locked() and _clock() < patience:
            clock.sleep(_MOMENT_S)

    def _is_inside(self) -> bool:
        """Whether another timed call of this thread is under way, which this one is part of."""
        state = self._recorder.thread()
        state.touched = state.touched or bool(state.inside)
        return bool(state.inside)

    def _read(self, original: Any, kind: str) -> Any:
        recorder, plain = self._recorder, self._plain

        def method(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if not tensor.is_xla or recorder.off or type(tensor) not in plain or self._is_inside():
                return original(tensor, *args, **kwargs)
            return self._timed_read(kind, original, tensor, *args, **kwargs)

        return method

    def _timed_read(self, kind: str, original: Any, *args: Any, **kwargs: Any) -> Any:
        events = self._events
        entered = self._enter("read", events.entering, 4)
        if entered is None:
            return original(*args, **kwargs)
        state, site = entered
        begin = _clock()
        try:
            with events.annotation("read", site, kind=kind):
                return original(*args, **kwargs)
        finally:
            state.inside = ""
            events.read_left(state, site, kind, begin, _clock())

    def _clear(self, original: Any) -> Any:
        def clear_counters(*args: Any, **kwargs: Any) -> Any:
            self._note(self._recorder.clearing)
            return original(*args, **kwargs)

        return clear_counters

    def _wait(self, original: Any) -> Any:
        def wait_device_ops(*args: Any, **kwargs: Any) -> Any:
            if self._recorder.off or self._recorder.thread().inside or _is_of_dynamo():
                return original(*args, **kwargs)
            return self._timed_read("wait", original, *args, **kwargs)

        return wait_device_ops

    def _to(self, original: Any) -> Any:
        recorder, plain = self._recorder, self._plain

        def to(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            moves = _moves(tensor, args, kwargs)
            if not moves or recorder.off or type(tensor) not in plain or self._is_inside():
                return original(tensor, *args, **kwargs)
            if tensor.is_xla:
                return self._timed_read("to", original, tensor, *args, **kwargs)
            return self._timed_upload([tensor], original, tensor, *args, **kwargs)

        return to

    def _send(self, original: Any) -> Any:
        def tensors_from_aten(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if self._recorder.off or self._recorder.thread().inside:
                return original(tensors, *args, **kwargs)
            return self._timed_upload(tensors, original, tensors, *args, **kwargs)

        return tensors_from_aten

    def _timed_upload(self, tensors: Any, original: Any, *args: Any, **kwargs: Any) -> Any:
        events = self._events
        site = self._line(4)
        begin = _clock()
        if events.annotates:
            with events.annotation("upload", site):
                result = original(*args, **kwargs)
        else:
            result = original(*args, **kwargs)
        self._note(self._recorder.uploads, site, tensors, _clock() - begin)
        if not events.awake:
            events.wake()
        return result

    def _batch(self, original: Any) -> Any:
        recorder, events = self._recorder, self._events

        def next_batch(*args: Any, **kwargs: Any) -> Any:
            state = recorder.thread()
            if recorder.off or state.inside:
                return original(*args, **kwargs)
            site = self._line() if events.annotates else None
            state.inside = "batch"
            begin = _clock()
            try:
                with events.annotation("input", site):
                    return original(*args, **kwargs)
            finally:
                state.inside = ""
                self._note(recorder.data, state, begin, _clock())

        return next_batch

    def _line(self, depth: int = 3) -> int | None:
        """The line that called the wrapper which asks."""
        try:
            return self._sites.here(depth)
        except Exception as fault:
            self._events.fail(fault)
            return None

    def _save(self, original: Any) -> Any:
        recorder, events = self._recorder, self._events

        def save(*args: Any, **kwargs: Any) -> Any:
            if recorder.off or recorder.thread().inside:
                return original(*args, **kwargs)
            entered = self._enter("save", events.saving)
            if entered is None:
                return original(*args, **kwargs)
            state, site = entered
            state.touched = False
            begin = _clock()
            try:
                with events.annotation("save", site):
                    return original(*args, **kwargs)
            finally:
                state.inside = ""
                events.saved()
                if state.touched:  # saved tensors of the host alone are not our concern
                    self._note(recorder.save, state, site, begin, _clock())

        return save

    def _touch(self, original: Any) -> Any:
        def sync_multi(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            self._recorder.thread().touched = True
            return original(tensors, *args, **kwargs)

        return sync_multi

    def _closures(self, original: Any) -> Any:
        def run_step_closures(*args: Any, **kwargs: Any) -> Any:
            state = self._recorder.thread()
            state.closure = True
            try:
                return original(*args, **kwargs)
            finally:
                state.closure = False

        return run_step_closures

    def _optimizer_stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        state = self._recorder.thread()
        self._note(self._recorder.optimizer, state, id(optimizer))


def _is_of_dynamo() -> bool:
    """Whether torch.compile's bridge asks, which waits by itself when it compiles."""
    caller = sys._getframe(2).f_back  # of xm.wait_device_ops
    return caller is not None and str(caller.f_globals.get("__name__")).startswith(_DYNAMO)


def _moves(tensor: Any, args: Any, kwargs: Any) -> bool:
    """Whether ``tensor.to(…)`` goes from the host to the device or back."""
    target = kwargs.get("device", args[0] if args else None)
    target = getattr(target, "device", target)  # of a tensor
    kind = getattr(target, "type", None) or (target.split(":")[0] if type(target) is str else "")
    return kind == ("cpu" if tensor.is_xla else "xla")
