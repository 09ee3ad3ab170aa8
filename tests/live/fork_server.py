"""Stands in for ``python program.py``: a fork of a process that has imported torch_xla already.

Importing takes four seconds, more than most programs run. torch_xla starts its runtime and reads
its settings only when a device is used, so that a fork is as good as a new process. For programs
that set variables which torch_xla reads while it is imported, it is not: those need a process of
their own.

Reads a line of JSON for each program from standard input: ``program``, ``arguments``, ``cwd``,
``env`` (the whole environment), ``stdout`` and ``stderr`` (files), ``limit_s``, and ``compiled``
(a file for the number of compilations, or null). Answers with a line: the exit status, -n for
signal n. With the capture's variables in ``env``, the capture begins as it does in a new process.
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

import torch_xla


class AlreadyImported(Loader):
    """Finds ``torch_xla`` for a program's first import of it: the module that is there."""

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
        """What importing does to the environment, by torch_xla's own functions."""
        module._setup_default_env()
        module._setup_xla_flags()


def serve() -> dict[str, Any] | None:
    """Fork for each request; in the child, return it. None at the end of standard input."""
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        child = os.fork()
        if child == 0:
            return request
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()
    return None


def become(request: dict[str, Any]) -> CodeType:
    """Make this process what a new interpreter is before the first line of the program."""
    signal.alarm(request["limit_s"])
    threading.main_thread()._set_native_id()  # type: ignore[attr-defined]  # else the parent's
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
    sys.meta_path.insert(0, AlreadyImported())
    customize(program)
    return compile(program.read_bytes(), str(program), "exec")


def customize(program: Path) -> None:
    """As at an interpreter's start: what lies on PYTHONPATH, where the capture waits."""
    ahead = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[:1] = [str(program.resolve().parent), *ahead]
    if ahead:
        sys.modules.pop("sitecustomize", None)
        importlib.import_module("sitecustomize")


def write_compilations(file: Path) -> None:
    file.write_text(str(torch_xla._XLAC._xla_counter_value("UncachedCompile") or 0))


if __name__ == "__main__":
    gc.freeze()  # a collection in a child would copy all that is shared
    if (asked := serve()) is not None:
        code = become(asked)
        exec(code, sys.modules["__main__"].__dict__)  # so that it ends as a program does
