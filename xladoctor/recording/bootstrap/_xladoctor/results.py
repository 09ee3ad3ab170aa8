"""What a program has computed at its end, for trials of patches: only where ``VARIABLE`` names a
folder for it. Random numbers then begin from one seed, so that runs can be compared.
"""

from __future__ import annotations

import atexit
import functools
import os
import threading
from types import ModuleType
from typing import Any, Callable

from .import_hook import when_imported

VARIABLE = "XLADOCTOR_RESULTS"
#: Names the folder for the values of first steps, where these alone are wanted.
FIRST_STEPS = "XLADOCTOR_FIRST_STEPS"
#: How the names of files with numbers of log records begin, and those of what was computed.
LOGGED, COMPUTED = "log-records-", "final "
#: Elements of a tensor that are kept, evenly spread; of all others there is the sum.
SAMPLE = 1 << 16
#: From which random numbers begin.
SEED = 0

#: Writers of what was computed, which get the path without its suffix.
_writers: list[tuple[str, Callable[[str], None]]] = []


def folder() -> str | None:
    """Where results go; None if nobody wants them."""
    return os.environ.get(VARIABLE)


def begin() -> None:
    """Seed random numbers, and count log records. Called before the program begins."""
    if folder():
        seed_libraries()
        when_imported("logging", _count)


def seed_libraries() -> None:
    """Seed Python's random numbers and NumPy's."""
    when_imported("random", lambda module: module.seed(SEED))
    when_imported("numpy.random", lambda module: module.seed(SEED))


def seed(module: Any) -> None:
    """Seed a framework whose module has a ``manual_seed``."""
    module.manual_seed(SEED)


def at_end(name: str, write: Callable[[str], None]) -> None:
    """Have ``write`` called with a path without its suffix, once the program has ended."""
    _writers.append((name, write))


def write() -> None:
    """Write what was computed; what cannot be written is left out."""
    place = folder()
    if threading.current_thread() is not threading.main_thread():
        return  # a signal ends the program while it computes
    while _writers and place:
        name, writer = _writers.pop()
        try:
            writer(_free(os.path.join(place, f"{COMPUTED}{name}")))
        except Exception:  # noqa: S112 - the framework may be gone, or the disk full
            continue


def _free(path: str) -> str:
    """A path that no other process of the program has taken."""
    number, found = 1, path
    while True:
        try:
            os.mkdir(f"{found}.taken")
        except FileExistsError:
            number += 1
            found = f"{path}, process {number}"
        else:
            return found


def _count(logging: ModuleType) -> None:
    counts: dict[str, int] = {}
    process, original = os.getpid(), logging.Logger.handle

    @functools.wraps(original)
    def handle(self: Any, record: Any) -> Any:
        if record.levelno >= logging.INFO:  # libraries tell the rest of what they do inside
            counts[record.levelname] = counts.get(record.levelname, 0) + 1
        return original(self, record)

    def end() -> None:
        import json  # no earlier: the program may have a file of that name

        place = folder()
        if place and os.getpid() == process:
            with open(
                os.path.join(place, f"{LOGGED}{process}.json"), "w", encoding="utf-8"
            ) as file:
                json.dump(counts, file)

    logging.Logger.handle = handle
    atexit.register(end)
