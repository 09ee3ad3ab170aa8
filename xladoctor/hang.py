"""Ends a program that hangs, after writing its stacks."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
from pathlib import Path

from xladoctor.errors import XladoctorError
from xladoctor.recording.interface import RunDirectory
from xladoctor.stacks.process import tree
from xladoctor.whole_files import write_text

FILE = "stacks-{pid}.txt"
_PATIENCE_S = 5.0  # between SIGTERM and SIGKILL
_WIDTH = 100


def end(child: subprocess.Popen[bytes], directory: RunDirectory) -> None:
    """Write the stacks of all the program's processes, then end them: SIGTERM, then SIGKILL."""
    _write_stacks(child.pid, directory.path)
    with contextlib.ExitStack() as stack:
        processes = [_open(pid, stack) for pid in tree(child.pid)]
        for how in (signal.SIGTERM, signal.SIGKILL):
            for process in processes:
                with contextlib.suppress(OSError):  # it has ended, or belongs to another user
                    signal.pidfd_send_signal(process, how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_PATIENCE_S)


def _open(pid: int, stack: contextlib.ExitStack) -> int:
    """A descriptor of the process, as its number may be reused; -1 if it has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return -1
    stack.callback(os.close, descriptor)
    return descriptor


def _write_stacks(pid: int, folder: Path) -> None:
    from xladoctor.report.interface import Style
    from xladoctor.report.stacks import render
    from xladoctor.stacks.dump import dump_tree
    from xladoctor.stacks.interface import Stacks

    try:
        processes = dump_tree(pid)
    except XladoctorError as error:
        _write(folder / FILE.format(pid=pid), f"{error.what}\n{error.hint}\n")
        return
    for stacks in processes:
        if isinstance(stacks, Stacks):
            text = io.StringIO()
            render(stacks, text, Style(width=_WIDTH, color=False, unicode=True))
            _write(folder / FILE.format(pid=stacks.pid), text.getvalue())


def _write(path: Path, text: str) -> None:
    with contextlib.suppress(OSError):  # the disk is full, or the run directory is gone
        write_text(path, text, "backslashreplace")
