"""Starts the capture right after the program's first import of a framework.

A program that imports none pays one entry on ``sys.meta_path``, nothing else.
"""

from __future__ import annotations

import gc
import importlib.util
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Sequence

from . import frontend, settings


class _FrameworkFinder(MetaPathFinder):
    """Finds frameworks as any finder would, and brackets their execution."""

    def __init__(self, run_directory: str) -> None:
        self._run_directory = run_directory
        self._awaited = set(frontend.FRONTENDS)
        self._watch = settings.SettingsWatch()
        self._watch.install()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._awaited:
            return None
        self._awaited.remove(fullname)  # find_spec must not meet us again
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            self._bracket(fullname, spec.loader)
        return spec

    def _bracket(self, name: str, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            from . import session

            capture = session.prepare(self._run_directory, name, self._watch)
            _execute_uncollected(execute, module)
            if capture is not None:
                capture.start(module)

        loader.exec_module = exec_module


class _Finder(MetaPathFinder):
    """Finds one module as any finder would, and tells when it was executed."""

    def __init__(self, name: str, tell: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._tell = tell

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)  # find_spec must not meet us again
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self._tell(module)

            loader.exec_module = exec_module
        return spec


def when_imported(name: str, tell: Callable[[ModuleType], None]) -> None:
    """Call ``tell`` with a module: now, or when the program has imported it."""
    module = sys.modules.get(name)
    if module is None:
        sys.meta_path.insert(0, _Finder(name, tell))
    else:
        tell(module)


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
    """Put the finder first, so no other finder can answer before it."""
    sys.meta_path.insert(0, _FrameworkFinder(run_directory))
