"""A performance doctor for PyTorch/XLA, TorchTPU, JAX, torch.compile: causes, lines, costs, fixes.

In a notebook, or for a part of a program::

    with xladoctor.capture("out"):
        train()

In a test::

    with xladoctor.expect(compilations=0, host_syncs=0):
        train_step()
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` takes longer than all else here
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """``xladoctor.capture`` and ``xladoctor.expect``, loaded on first use."""
    from importlib import import_module

    if name == "capture":
        return import_module("xladoctor.in_process").InProcessCapture
    if name == "expect":
        return import_module("xladoctor.expectation").expect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
