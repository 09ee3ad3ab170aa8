"""The steps of the checks that use JAX, for ``..probe_runner``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Facts = dict[str, Any]


def import_jax() -> Facts:
    """Import JAX, which checks that it can work with the installed jaxlib."""
    import jax
    import jaxlib

    return {"version": jax.__version__, "jaxlib": jaxlib.__version__}


def find_device() -> Facts:
    """Start the runtime and list its devices, such as ``TPU:0``."""
    import jax

    return {"devices": [f"{device.platform.upper()}:{device.id}" for device in jax.devices()]}


def compute() -> Facts:
    """Run the same step twice: its results, and the functions that each run compiled.

    Each of 64 elements is 8 · 1 · 1 + 1: 576 in all, exact in bfloat16 as well.
    """
    import jax
    import numpy as np

    compiled: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if "backend_compile" in event else None
    )
    step = jax.jit(lambda ones: (ones @ ones + 1).sum())
    values, counts = [], []
    for _ in range(2):
        before = len(compiled)
        values.append(float(step(np.ones((8, 8), np.float32))))
        counts.append(len(compiled) - before)
    return {"values": values, "compiled": counts}


def profile() -> Facts:
    """Record one step with a profiler session, as the capture records many."""
    import jax
    import numpy as np
    from jaxlib import _profiler

    step = jax.jit(lambda ones: ones + 1)
    session = _profiler.ProfilerSession(_profiler.ProfileOptions())
    step(np.ones(8, np.float32)).block_until_ready()
    space = session.stop()
    return {"bytes": len(space), "execution": b"Execute" in space}


STEPS: dict[str, Callable[[], Facts]] = {
    "JAX": import_jax,
    "JAX device": find_device,
    "JAX computation": compute,
    "JAX profiler": profile,
}
