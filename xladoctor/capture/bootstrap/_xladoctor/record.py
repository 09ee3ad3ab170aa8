"""What is told of the process itself: ``process.json``, its folder, and its end."""

from __future__ import annotations

import atexit
import os
import platform
import socket
import sys
from typing import Any, Callable


def make_folder(run_directory: str, pid: int) -> str:
    """``process-<pid>``; another name where an earlier process had the same number.

    Raises:
        FileNotFoundError: the run directory is gone.
    """
    name, number = f"process-{pid}", 2
    while True:
        try:
            os.mkdir(os.path.join(run_directory, name))
            return os.path.join(run_directory, name)
        except FileExistsError:
            name, number = f"process-{pid}-{number}", number + 1


def main_file() -> str | None:
    """The program's own file, which is forgotten at the interpreter's end."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.abspath(main) if main else None


def at_exit(action: Callable[[], None]) -> None:
    """Run it when the interpreter ends; children that multiprocessing forks skip ``atexit``."""
    atexit.register(action)
    util = sys.modules.get("multiprocessing.util")
    if util is not None and sys.modules["multiprocessing.process"].parent_process() is not None:
        util.Finalize(None, action, exitpriority=-100)


def describe(torch_xla: Any) -> dict[str, Any]:
    """Versions, devices, rank; fallbacks by name, as their counters are cleared by programs."""
    xlac = torch_xla._XLAC
    initialized = bool(xlac._xla_runtime_is_initialized())
    return {
        "parent": os.getppid(), "rank": _rank(), "cwd": _working_directory(),
        "host": socket.gethostname(), "python": platform.python_version(),
        "torch": sys.modules["torch"].__version__, "torch_xla": torch_xla.__version__,
        "devices": xlac._xla_real_devices() if initialized else [],
        "fallback_ops": list(xlac._get_executed_fallback_ops()) if initialized else [],
        "uncaught": _uncaught(),
    }  # fmt: skip


def _uncaught() -> str | None:
    """The exception that ended the program, if one did and was printed."""
    kind = getattr(sys, "last_type", None)
    return None if kind is None else str(getattr(kind, "__name__", kind))


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed meanwhile
        return None


def _rank() -> int | None:
    for name in ("RANK", "PJRT_LOCAL_PROCESS_RANK", "LOCAL_RANK"):
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return None
