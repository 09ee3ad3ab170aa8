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
import time
from typing import Any, Callable

from .call_site import CallSites
from .recorder import Recorder, ThreadState

#: Tensor method -> how a read through it is reported.
_READS = {
    "item": "item", "__bool__": "bool", "__float__": "float", "__int__": "int",
    "__index__": "index", "__complex__": "complex", "__repr__": "repr", "__format__": "format",
    "tolist": "tolist", "numpy": "numpy", "cpu": "cpu", "__array__": "array",
}  # fmt: skip

_PATIENCE_S = 0.1  # for a sample, which takes microseconds

_clock = time.perf_counter_ns


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

    def install(self) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook
        from torch.utils.data import dataloader
        from torch_xla.core import xla_model
        from torch_xla.distributed import parallel_loader

        self._replace(self._xlac, "_xla_step_marker", self._barrier)
        self._replace(self._xlac, "_xla_wait_device_ops", self._wait)
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
        register_optimizer_step_post_hook(self._optimizer_stepped)

    def _install_saves(self, xla_model: Any) -> None:
        self._replace(self._torch, "save", self._save)
        self._torch.serialization.save = self._torch.save
        self._replace(xla_model, "save", self._save)
        with contextlib.suppress(ImportError):
            from torch_xla.utils import serialization

            self._replace(serialization, "save", self._save)

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        setattr(owner, name, functools.wraps(original)(make(original)))

    def _note(self, record: Callable[..., None], *what: Any) -> None:
        """Record something; a fault in doing so ends the capture, never the program."""
        try:
            record(*what)
        except Exception as fault:
            self._events.fail(fault)

    def _barrier(self, original: Any) -> Any:
        recorder, events, sites = self._recorder, self._events, self._sites

        def step_marker(*args: Any, **kwargs: Any) -> Any:
            if recorder.off:
                return original(*args, **kwargs)
            state = recorder.thread()
            events.entering(state)
            site = sites.here(2)
            outer, state.inside = state.inside, "barrier"
            state.graphs = recorder.graphs()
            if recorder.looking.acquire(timeout=_PATIENCE_S):  # at exit the sampler dies with it
                recorder.looking.release()
            begin = _clock()
            try:
                return original(*args, **kwargs)
            finally:
                state.inside = outer
                events.barrier_left(state, site, begin, _clock())

        return step_marker

    def _read(self, original: Any, kind: str) -> Any:
        recorder, plain = self._recorder, self._plain

        def method(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if not tensor.is_xla or recorder.off or type(tensor) not in plain:
                return original(tensor, *args, **kwargs)
            state = recorder.thread()
            if state.inside:
                state.touched = True
                return original(tensor, *args, **kwargs)
            return self._timed_read(state, kind, original, tensor, *args, **kwargs)

        return method

    def _timed_read(self, state: ThreadState, kind: str, original: Any, *args: Any,
                    **kwargs: Any) -> Any:  # fmt: skip
        self._events.entering(state)
        site = self._sites.here(3)
        state.inside = "read"
        begin = _clock()
        try:
            with self._events.annotation("read", site, kind=kind):
                return original(*args, **kwargs)
        finally:
            state.inside = ""
            self._events.read_left(state, site, kind, begin, _clock())

    def _wait(self, original: Any) -> Any:
        def wait_device_ops(*args: Any, **kwargs: Any) -> Any:
            state = self._recorder.thread()
            if state.inside or self._recorder.off:
                return original(*args, **kwargs)
            return self._timed_read(state, "wait", original, *args, **kwargs)

        return wait_device_ops

    def _to(self, original: Any) -> Any:
        recorder, sites, plain = self._recorder, self._sites, self._plain

        def to(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            begin = _clock()
            with self._moving(tensor, args, kwargs):
                result = original(tensor, *args, **kwargs)
            if tensor.is_xla == result.is_xla or recorder.off or type(tensor) not in plain:
                return result
            state = recorder.thread()
            if state.inside:
                state.touched = True
                return result
            site, end = sites.here(2), _clock()
            if tensor.is_xla:
                self._note(recorder.read, state, site, "to", begin, end)
            else:
                self._note(recorder.upload, state, site, tensor, end - begin)
                self._events.uploaded(state)
            return result

        return to

    def _moving(self, tensor: Any, args: Any, kwargs: Any) -> Any:
        """Encloses a ``.to()`` that changes between host and device, in the timeline."""
        if not self._events.annotates or self._recorder.thread().inside:
            return contextlib.nullcontext()
        target = kwargs.get("device", args[0] if args else None)
        target = getattr(target, "device", target)  # of a tensor
        kind = str(getattr(target, "type", target)).split(":")[0]
        if kind not in ("xla", "cpu") or (kind == "xla") == tensor.is_xla:
            return contextlib.nullcontext()
        return self._events.annotation("read" if tensor.is_xla else "upload", self._sites.here(3))

    def _send(self, original: Any) -> Any:
        def tensors_from_aten(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            state = self._recorder.thread()
            if self._recorder.off or state.inside:
                return original(tensors, *args, **kwargs)
            site, begin = self._sites.here(2), _clock()
            with self._events.annotation("upload", site):
                result = original(tensors, *args, **kwargs)
            spent = _clock() - begin
            for position, tensor in enumerate(tensors):
                self._note(self._recorder.upload, state, site, tensor, 0 if position else spent)
            return result

        return tensors_from_aten

    def _batch(self, original: Any) -> Any:
        recorder = self._recorder

        def next_batch(*args: Any, **kwargs: Any) -> Any:
            state = recorder.thread()
            if recorder.off or state.inside:
                return original(*args, **kwargs)
            site = self._sites.here(2) if self._events.annotates else None
            state.inside = "batch"
            begin = _clock()
            try:
                with self._events.annotation("input", site):
                    return original(*args, **kwargs)
            finally:
                state.inside = ""
                self._note(recorder.data, state, begin, _clock())

        return next_batch

    def _save(self, original: Any) -> Any:
        recorder, events = self._recorder, self._events

        def save(*args: Any, **kwargs: Any) -> Any:
            state = recorder.thread()
            if recorder.off or state.inside:
                return original(*args, **kwargs)
            events.saving(state)
            site = self._sites.here(2)
            state.inside, state.touched = "save", False
            begin = _clock()
            try:
                with events.annotation("save", site):
                    return original(*args, **kwargs)
            finally:
                state.inside = ""
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
