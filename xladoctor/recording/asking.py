"""Asks the processes of a run to stop, or to write what they recorded before they are ended."""

from __future__ import annotations

import contextlib
import signal
import time
from pathlib import Path

from xladoctor.recording.bootstrap._xladoctor import asked
from xladoctor.recording.interface import RunDirectory
from xladoctor.running import is_running

_LOOK_S = 0.05


def stop(directory: RunDirectory) -> None:
    """Ask the processes to end at their next step."""
    _ask(directory, asked.STOP)


def flush(directory: RunDirectory, patience_s: float, ends_by: int | None = None) -> None:
    """Have the processes write everything that they have recorded.

    Args:
        patience_s: seconds to wait for it.
        ends_by: only if this signal would end one of them, without giving it a chance to do so.
    """
    folders = list(filter(is_running, directory.processes()))
    if not folders or (ends_by and all(_handles(folder, ends_by) for folder in folders)):
        return
    _ask(directory, asked.FLUSH)
    ends = time.monotonic() + patience_s
    while time.monotonic() < ends and any(
        not (folder / asked.FLUSHED).exists() and is_running(folder) for folder in folders
    ):
        time.sleep(_LOOK_S)


def withdraw(directory: RunDirectory) -> None:
    """Remove what was asked, and the answers."""
    answers = [folder / asked.FLUSHED for folder in directory.processes()]
    for file in (directory.path / asked.STOP, directory.path / asked.FLUSH, *answers):
        with contextlib.suppress(OSError):
            file.unlink()


def _ask(directory: RunDirectory, what: str) -> None:
    with contextlib.suppress(OSError):  # the run directory is gone, or the disk is full
        (directory.path / what).touch()


def _handles(folder: Path, number: int) -> bool:
    """Whether the process of a folder catches or ignores a signal."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = Path("/proc", folder.name.split("-")[1], "status").read_text()
        masks = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        handled = int(masks["SigCgt"], 16) | int(masks["SigIgn"], 16)
        return bool(handled >> (signal.Signals(number) - 1) & 1)
    return False
