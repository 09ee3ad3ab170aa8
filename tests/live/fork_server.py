"""Runs programs in forks of a process that has already imported torch_xla.

A fork saves the four seconds of the import, which is more than most programs take. It behaves like
a new process because torch_xla starts its runtime and reads its settings only when a device is
first used. Programs that set variables which torch_xla reads during import need a new process.

Each line of standard input is a request in JSON: ``program``, ``arguments``, ``cwd``, ``env`` (the
whole environment), ``stdout`` and ``stderr`` (files), ``limit_s``, and ``compiled`` (a file for the
number of compilations, or null). The answer is a line with the exit status, -n for signal n. If
``env`` has the capture's variables, the program is captured as in a new process.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import torch._dynamo.config as dynamo

_BEFORE = dynamo.get_config_copy()

import torch_xla  # noqa: E402

#: Settings of Dynamo that importing torch_xla changes: as they were, and as it has them.
_PLAIN = {name: value for name, value in _BEFORE.items() if getattr(dynamo, name) != value}
_CHANGED = {name: getattr(dynamo, name) for name in _PLAIN}


class AlreadyImported(Loader):
    """Gives a program that imports ``torch_xla`` the module that is already there."""

    _module: ModuleType = torch_xla

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "torch_xla":
            return None
        spec = ModuleSpec(fullname, self, origin=torch_xla.__file__, is_package=True)
        spec.submodule_search_locations = list(torch_xla.__path__)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Set what importing torch_xla sets: environment variables, settings of Dynamo."""
        set_dynamo(_CHANGED)
        module._setup_default_env()
        module._setup_xla_flags()


def serve() -> dict[str, Any] | None:
    """Fork for each request, and return it in the child; return None when there are no more."""
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        child = os.fork()
        if child == 0:
            return request
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()
    return None


def prepare(request: dict[str, Any]) -> CodeType:
    """Bring this process to where a new interpreter is before the first line of the program."""
    signal.alarm(request["limit_s"])
    threading.main_thread()._set_native_id()  # type: ignore[attr-defined]  # still the parent's
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        file = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, descriptor)
        os.close(file)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    if request["compiled"]:
        atexit.register(write_compilations, Path(request["compiled"]))
    program = Path(request["program"])
    sys.argv = [str(program), *request["arguments"]]
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__dict__.update(__file__=str(program), __builtins__=__builtins__)
    del sys.modules["torch_xla"]
    set_dynamo(_PLAIN)
    sys.meta_path.insert(0, AlreadyImported())
    set_path(program)
    return compile(program.read_bytes(), str(program), "exec")


def set_dynamo(settings: dict[str, Any]) -> None:
    """Set these settings of Dynamo."""
    for name, value in settings.items():
        setattr(dynamo, name, value)


def set_path(program: Path) -> None:
    """Set ``sys.path``, and run the ``sitecustomize`` on PYTHONPATH, which starts the capture."""
    ahead = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[:1] = [str(program.resolve().parent), *ahead]
    if ahead:
        sys.modules.pop("sitecustomize", None)
        importlib.import_module("sitecustomize")


def write_compilations(file: Path) -> None:
    """Write how many graphs this process compiled."""
    file.write_text(str(torch_xla._XLAC._xla_counter_value("UncachedCompile") or 0))


if __name__ == "__main__":
    gc.freeze()  # else garbage collection in a child copies all shared memory
    if (request := serve()) is not None:
        code = prepare(request)
        exec(code, sys.modules["__main__"].__dict__)  # here, so that it ends like any program
