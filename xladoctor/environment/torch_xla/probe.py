"""What touches torch and torch_xla, as a program of its own: a crash or a hang ends it alone.

Run with the number of an open descriptor, to which it writes lines of JSON: ``{"step": name}`` when
a step begins, then the same with ``facts``, or with ``error`` (type and message), after which it
ends, since each step needs those before it. Standard library only, until a step imports more.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

Facts = dict[str, Any]


def import_torch() -> Facts:
    """The first of the two that can be missing, or lack a library of its own."""
    import torch

    return {"version": torch.__version__}


def import_torch_xla() -> Facts:
    """Also chooses the device, where the environment does not."""
    import torch_xla
    from torch_xla._internal import tpu

    return {
        "version": torch_xla.__version__,
        "pjrt_device": os.environ.get("PJRT_DEVICE"),
        "tpu_chips": tpu.num_available_chips(),
    }


def find_device() -> Facts:
    """Starts the runtime; devices are named as in ``TPU:0``."""
    import torch_xla

    torch_xla.device()
    return {"devices": torch_xla.real_devices()}


def compute() -> Facts:
    """The same step twice: its results, and the graphs that each run compiled."""
    runs = [_run_counted(), _run_counted()]
    return {"values": [value for value, _ in runs], "compiled": [count for _, count in runs]}


def profile() -> Facts:
    """A session over one step, as the capture has one over many."""
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


def main(descriptor: int) -> None:
    """Take the steps in order, up to the first that fails."""
    with os.fdopen(descriptor, "w", buffering=1) as pipe:
        for name, step in STEPS.items():
            pipe.write(json.dumps({"step": name}) + "\n")
            try:
                facts = step()
            except BaseException as error:  # of whatever kind: this is the finding
                fault = [type(error).__name__, str(error)]
                pipe.write(json.dumps({"step": name, "error": fault}) + "\n")
                break
            pipe.write(json.dumps({"step": name, "facts": facts}) + "\n")
    os._exit(0)  # all is said: what libraries do at exit is not asked


if __name__ == "__main__":
    # The folder of a program is on the path, where our modules would hide others of their names.
    if not sys.flags.safe_path:
        del sys.path[0]
    main(int(sys.argv[1]))
