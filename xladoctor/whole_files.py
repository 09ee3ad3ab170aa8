"""Writes files whole or not at all: a reader sees the old content or the new, never a part, even if
the disk is full or the process is killed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` when the block ends without an exception.

    A link stays and its target is replaced; mode and owner stay as they were. Pipes, devices and
    the process's own streams (``/dev/stdout``) cannot be replaced and are written directly.

    Raises:
        OSError: it cannot be written.
    """
    if _is_stream(path):
        with path.open("wb") as file:
            yield file
        return
    target = path.resolve()
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    new = target.with_name(f".xladoctor-{secrets.token_hex(8)}")
    try:
        with new.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _take_after(target, new)
        new.replace(target)
    finally:
        with contextlib.suppress(OSError):
            new.unlink()


def write_text(path: Path, text: str, errors: str = "strict") -> None:
    """Replace a file by a text in UTF-8. Raises OSError, and UnicodeEncodeError by ``errors``."""
    with replacing(path) as file:
        file.write(text.encode("utf-8", errors))


def _is_stream(path: Path) -> bool:
    """Whether it is not a regular file, or one that is already open: ``/dev/fd/3``."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        return not stat.S_ISDIR(mode)
    place = path.absolute()
    return place.parts[1] in ("dev", "proc") and path.resolve() != place


def _take_after(old: Path, new: Path) -> None:
    """Give a file the owner and the mode of the one that it replaces, if there is one."""
    with contextlib.suppress(FileNotFoundError):
        found = old.stat()
        with contextlib.suppress(OSError, AttributeError):  # only root can; Windows has no owners
            os.chown(new, found.st_uid, found.st_gid)
        shutil.copymode(old, new)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process is in such a block for the folder, which is made if need be.

    The folder itself is locked, so that no lock file is left in it. File systems without locks, and
    Windows, let everybody in at once.

    Raises:
        OSError: the folder cannot be made or opened.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        descriptor = opened_folder(folder)
        if descriptor is not None:
            stack.callback(os.close, descriptor)
            with contextlib.suppress(OSError):
                lock(descriptor)
        yield


def opened_folder(folder: Path) -> int | None:
    """A folder to :func:`lock`; None where none can be, as on Windows. Raises OSError."""
    folder.stat()
    return os.open(folder, os.O_RDONLY | os.O_CLOEXEC) if hasattr(os, "O_DIRECTORY") else None


def lock(descriptor: int, *, shared: bool = False, waits: bool = True) -> None:
    """Lock what was opened, until it is closed. Raises OSError."""
    import fcntl

    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(descriptor, how if waits else how | fcntl.LOCK_NB)
