"""The values of a program's first steps, by which programs of two frameworks are compared: only
where ``XLADOCTOR_FIRST_STEPS`` names a folder for them.

The program runs for its values alone, without the capture and without ``torch.compile``: random
numbers are drawn on the CPU, attention is computed by its definition, and each tensor is read at
once. A process writes two files: ``PROCESS.json``, what was seen in its order, and ``PROCESS.pt``,
the tensors, of large ones a sample. After its first steps the program is ended.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Callable

from .. import results
from ..import_hook import when_imported

#: Updates of each optimizer that are kept.
STEPS = 3
#: Calls of modules that are kept of a program without an optimizer, and of others.
_CALLS, _MOST = 12, 64
_FUSED = ("flash", "mem_efficient", "cudnn")  # kinds of attention


def begin() -> None:
    """Wait for the framework. Called before the program begins."""
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    results.seed_libraries()
    when_imported(
        "torch", lambda torch: FirstSteps(torch, os.environ[results.FIRST_STEPS]).install()
    )
    when_imported("_XLAC", _let_read)


def _let_read(extension: Any) -> None:
    """Allow reads in functions that are to be one graph."""
    extension._set_allow_execution = lambda allow: None


def _compute() -> None:
    """Compute in one graph what is recorded so far, which each read would compile for itself."""
    if extension := sys.modules.get("_XLAC"):
        extension._xla_step_marker(extension._xla_get_default_device(), [], wait=False)


class FirstSteps:
    """What is seen of the first steps.

    Args:
        folder: where it is written.
    """

    def __init__(self, torch: Any, folder: str) -> None:
        self._torch = torch
        self._path = os.path.join(folder, str(os.getpid()))
        self._process = os.getpid()
        self._seen: list[dict[str, Any]] = []
        self._devices = set[str]()
        self._tensors: list[Any] = []
        self._names: dict[int, str] = {}  # of parameters
        self._kept: list[Any] = []  # modules and optimizers, so that no id is used again
        self._updates: dict[int, int] = {}  # by optimizer
        self._inside = threading.local()
        self._calls = 0
        self._backwards = 0  # that go on: what is called in them is computed again, or a part
        self._faults: set[str] = set()

    def install(self) -> None:
        """Watch modules, backward passes and optimizers."""
        from torch.optim.optimizer import (
            register_optimizer_step_post_hook,
            register_optimizer_step_pre_hook,
        )

        from . import random_numbers

        torch = self._torch
        results.seed(torch)
        for kind in _FUSED:
            getattr(torch.backends.cuda, f"enable_{kind}_sdp", lambda _: None)(False)
        self._elsewhere = random_numbers.elsewhere
        random_numbers.begin()
        torch.nn.Module.__call__ = self._calling(torch.nn.Module.__call__)
        torch.autograd.backward = self._backward(torch.autograd.backward)
        register_optimizer_step_pre_hook(lambda by, *_: self._note(self._before_update, by))
        register_optimizer_step_post_hook(lambda by, *_: self._note(self._after_update, by))
        atexit.register(self._write, "program")

    def _note(self, watch: Callable[..., None], *what: Any) -> None:
        """Watch; a fault there is the program's neither to see nor to handle."""
        try:
            watch(*what)
        except Exception as fault:
            self._faults.add(f"{type(fault).__name__}: {fault}")

    def _calling(self, original: Any) -> Any:
        @functools.wraps(original)
        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            depth = getattr(self._inside, "depth", 0)
            watched = not (depth or self._backwards) and self._calls < _MOST
            watched = watched and any(True for _ in module.parameters())
            if watched:
                self._note(self._call, module, args, kwargs)
            self._inside.depth = depth + 1
            try:
                returned = original(module, *args, **kwargs)
            finally:
                self._inside.depth = depth
            if watched:
                self._note(self._returned, module, returned)
            return returned

        return __call__

    def _call(self, module: Any, args: Any, kwargs: Any) -> None:
        self._calls += 1
        lazy = any(map(self._torch.nn.parameter.is_lazy, module.parameters()))
        if not lazy and not any(each is module for each in self._kept):
            self._kept.append(module)
            own = [*module.named_parameters(), *module.named_buffers()]
            for parameter, value in own:
                self._names.setdefault(id(value), parameter)
            self._see("weights", module, own)
        self._see(
            "inputs", module, _tensors(self._torch, {**dict(enumerate(args)), **kwargs}, False)
        )

    def _returned(self, module: Any, value: Any) -> None:
        self._see("outputs", module, _tensors(self._torch, value, True))
        kind = self._torch.optim.Optimizer
        if self._calls == _CALLS and not any(issubclass(type(o), kind) for o in gc.get_objects()):
            self._end()

    def _backward(self, original: Any) -> Any:
        @functools.wraps(original)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
            if not self._backwards:
                self._note(self._lost, tensors)
            self._backwards += 1
            try:
                original(tensors, *args, **kwargs)
            finally:
                self._backwards -= 1

        return backward

    def _lost(self, tensors: Any) -> None:
        every = _tensors(self._torch, tensors, True)
        self._see("loss", None, [each for each in every if each[1].numel() == 1])

    def _before_update(self, optimizer: Any) -> None:
        if not any(each is optimizer for each in self._kept):
            self._kept.append(optimizer)
            self._see("weights", optimizer, self._held(optimizer))

    def _after_update(self, optimizer: Any) -> None:
        held = self._held(optimizer)
        gradients = [(name, each.grad) for name, each in held if each.grad is not None]
        self._see("gradients", optimizer, gradients)
        self._see("parameters", optimizer, held)
        self._updates[id(optimizer)] = self._updates.get(id(optimizer), 0) + 1
        every = self._updates.values()
        if min(every) >= STEPS or max(every) >= 2 * STEPS:
            self._end()

    def _held(self, optimizer: Any) -> list[tuple[str, Any]]:
        held = [each for group in optimizer.param_groups for each in group["params"]]
        return [(self._names.get(id(each), str(n)), each) for n, each in enumerate(held)]

    def _see(self, kind: str, of: Any, values: list[tuple[str, Any]]) -> None:
        """Keep tensors with their names; those that cannot be read have no number."""
        if os.getpid() != self._process:
            return
        _compute()
        rows = []
        for name, value in values:
            sample = _sample(self._torch, value)
            place = None if sample is None else len(self._tensors)
            rows.append([name, place, str(value.dtype), list(value.shape)])
            if kind != "inputs":  # which a module may move
                self._devices.add(value.device.type)
            self._tensors += [] if sample is None else [sample]
        number = next((n for n, each in enumerate(self._kept) if each is of), -1)
        name = "" if of is None else type(of).__name__
        self._seen.append({"kind": kind, "of": name, "number": number, "values": rows})

    def _write(self, ended: str) -> None:
        if os.getpid() != self._process or not self._seen:
            return
        self._torch.save(self._tensors, f"{self._path}.pt")
        unsure = sorted({*(f"random numbers of {name}" for name in self._elsewhere), *self._faults})
        record = {
            "seen": self._seen,
            "devices": sorted(self._devices),
            "unsure": unsure,
            "ended": ended,
        }
        with open(f"{self._path}.json", "w", encoding="utf-8") as file:
            json.dump(record, file)

    def _end(self) -> None:
        """End the program, whatever threads and exceptions it would handle."""
        self._write("first steps")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _tensors(torch: Any, value: Any, derived: bool, place: str = "") -> list[tuple[str, Any]]:
    """The tensors in a value, with their places; without those that have a gradient if they are
    not to be ``derived``.
    """
    return [*_walked(torch, value, derived, place)]


def _walked(torch: Any, value: Any, derived: bool, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, torch.Tensor):
        if derived or not value.requires_grad:
            yield place, value
    elif isinstance(value, Mapping | list | tuple):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, each in pairs:
            yield from _walked(torch, each, derived, f"{place}.{key}" if place else str(key))


def _sample(torch: Any, value: Any) -> Any:
    """Evenly spread elements of a tensor, as float64 on the CPU; None if it has no such."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        return None
    try:
        with torch.no_grad():
            dense = value.detach().to_dense() if value.layout != torch.strided else value.detach()
            flat = dense.cpu().flatten()
            flat = torch.view_as_real(flat).flatten() if flat.is_complex() else flat
            return flat[:: max(1, len(flat) // results.SAMPLE)].to(torch.float64).clone()
    except (NotImplementedError, RuntimeError):
        return None
