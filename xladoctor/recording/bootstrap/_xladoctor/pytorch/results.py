"""Keeps final parameters and the state of optimizers, for trials of patches (:mod:`..results`)."""

from __future__ import annotations

import functools
import sys
from typing import Any

from .. import results

_MOST = 8  # optimizers, the latest, whose parameters outlive the function that made them


def watch(torch: Any) -> None:
    """Keep the optimizers that the program makes, and write what they hold at its end. Those are
    not found whose parameters are in no optimizer and no variable of the program's main file.
    """
    if not results.folder():
        return
    results.seed(torch)
    kind, save = torch.optim.Optimizer, torch.save
    original = kind.__init__
    optimizers: list[Any] = []

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        original(self, *args, **kwargs)
        if self not in optimizers:
            optimizers.append(self)
            del optimizers[:-_MOST]

    kind.__init__ = __init__
    results.at_end("parameters", lambda path: save(_found(torch, optimizers), f"{path}.pt"))


def _found(torch: Any, optimizers: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, optimizer in enumerate(optimizers):
        held = [each for group in optimizer.param_groups for each in group["params"]]
        states = [optimizer.state.get(each, {}) for each in held]
        found[f"{type(optimizer).__name__} {number}"] = {
            "parameters": [_sampled(torch, each) for each in held],
            "state": [
                {name: _sampled(torch, value) for name, value in state.items()}
                for state in states
                if isinstance(state, dict)
            ],
        }
    for name, value in list(vars(sys.modules["__main__"]).items()):
        if issubclass(type(value), torch.nn.Module):
            states = value.state_dict()
            found[name] = {key: _sampled(torch, each) for key, each in states.items()}
        elif issubclass(type(value), torch.Tensor) and value.requires_grad and value.is_leaf:
            found[name] = _sampled(torch, value)
    return found


def _sampled(torch: Any, value: Any) -> Any:
    """A sample of a tensor's elements, and their sum; numbers as they are."""
    if not issubclass(type(value), torch.Tensor):
        return value if isinstance(value, int | float) else None
    if type(value) not in (torch.Tensor, torch.nn.Parameter):  # parts of it may be elsewhere
        return None
    flat = value.detach().cpu().flatten()
    try:
        flat = flat if flat.is_complex() else flat.to(torch.float64)
    except (NotImplementedError, RuntimeError):  # a type that nothing is computed with
        return None
    return [flat[:: max(1, len(flat) // results.SAMPLE)].clone(), flat.sum()]
