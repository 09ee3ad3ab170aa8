"""The steps of the checks that use torch and TorchTPU, for ``..probe_runner``."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

Facts = dict[str, Any]

_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
_DEVICE_FILES = ("/dev/accel0", "/dev/vfio")


def import_torch() -> Facts:
    """Import torch alone, which otherwise imports TorchTPU in the middle of its own import."""
    os.environ[_AUTOLOAD] = "0"
    import torch

    return {"version": torch.__version__}


def import_torch_tpu() -> Facts:
    """Import TorchTPU, which adds the device "tpu" to torch if the machine has one.

    What it warns of is kept, whatever filters the user has.
    """
    os.environ[_AUTOLOAD] = "1"
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        import torch_tpu  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    texts = [str(warning.message) for warning in warned]
    return {"warnings": [text for text in texts if text.startswith("<TorchTpu/")]}


def find_device() -> Facts:
    """Count the TPUs, and start the runtime if there is one."""
    import torch

    files = any(Path(file).exists() for file in _DEVICE_FILES)
    kind = torch.accelerator.current_accelerator()
    count = torch.accelerator.device_count() if kind is not None and kind.type == "tpu" else 0
    if count:
        if not files:  # libtpu would ask the cloud about this machine, for minutes
            os.environ["TPU_SKIP_MDS_QUERY"] = "1"
        torch.ones(1).to("tpu")
    return {"devices": count, "files": files}


def compute() -> Facts:
    """Run the same step twice: its results, and how many graphs each run compiled.

    Each of 64 elements is 8 · 1 · 1 + 1: 576 in all, exact in bfloat16 as well. Without a TPU,
    nothing is run.
    """
    import torch
    from torch._dynamo.utils import counters

    kind = torch.accelerator.current_accelerator()
    if kind is None or kind.type != "tpu":
        return {}
    values, graphs = [], []
    step = torch.compile(lambda ones: (ones @ ones + 1).sum())
    for _ in range(2):
        before = counters["stats"]["unique_graphs"]
        values.append(float(step(torch.ones(8, 8).to("tpu")).item()))
        graphs.append(counters["stats"]["unique_graphs"] - before)
    return {"values": values, "compiled": graphs}


STEPS: dict[str, Callable[[], Facts]] = {
    "torch": import_torch,
    "torch_tpu": import_torch_tpu,
    "TPU": find_device,
    "TPU computation": compute,
}
