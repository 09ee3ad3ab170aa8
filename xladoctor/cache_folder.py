"""Where things are kept that can be made anew."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from xladoctor.whole_files import replacing

_IN_USE_S = 3600.0


def cache_folder(name: str) -> Path | None:
    """The folder ``name`` below ``$XDG_CACHE_HOME/xladoctor``, the user's alone; None if it cannot
    be written.
    """
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path("~/.cache").expanduser()
    folder = base / "xladoctor" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


def oldest_beyond(entries: Iterable[Path], most: int) -> Iterator[Path]:
    """The files and folders to remove, those first that were not used for longest, until the rest
    has no more than so many bytes; one that the caller leaves there counts on.
    """
    found = []
    for entry in entries:
        with suppress(OSError):  # another process renames or removes it
            found.append((entry.stat().st_mtime, _bytes(entry), entry))
    total = sum(size for _, size, _ in found)
    for _, size, entry in sorted(found):
        if total <= most:
            return
        yield entry
        if not entry.exists():
            total -= size


@dataclass(frozen=True, slots=True)
class FileCache:
    """Files by name in the user's cache.

    Attributes:
        name: of its folder.
        most: bytes beyond which the oldest are removed, but none of the last hour: another command
            may read it.
    """

    name: str
    most: int

    def get(self, name: str) -> Path | None:
        """The file of that name, which counts as used; None if there is none."""
        folder = cache_folder(self.name)
        file = folder and folder / name
        if file is None or not file.is_file():
            return None
        with suppress(OSError):
            os.utime(file)
        return file

    def put(self, name: str, content: bytes) -> Path | None:
        """Keep a file; None where the cache cannot be written."""
        folder = cache_folder(self.name)
        try:
            if folder is not None:
                with replacing(folder / name) as new:
                    new.write(content)
        except OSError:
            return None
        return folder and folder / name

    def remove_oldest(self) -> None:
        """Remove what is too much."""
        folder = cache_folder(self.name)
        with suppress(OSError):
            files = [file for file in folder.iterdir() if file.is_file()] if folder else []
            for file in oldest_beyond(files, self.most):
                if time.time() - file.stat().st_mtime < _IN_USE_S:
                    break
                file.unlink()


def _bytes(entry: Path) -> int:
    """Of a file, or of all files in a folder; those that folders share count in each."""
    files = [file for file in entry.rglob("*") if file.is_file()] if entry.is_dir() else [entry]
    return sum(file.stat().st_size for file in files)
