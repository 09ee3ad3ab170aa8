"""Runs both sides of replacements, given as JSON on standard input, on the XLA CPU device.

Prints for each operator which operators ran on the CPU, those without overloads and ``_backward``,
and how much values and gradients differ at most.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import torch
import torch_xla
from torch.nn import functional
from torch_xla.debug import metrics

_NUMBERS = {
    "dim": -1,
    "delta": 1.0,
    "n": 5,
    "low": 0.0,
    "high": 1.0,
    "scale": 2,
    "size": 2,
    "groups": 2,
}


def tensors() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    x, y = torch.randn(4, 6), torch.randn(4, 6)
    matrix = torch.randn(4, 4)
    return {
        "x": x,
        "y": y,
        "mask": x > 0,
        "matrix": matrix @ matrix.T + torch.eye(4),
        "boundaries": torch.linspace(-1, 1, 5),
        "indices": torch.tensor([3, 0, 3, 1, 1, 3]),
        "some": torch.tensor([0, 3]),
        "bags": torch.tensor([[0, 2], [3, 3]]),
        "table": torch.randn(4, 3),
        "signal": torch.randn(2, 3, 4),
        "image": torch.randn(1, 4, 6, 6),
    }


def given(op: str) -> dict[str, torch.Tensor]:
    """The operands: vectors of three for a cross product, and a NaN for what looks for it."""
    values = tensors()
    if op.endswith("cross"):
        values |= {"x": values["x"][:, :3], "y": values["y"][:, :3]}
    if op.endswith("nansum"):
        values["x"][1, 2] = torch.nan
    return values


def run(op: str, code: str, where: str) -> tuple[list[str], list[torch.Tensor]]:
    """The operators that ran on the CPU, the values, and the gradients of what has any."""
    device = torch_xla.device()
    values = {name: tensor.to(device) for name, tensor in given(op).items()}
    torch_xla.sync()
    for tensor in values.values():
        tensor.requires_grad_(tensor.is_floating_point())
    metrics.clear_all()
    names: dict[str, Any] = {"torch": torch, **vars(functional), **_NUMBERS, **values}
    exec(where, names)
    result = eval(code, names)
    leaves = [tensor for tensor in values.values() if tensor.requires_grad]
    result = torch.as_tensor(result)
    grads: tuple[torch.Tensor, ...] = ()
    if result.requires_grad:
        try:
            grads = torch.autograd.grad(result.square().sum(), leaves, allow_unused=True)
        except RuntimeError as error:  # the operator has no derivative
            if "derivative" not in str(error):
                raise
    torch_xla.sync()
    ran = {
        re.sub(r"(_backward)?(\..*)?$", "", name)
        for name in metrics.counter_names()
        if name.startswith("aten::")
    }
    return sorted(ran), [part.detach().cpu() for part in (result, *grads) if part is not None]


def difference(expected: list[torch.Tensor], got: list[torch.Tensor]) -> float:
    """The largest of all; the operator may have no derivative, but not the replacement alone."""
    pairs = list(zip(expected, got, strict=False))
    if len(got) < len(expected) or any(a.shape != b.shape for a, b in pairs):
        return float("inf")
    return max(float((a.double() - b.double()).abs().max()) for a, b in pairs)


outcomes = {}
for op, each in json.load(sys.stdin).items():
    called, expected = run(op, each["call"], "")
    instead, got = run(op, each["instead"], each["where"])
    outcomes[op] = {
        "call": called,
        "instead": instead,
        "difference": difference(expected, got),
    }
sys.stdout.write(json.dumps(outcomes))
