"""What an analysis of an input takes: the memory and the processor time of a process of its own.

A worker that has loaded xladoctor forks a child for each input. The child reads the files, or does
all that ``xladoctor analyze`` does, and may take no more than any input under 2 MB should.
"""

from __future__ import annotations

import io
import os
import resource
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.cli.command import ENVIRONMENT

MOST_MB, MOST_S = 500, 10
_KILLED_MB, _KILLED_S = 2_000, 40
_REJECTED, _FAULT = 2, 70
OUTCOMES = ("result", "error", "large", "slow", "fault")


class Input(NamedTuple):
    """Files as somebody may send them.

    Attributes:
        format: the format that they are of.
        what: what is wrong with them.
        files: makes the contents, by path in a folder. A single file is read, else the folder.
        judged: whether rules judge it and reports show it; otherwise it is only read.
    """

    format: str
    what: str
    files: Callable[[], dict[str, bytes]]
    judged: bool = False


class Taken(NamedTuple):
    """What came of an input.

    Attributes:
        outcome: one of :data:`OUTCOMES`.
        seconds: of processor time.
        megabytes: the most memory that the process had.
        said: the end of a traceback.
    """

    outcome: str
    seconds: float
    megabytes: float
    said: str = ""


def taken(files: dict[str, bytes], work: Callable[[Path], None]) -> Taken:
    """What ``work`` takes for files, in a child of this process, which may have no threads.

    Args:
        files: as in :class:`Input`.
        work: is called with the path. An ``XladoctorError`` is an error, any other exception a
            fault.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder, said = Path(scratch, "input"), Path(scratch, "said")
        path = folder if len(files) > 1 else folder / next(iter(files))
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        sys.stdout.flush()
        child = os.fork()
        if not child:
            _end(lambda: work(path), said)
        _, status, used = os.wait4(child, 0)
        traced = said.read_text(errors="replace")[-3000:] if said.exists() else ""
    seconds, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    code = os.waitstatus_to_exitcode(status)
    if megabytes > MOST_MB or "MemoryError" in traced[-200:]:
        outcome = "large"
    elif seconds > MOST_S:
        outcome = "slow"
    else:
        outcome = {0: "result", _REJECTED: "error"}.get(code, "fault")
    return Taken(outcome, seconds, megabytes, traced or f"exit status {code}")


def _end(work: Callable[[], None], said: Path) -> None:
    """Work, and end this process with what came of it."""
    from xladoctor.errors import XladoctorError

    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    resource.setrlimit(resource.RLIMIT_CPU, (_KILLED_S, _KILLED_S))
    resource.setrlimit(resource.RLIMIT_DATA, (_KILLED_MB << 20, _KILLED_MB << 20))
    sys.stdout = sys.stderr = io.StringIO()
    try:
        work()
        status = 0
    except XladoctorError:
        status = _REJECTED
    except BaseException:
        said.write_text(traceback.format_exc(), "utf-8", "backslashreplace")
        status = _FAULT
    os._exit(status)
