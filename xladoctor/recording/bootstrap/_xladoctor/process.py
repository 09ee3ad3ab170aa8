"""The process itself: its folder, who it is, and its end."""

from __future__ import annotations

import atexit
import os
import socket
import sys
from typing import Any, Callable, Iterable


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


def undecodable_file() -> str | None:
    """A file or folder from which the program's code comes, and whose name is not UTF-8."""
    modules = [
        getattr(module, "__dict__", {}).get("__file__") for module in list(sys.modules.values())
    ]
    here = _working_directory() if "" in sys.path else None
    for name in (main_file(), here, *sys.path, *modules):
        if isinstance(name, str) and not name.isascii():
            try:
                name.encode()
            except UnicodeEncodeError:
                return name
    return None


def at_exit(action: Callable[[], None]) -> None:
    """Run it when the interpreter ends; children that multiprocessing forks skip ``atexit``."""
    atexit.register(action)
    util = sys.modules.get("multiprocessing.util")
    if util is not None and sys.modules["multiprocessing.process"].parent_process() is not None:
        util.Finalize(None, action, exitpriority=-100)


def describe(rank: int | None, ranks: Iterable[str]) -> dict[str, Any]:
    """Who it is, where it runs, and what ended it.

    Args:
        rank: its number among several processes, where the framework knows it.
        ranks: the variables that number it, where the framework does not.
    """
    return {
        "parent": os.getppid(),
        "rank": _rank(ranks) if rank is None else rank,
        "cwd": _working_directory(),
        "host": socket.gethostname(),
        "processors": _processors(),
        "uncaught": _uncaught(),
    }


def _uncaught() -> str | None:
    """The exception that ended the program, if one did and was printed."""
    kind = getattr(sys, "last_type", None)
    return None if kind is None else str(getattr(kind, "__name__", kind))


def _processors() -> int | None:
    """How many it may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed meanwhile
        return None


def _rank(names: Iterable[str]) -> int | None:
    for name in names:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return None
