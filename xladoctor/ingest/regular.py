"""Files of a run directory, which somebody else may have made: plain ones inside of it, never what
a link leads to.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TextIO


def open_text(path: Path, errors: str = "strict") -> TextIO:
    """A plain file as UTF-8 text. Raises OSError, also for links and other kinds of files."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(error.errno, "a link, which is not followed", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a plain file", str(path))
    return os.fdopen(descriptor, encoding="utf-8", errors=errors)


def read_text(path: Path, errors: str = "strict") -> str:
    """All of it. Raises OSError as above, and UnicodeDecodeError."""
    with open_text(path, errors) as file:
        return file.read()


def lies_in(path: Path, folder: Path) -> bool:
    """Whether a path is a plain file or a folder below this folder, with no link on the way."""
    try:
        below = path.absolute().relative_to(folder.absolute())
    except ValueError:
        return False
    return (path.is_dir() or path.is_file()) and path.resolve() == folder.resolve() / below
