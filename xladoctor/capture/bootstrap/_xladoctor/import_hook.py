"""Starts the capture right after the first ``import torch_xla``.

A program that never imports torch_xla pays one entry on ``sys.meta_path``, nothing else.
"""

from __future__ import annotations

import gc
import importlib.util
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Sequence

from . import settings


class _TorchXlaFinder(MetaPathFinder):
    """Finds ``torch_xla`` as everybody would, and brackets its execution."""

    def __init__(self, run_directory: str) -> None:
        self._run_directory = run_directory
        self._watch = settings.SettingsWatch()
        self._watch.install()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "torch_xla":
            return None
        sys.meta_path.remove(self)  # our work is done, and find_spec must not meet us again
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            self._bracket(spec.loader)
        return spec

    def _bracket(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            from . import session

            capture = session.prepare(self._run_directory, self._watch)
            _execute_uncollected(execute, module)
            if capture is not None:
                capture.start(module)

        loader.exec_module = exec_module


def _execute_uncollected(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
    """Importing makes a million objects that stay, through which the garbage collector walks again
    and again. It does so once, at the end: put off any further, it would stop the loop.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        execute(module)
    finally:
        if enabled:
            gc.enable()
            gc.collect()


def install(run_directory: str) -> None:
    """Put the finder first, where no other finder can answer before it."""
    sys.meta_path.insert(0, _TorchXlaFinder(run_directory))
