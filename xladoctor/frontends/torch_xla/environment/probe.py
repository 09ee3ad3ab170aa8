"""The steps of the checks that use torch and torch_xla, for ``..probe_runner``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

Facts = dict[str, Any]


def import_torch() -> Facts:
    """Import torch, which may be missing or lack a library of its own."""
    import torch

    return {"version": torch.__version__}


def import_torch_xla() -> Facts:
    """Import torch_xla, which also chooses the device if the environment does not."""
    import torch_xla
    from torch_xla._internal import tpu

    return {
        "version": torch_xla.__version__,
        "pjrt_device": os.environ.get("PJRT_DEVICE"),
        "tpu_chips": tpu.num_available_chips(),
    }


def find_device() -> Facts:
    """Start the runtime and list its devices, such as ``TPU:0``."""
    import torch_xla

    torch_xla.device()
    return {"devices": torch_xla.real_devices()}


def compute() -> Facts:
    """Run the same step twice: its results, and the graphs that each run compiled."""
    runs = [_run_counted(), _run_counted()]
    return {"values": [value for value, _ in runs], "compiled": [count for _, count in runs]}


def profile() -> Facts:
    """Record one step with a profiler session, as the capture records many."""
    import torch_xla

    session = torch_xla._XLAC.profiler.TslProfilerSessionWrapper()
    _step()
    space = session.stop()
    return {"bytes": len(space), "step_marker": b"StepMarker" in space}


def _run_counted() -> tuple[float, int]:
    before = _compilations()
    return _step(), _compilations() - before


def _step() -> float:
    """Each of 64 elements is 8 · 1 · 1 + 1: 576 in all, exact in bfloat16 as well."""
    import torch
    import torch_xla

    ones = torch.ones(8, 8).to(torch_xla.device())
    total = (ones @ ones + 1).sum()
    torch_xla.sync()
    return float(total.item())


def _compilations() -> int:
    import torch_xla

    return torch_xla._XLAC._xla_counter_value("UncachedCompile") or 0


STEPS: dict[str, Callable[[], Facts]] = {
    "torch": import_torch,
    "torch_xla": import_torch_xla,
    "device": find_device,
    "computation": compute,
    "profiler": profile,
}
