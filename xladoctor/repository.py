"""The repository that a program lies in, and paths as they are on any machine."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

_INSTALLED = re.compile(r"(?:.*/|^)(?:site-packages|dist-packages|lib/python3\.\d+)/(.+)$")


def repository(folder: Path) -> Path | None:
    """The root of the repository that a folder lies in, or None."""
    holders = (place for place in (folder, *folder.parents) if (place / ".git").exists())
    return next(holders, None)


def installed(file: str) -> str | None:
    """The path of an installed file from where Python's packages are; None for any other."""
    match = _INSTALLED.search(file)
    return match[1] if match else None


def portable(file: str, cwd: str | None, root: str | None) -> str:
    """A path relative to the repository, or to where Python's packages are; else as it is.

    Args:
        file: absolute, or relative to ``cwd``.
    """
    path = posixpath.normpath(posixpath.join(cwd or "", file))
    below = (root or "").rstrip("/") + "/"
    inside = path[len(below) :] if root and path.startswith(below) else path
    return installed(file) or inside
