"""Starts the capture right after the program's first import of a framework.

A program that imports none pays one entry on ``sys.meta_path``, nothing else.
"""

from __future__ import annotations

import functools
import gc
import importlib.util
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Iterable, Sequence

from . import frontend, settings

#: Executes a module: given what would have done so, and the module.
_Execute = Callable[[Callable[[ModuleType], None], ModuleType], None]


class _Finder(MetaPathFinder):
    """Finds these modules as any finder would, and has them executed by ``execute``."""

    def __init__(self, names: Iterable[str], execute: _Execute) -> None:
        self._awaited = set(names)
        self._execute = execute

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._awaited:
            return None
        self._awaited.remove(fullname)  # find_spec must not meet us again
        if not self._awaited and self in sys.meta_path:
            sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            loader.exec_module = functools.partial(self._execute, loader.exec_module)
        return spec


def when_imported(name: str, tell: Callable[[ModuleType], None]) -> None:
    """Call ``tell`` with a module: now, or when the program has imported it."""

    def execute_and_tell(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        execute(module)
        tell(module)

    module = sys.modules.get(name)
    if module is None:
        sys.meta_path.insert(0, _Finder([name], execute_and_tell))
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
    watch = settings.SettingsWatch()
    watch.install()

    def capture(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        from . import session

        begun = session.prepare(run_directory, module.__name__, watch)
        _execute_uncollected(execute, module)
        if begun is not None:
            begun.start(module)

    sys.meta_path.insert(0, _Finder(frontend.FRONTENDS, capture))
