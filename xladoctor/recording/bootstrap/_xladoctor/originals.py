"""What the capture uses of Python, as it was before the program began.

A program, or its tests, may replace ``open``, ``max``, ``time.sleep`` or ``os.replace``, even by
functions that raise. So the modules of this package are loaded with builtins of their own, and what
they import of some modules of the standard library are copies. None is imported any earlier for
that: a program may have a file ``json.py``.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from types import ModuleType
from typing import Any

#: Modules whose functions the capture calls while the program runs.
_COPIED = {"_thread", "json", "linecache", "os", "re", "threading", "time", "traceback"}
_copies: dict[str, ModuleType] = {}
_original_import = builtins.__import__


def _import(name: str, *about: Any, **more: Any) -> Any:
    module = _original_import(name, *about, **more)
    if name not in _COPIED:
        return module
    if name not in _copies:
        _copies[name] = _copy(module)
        if name == "os":
            vars(_copies[name])["path"] = _copy(module.path)
    return _copies[name]


def _copy(module: ModuleType) -> ModuleType:
    copy = ModuleType(module.__name__)
    vars(copy).update(vars(module))
    return copy


_BUILTINS = {**vars(builtins), "__import__": _import}


class Loader(SourceFileLoader):
    """Loads a module, and those in its folder if it is a package, with the originals."""

    def exec_module(self, module: ModuleType) -> None:
        use(getattr(module, "__path__", ()))
        vars(module)["__builtins__"] = _BUILTINS
        super().exec_module(module)


def use(folders: Iterable[str]) -> None:
    """Have the modules in these folders loaded with the originals from now on."""
    for folder in folders:
        sys.path_importer_cache[folder] = FileFinder(folder, (Loader, SOURCE_SUFFIXES))
