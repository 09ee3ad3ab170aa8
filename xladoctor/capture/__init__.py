"""Capture: runs a program under observation and leaves a run directory.

The package can be called: ``with xladoctor.capture("out"):`` captures what is inside.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Capture(ModuleType):
    """This package, as a function: see :class:`xladoctor.in_process.InProcessCapture`."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        from xladoctor.in_process import InProcessCapture

        return InProcessCapture(*args, **options)


sys.modules[__name__].__class__ = _Capture
