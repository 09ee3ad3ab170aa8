"""Asks the processes of a run to stop, or to write what they recorded before they are ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from xladoctor.recording.bootstrap._xladoctor import asked, termination
from xladoctor.recording.interface import RunDirectory
from xladoctor.regular_files import read_json
from xladoctor.running import is_running, pid_of
from xladoctor.whole_files import write_text

_LOOK_S = 0.05
_PROCESS = "process.json"  # written when a process begins to use a device
_ANSWERED_S = 5.0  # the most to wait until each process has said when it can stop


def stop(directory: RunDirectory) -> None:
    """Ask the processes to end: at their next step, or several at the same step if they can."""
    folders = list(filter(is_running, directory.processes()))
    _wait(folders, _PROCESS, _ANSWERED_S)
    if len(folders) > 1 or any(map(_is_one_of_several, folders)):
        _ask(directory, asked.STOP)
        _wait(folders, asked.CAN_STOP, _ANSWERED_S)
        folders = list(filter(is_running, directory.processes()))
    steps = [step for folder in folders if (step := _can_stop(folder)) is not None]
    with contextlib.suppress(OSError):
        write_text(directory.path / asked.STOP, str(max(steps, default=0)))


def flush(directory: RunDirectory, patience_s: float) -> None:
    """Have the processes that still run write everything that they have recorded.

    Args:
        patience_s: seconds to wait for it.
    """
    folders = list(filter(is_running, directory.processes()))
    if not folders:
        return
    _ask(directory, asked.FLUSH)
    _wait(folders, asked.FLUSHED, patience_s)


def kill_held(directory: RunDirectory, patience_s: float) -> None:
    """Kill the processes that have held back, for so many seconds, a signal that would have ended
    them, and do not get to end themselves, as where foreign code keeps the interpreter's lock.
    """
    for folder in filter(is_running, directory.processes()):
        pid = int(pid_of(folder))
        with contextlib.suppress(OSError):  # it has ended, or belongs to another user
            if (since := _held_since(pid)) and time.time() - since > patience_s:
                os.kill(pid, signal.SIGKILL)


def _held_since(pid: int) -> float | None:
    """When a process got a signal that its capture holds back; None if it did not."""
    for file in Path("/proc", str(pid), "fd").iterdir():
        if file.readlink().match(f"/memfd:{termination.PREFIX}*"):
            status = file.stat()
            if status.st_size:
                return status.st_mtime
    return None


def withdraw(directory: RunDirectory) -> None:
    """Remove what was asked, and the answers."""
    names = asked.CAN_STOP, asked.FLUSHED
    answers = [folder / name for folder in directory.processes() for name in names]
    for file in (directory.path / asked.STOP, directory.path / asked.FLUSH, *answers):
        with contextlib.suppress(OSError):
            file.unlink()


def _ask(directory: RunDirectory, what: str) -> None:
    with contextlib.suppress(OSError):  # the run directory is gone, or the disk is full
        (directory.path / what).touch()


def _wait(folders: Sequence[Path], answer: str, patience_s: float) -> None:
    """Wait for the answers of processes that still run."""
    ends = time.monotonic() + patience_s
    while time.monotonic() < ends and any(
        not (folder / answer).exists() and is_running(folder) for folder in folders
    ):
        time.sleep(_LOOK_S)


def _is_one_of_several(folder: Path) -> bool:
    """Whether others of its job run or will: they may not have used a device yet."""
    try:
        return int(read_json(folder / _PROCESS)["world_size"] or 1) > 1
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _can_stop(folder: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int((folder / asked.CAN_STOP).read_bytes())
    return None
