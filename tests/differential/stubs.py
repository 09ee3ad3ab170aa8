"""Stubs of what programs of PyTorch call of torch_xla, and of loaders with workers.

They are on the CPU, where a copy to another device is a copy here too.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib.machinery
import random
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np


@contextlib.contextmanager
def imported(modules: dict[str, ModuleType]) -> Iterator[None]:
    """Have ``import`` find these; what the program imports besides stays imported."""
    hidden = {name: sys.modules[name] for name in modules if name in sys.modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(hidden)


def _module(name: str, **members: Any) -> ModuleType:
    made = ModuleType(name)
    made.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    vars(made).update(members)
    return made


def _torch_xla(torch: Any) -> dict[str, ModuleType]:
    """The modules of torch_xla, of which a device is the CPU."""

    def device(*_: Any) -> Any:
        return torch.device("cpu", 0)

    def ends(*_: Any, **__: Any) -> None:
        return None

    def update(optimizer: Any, barrier: bool = False, **_: Any) -> None:
        optimizer.step()

    class MpDeviceLoader:
        def __init__(self, loader: Any, device: Any, **_: Any) -> None:
            self._loader, self._device = loader, device

        def __len__(self) -> int:
            return len(self._loader)

        def __iter__(self) -> Iterator[Any]:
            yield from [_sent(each, self._device) for each in self._loader]  # ahead of the loop

    def save(value: Any, file: Any) -> None:
        torch.save(value, file)

    model = _module(
        "torch_xla.core.xla_model",
        xla_device=device,
        mark_step=ends,
        optimizer_step=update,
        save=save,
        master_print=print,
    )
    core = _module("torch_xla.core", xla_model=model)
    loader = _module("torch_xla.distributed.parallel_loader", MpDeviceLoader=MpDeviceLoader)
    distributed = _module("torch_xla.distributed", parallel_loader=loader)
    experimental = _module("torch_xla.experimental", eager_mode=ends)
    top = _module(
        "torch_xla",
        device=device,
        sync=ends,
        core=core,
        distributed=distributed,
        experimental=experimental,
    )
    return {each.__name__: each for each in (top, core, model, distributed, loader, experimental)}


def _sent(value: Any, device: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_sent(each, device) for each in value)
    return value.to(device)


@contextlib.contextmanager
def on_torch(real: bool) -> Iterator[Callable[[], int]]:
    """Have programs call stubs of torch_xla and ``torch.compile``, or these themselves."""
    import torch

    if real:
        with mock.patch.object(torch, "compile", functools.partial(torch.compile, backend="eager")):
            yield lambda: 0
        torch.compiler.reset()
        return

    to, parameters_to = torch.Tensor.to, torch.nn.Module.to

    def copied(self: Any, *args: Any, **kwargs: Any) -> Any:
        moved = to(self, *args, **kwargs)
        is_device = any(isinstance(each, torch.device) for each in (*args, *kwargs.values()))
        return moved.clone() if moved is self and is_device else moved

    def module_moved(self: Any, *args: Any, **kwargs: Any) -> Any:
        parameters_to(self, *args, **kwargs)
        for module in self.modules():
            for name, each in module.named_parameters(recurse=False):
                setattr(module, name, torch.nn.Parameter(each.detach().clone()))
        return self

    compiled = functools.partial(lambda function=None, **_: function or (lambda each: each))
    with contextlib.ExitStack() as stack:
        for target, name, value in (
            (torch.Tensor, "to", copied),
            (torch.Tensor, "cpu", lambda self: self.clone()),
            (torch.nn.Module, "to", module_moved),
            (torch, "compile", compiled),
            (torch.utils.data, "DataLoader", _loader(torch)),
        ):
            stack.enter_context(mock.patch.object(target, name, value))
        stack.enter_context(imported(_torch_xla(torch)))
        yield lambda: 0


@contextlib.contextmanager
def _forked(torch: Any, class_: type) -> Iterator[None]:
    """What is drawn here, or kept in variables of the class's module, is lost."""
    space = getattr(vars(class_).get("__getitem__"), "__globals__", {})
    kept = {
        name: copy.copy(each)
        for name, each in space.items()
        if isinstance(each, (list, dict)) and not name.startswith("__")  # as the built-in names
    }
    drawn, drawn_np = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        torch.manual_seed(1)
        yield
    random.setstate(drawn)
    np.random.set_state(drawn_np)
    for name, value in kept.items():
        space[name].clear()
        (space[name].extend if isinstance(value, list) else space[name].update)(value)


def _loader(torch: Any) -> Any:
    """A loader whose workers are copies of the data set, as forked processes have, that make the
    first batches ahead of the loop.
    """

    class Loader(torch.utils.data.DataLoader):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.copies = int(kwargs.pop("num_workers", 0))
            self.persist, self.passes = kwargs.pop("persistent_workers", False), 0
            super().__init__(*args, **kwargs)

        def __iter__(self) -> Iterator[Any]:
            if not self.copies:
                yield from super().__iter__()
                return
            sets = [copy.deepcopy(self.dataset) for _ in range(self.copies)]
            if not (self.persist and self.passes):
                torch.empty((), dtype=torch.int64).random_()  # as a loader without workers draws
            self.passes += 1
            places = [*self.batch_sampler]
            with _forked(torch, type(self.dataset)):
                batches = [
                    self._collated(sets[number % self.copies], indices)
                    for number, indices in enumerate(places)
                ]
            for each in batches:
                if isinstance(each, Exception):
                    raise each  # where the loop asks for that batch
                yield each

        def _collated(self, data: Any, indices: Any) -> Any:
            try:
                return self.collate_fn(self._fetched(data, indices))
            except Exception as error:
                return error

        def _fetched(self, data: Any, indices: Any) -> list[Any]:
            fetch = getattr(data, "__getitems__", None)
            return list(fetch(indices)) if fetch else [data[each] for each in indices]

    Loader.__name__ = "DataLoader"
    return Loader
