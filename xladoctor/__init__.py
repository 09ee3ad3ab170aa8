"""A performance doctor for PyTorch/XLA programs: causes, lines, costs and fixes from one run.

In a notebook, or for a part of a program::

    with xladoctor.capture("out"):
        train()
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``xladoctor.capture``, loaded when it is asked for."""
    if name == "capture":
        return import_module("xladoctor.capture")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
