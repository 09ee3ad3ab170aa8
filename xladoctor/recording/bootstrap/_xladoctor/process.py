"""The captured process: its folder, identity and end."""

from __future__ import annotations

import atexit
import os
import socket
import sys
from typing import TYPE_CHECKING, Any, Callable, Iterable

from . import settings
from .call_site import USER, CallSites
from .disguise import pass_on
from .redaction import redact_text

if TYPE_CHECKING:
    from .frontend import InJob


def make_folder(run_directory: str, pid: int) -> str:
    """Make ``process-<pid>``, or another name if an earlier process had the same pid.

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
    """The program's own file; read it early, as the interpreter's end clears it."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.abspath(main) if main else None


def undecodable_file() -> str | None:
    """A file or folder of the program's code whose name is not UTF-8, if there is one."""
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
    """Run ``action`` at exit, also in children forked by multiprocessing, which skip ``atexit``."""
    atexit.register(action)
    util = sys.modules.get("multiprocessing.util")
    if util is not None and sys.modules["multiprocessing.process"].parent_process() is not None:
        util.Finalize(None, action, exitpriority=-100)


#: What exceptions say if memory did not suffice, of a device or the host.
_OF_MEMORY = ("RESOURCE_EXHAUSTED", "ut of memory", "allocate memory", "Unable to allocate")
_LONGEST = 1 << 15  # characters of what they say
#: Holds the number of the slice, where a job has several.
_SLICE = "MEGASCALE_SLICE_ID"


def describe(in_job: InJob, ranks: Iterable[tuple[str, str]], sites: CallSites) -> dict[str, Any]:
    """The process's identity, where it runs, and what ended it.

    Args:
        in_job: where it is in a job, as far as the framework knows it.
        ranks: environment variables that may hold its rank otherwise, and the number of processes.
        sites: know which files are the program's own.
    """
    rank, world_size, slice_index = in_job
    if rank is None:
        rank, world_size = _in_environment(ranks)
    return {
        "parent": os.getppid(),
        "rank": rank,
        "world_size": world_size,
        "slice": settings.whole_number(_SLICE) if slice_index is None else slice_index,
        "cwd": _working_directory(),
        "host": socket.gethostname(),
        "processors": _processors(),
        **_uncaught(sites),
    }


def _uncaught(sites: CallSites) -> dict[str, Any]:
    """The exception that ended the program, if it was printed, and the line of the program that it
    came through last, such as ``ValueError at train.py:12``; what it says, if that is of memory.
    """
    kind, frame = getattr(sys, "last_type", None), getattr(sys, "last_traceback", None)
    if kind is None:
        return {"uncaught": None}
    here, place = (_working_directory() or "") + os.sep, ("", 0, "")
    while frame is not None:
        code = frame.tb_frame.f_code
        if sites.kind(code.co_filename) == USER:
            place = code.co_filename, frame.tb_lineno, code.co_name
        frame = frame.tb_next
    file = place[0][len(here) :] if place[0].startswith(here) else place[0]
    said = _said()
    of_memory = any(words in said for words in _OF_MEMORY)
    named = getattr(kind, "__name__", kind), " (out of memory)" * of_memory
    uncaught = f"{''.join(map(str, named))}{f' at {file}:{place[1]}' if file else ''}"
    return {"uncaught": uncaught, **({"memory_error": (said, *place)} if of_memory else {})}


def _said() -> str:
    try:
        return redact_text(str(getattr(sys, "last_value", ""))[:_LONGEST])
    except Exception as error:  # the program's own class
        pass_on(error)
        return ""


def _processors() -> int | None:
    """The number of processors that the process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:  # the working folder was removed
        return None


def _in_environment(names: Iterable[tuple[str, str]]) -> tuple[int | None, int | None]:
    for name, size in names:
        rank = settings.whole_number(name)
        if rank is not None:
            return rank, settings.whole_number(size)
    return None, None
