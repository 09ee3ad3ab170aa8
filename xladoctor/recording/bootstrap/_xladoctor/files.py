"""Writes the capture's files: whole or not at all, and its own faults even on a full disk."""

from __future__ import annotations

import contextlib
import os
from threading import get_ident

from .redaction import redact_text

_ROOM = 4096  # bytes kept for faults


def replace_file(path: str, content: str | bytes) -> None:
    """Write a whole file so that a reader sees the old or the new content, never a part.

    If two threads write the same file at once, the last to finish wins.
    """
    data = content.encode() if isinstance(content, str) else content
    new = f"{path}.{get_ident()}.new"
    try:
        with open(new, "wb") as file:
            file.write(data)
        os.replace(new, path)
    except OSError:
        with contextlib.suppress(OSError):  # a full disk has no room for half a file
            os.remove(new)
        raise


def announce(run_directory: str, what: str) -> bool:
    """Add a line to ``python.log``, which lists all processes: pid, parent's pid, ``what``.

    Returns whether it was written.
    """
    line = f"{os.getpid()} {os.getppid()} {redact_text(what)}\n"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    try:
        descriptor = os.open(os.path.join(run_directory, "python.log"), flags, 0o644)
    except OSError:
        return False  # the run directory is gone, or this user may not write to it
    data = line.encode(errors="backslashreplace")
    try:
        return os.write(descriptor, data) == len(data)
    except OSError:
        return False  # the disk is full
    finally:
        os.close(descriptor)


def keep_room_for_faults(folder: str) -> None:
    """Reserve room on the disk now: the first fault may be that the disk is full."""
    replace_file(_faults(folder), " " * _ROOM)


def give_room_back(folder: str) -> None:
    """Remove the reserved room if no fault was noted in it."""
    with contextlib.suppress(OSError):
        with open(_faults(folder), "rb") as file:
            blank = not file.read(_ROOM).strip()
        if blank:
            os.remove(_faults(folder))


def note_fault(folder: str, fault: BaseException) -> bool:
    """Record a fault of the capture itself, for the diagnosis; return whether that worked."""
    text = redact_text(_text(fault))
    try:
        with open(_faults(folder), "r+b") as file:
            known = file.read(_ROOM).rstrip()
            file.seek(len(known))
            file.write(
                (b"\n" * bool(known) + text.encode(errors="backslashreplace"))[: _ROOM - len(known)]
            )
    except OSError:
        return False  # the folder is gone, or even its reserved room cannot be written
    return True


def _text(fault: BaseException) -> str:
    try:
        import traceback

        return "".join(traceback.format_exception(type(fault), fault, fault.__traceback__))
    except Exception:  # the program's own module of that name, or a line that cannot be read
        return f"{type(fault).__name__}: {fault}"


def _faults(folder: str) -> str:
    return os.path.join(folder, "faults.log")
