"""The repository that a program is in, and paths that are the same on any machine."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from pathlib import Path, PureWindowsPath

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_INSTALLED = re.compile(r"^(?:.*/)?(?:site-packages|dist-packages|lib/python3\.\d+)/(.+)$")


def repository(folder: Path) -> Path | None:
    """The root of the repository that a folder lies in, or None."""
    holders = (place for place in (folder, *folder.parents) if (place / ".git").exists())
    return next(holders, None)


def installed(file: str) -> str | None:
    """The path of an installed file, relative to Python's packages; None for other files."""
    match = _INSTALLED.search(file)
    return match[1] if match else None


def whole(file: str, cwd: str | None) -> str:
    """A path from a location, which may be relative to the program's working directory."""
    if is_of_windows(file):
        return file.replace("\\", "/")
    return posixpath.normpath(posixpath.join(cwd or "", file))


def short(file: str) -> str:
    """A path as people read it: of an installed file, the one in its package."""
    return installed(whole(file, None)) or file


def spot(file: str, line: int) -> str:
    """A line without its folders, such as ``train.py:38``."""
    return f"{PureWindowsPath(file).name}:{line}"


def is_of_windows(file: str) -> bool:
    """Whether a path begins with a drive's letter."""
    return bool(_DRIVE.match(file))


def portable(file: str, cwd: str | None, root: str | None) -> str:
    """A path relative to Python's packages or to the repository; other paths stay as they are.

    Args:
        file: absolute, or relative to ``cwd``.
    """
    path = whole(file, cwd)
    below = (root or "").rstrip("/") + "/"
    inside = path[len(below) :] if root and path.startswith(below) else path
    return installed(file) or inside


def matches(glob: str, path: str) -> bool:
    """Whether a path or glob matches a path: all of it, or its last parts; ``*`` crosses ``/``.

    ``**/`` in front stands for any folders, or none.
    """
    glob, parts = glob.removeprefix("**/"), path.split("/")
    names = ("/".join(parts[first:]) for first in range(len(parts)))
    return any(fnmatch.fnmatchcase(name, glob) for name in names)


def from_here(path: Path) -> Path:
    """A path below the working directory, relative to it; other paths stay as they are."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
