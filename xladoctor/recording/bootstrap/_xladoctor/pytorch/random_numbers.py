"""Random numbers that are the same on any device: the CPU draws them, for runs to be compared.

They have a generator of their own, as threads that load batches draw from the CPU's meanwhile, and
a program that is written for another framework may load in other threads.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from .. import results

#: Devices whose random numbers stay as they are: the CPU's come from one generator anyway.
_LEFT = ("cpu", "meta")
#: Arguments of operators that draw numbers only where these are above zero.
_RATES = ("dropout", "dropout_p")

_generator = torch.Generator().manual_seed(results.SEED)
#: Operators that drew numbers on the device, as they have no counterpart on the CPU.
elsewhere: set[str] = set()


class _Alike(TorchDispatchMode):  # type: ignore[misc]  # torch is not there for mypy
    """Computes operators that draw random numbers on the CPU, and moves what they return."""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded not in function.tags:
            return function(*args, **kwargs)
        device = _device(args, kwargs)
        if device is None or device.type in _LEFT:
            return function(*args, **kwargs)
        if function is torch.ops.aten.native_dropout.default:
            return _dropout(function, *args, **kwargs)
        names = [argument.name for argument in function._schema.arguments]
        rates = [rate for name, rate in (*zip(names, args), *kwargs.items()) if name in _RATES]
        if any(rates):
            elsewhere.add(str(function))
        if any(name in _RATES for name in names):  # one that is not given is zero
            return function(*args, **kwargs)
        return _drawn(function, device, args, kwargs)


def _device(args: Any, kwargs: Any) -> Any:
    """The device for which an operator draws numbers; None if it is the CPU by default."""
    if kwargs.get("device") is not None:
        return torch.device(kwargs["device"])
    return next((each.device for each in args if isinstance(each, torch.Tensor)), None)


def _dropout(function: Any, value: Any, rate: float, train: bool | None = None) -> Any:
    """The numbers that dropout draws where it is not one operator: one for each element."""
    if train is False or not 0 < rate < 1:
        return function(value, rate, train)
    host = torch.empty_like(value, device="cpu").bernoulli_(1 - rate, generator=_generator)
    mask = host.to(value.device)
    return value * mask / (1 - rate), mask.bool()


def _drawn(function: Any, device: Any, args: Any, kwargs: Any) -> Any:
    """What an operator returns when the CPU draws; what it writes is copied."""
    here, named = tree_map_only(torch.Tensor, lambda each: each.to("cpu"), (args, kwargs))
    if "device" in named:
        named["device"] = torch.device("cpu")
    if "generator" in named:  # overloads with it require it
        named["generator"] = None
    with _ours():
        made = function(*here, **named)
    if function._schema.is_mutable:
        written = kwargs.get("out", args[0])
        return written.copy_(made)
    return tree_map_only(torch.Tensor, lambda each: each.to(device), made)


@contextlib.contextmanager
def _ours() -> Iterator[None]:
    """Have the CPU draw from our generator: not every operator takes one."""
    theirs = torch.default_generator.get_state()
    torch.default_generator.set_state(_generator.get_state())
    try:
        yield
    finally:
        _generator.set_state(torch.default_generator.get_state())
        torch.default_generator.set_state(theirs)


def begin() -> None:
    """Draw on the CPU from now on, in this thread and those that it starts."""
    import sys

    def began(frame: FrameType, event: str, argument: Any) -> None:
        sys.setprofile(None)
        _Alike().__enter__()

    _Alike().__enter__()
    threading.setprofile(began)
