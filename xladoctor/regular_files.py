"""Opens files that may come from somebody else: only regular ones, with a size limit for each kind.
A pipe in place of a file would never answer, and a device would never end.

Links to regular files are followed. Unfit files raise an OSError, as unreadable ones do.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from io import BufferedReader, FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Result = TypeVar("Result")
#: Files that people write: configuration.
SETTINGS = 1 << 20
#: One object: baseline, rule, manifest.
DOCUMENT = 1 << 24
#: A list that is read at once, with an item for each line, module or sample of a program.
LISTING = 1 << 26
#: A timeline or module: protobuf writes at most half of this.
MESSAGE = 1 << 32
#: Files that are read piece by piece.
LOG = 1 << 33
#: Characters of a line; the rest of a longer one is left out.
LINE = 1 << 20

#: Each as far as the system has it: Windows has the last alone.
_FLAGS = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link",
}


class UnfitFileError(OSError):
    """Not a regular file, or one that is too large; the text does not include the path."""

    def __str__(self) -> str:
        return str(self.strerror)


class _Opened(FileIO):
    """A file that was opened without waiting. Files of the kernel can be regular by their mode, and
    have nothing to read at the moment; others always answer.
    """

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """As usual; raises OSError in place of returning None."""
        count: int = _answered(super().readinto(buffer))
        return count

    def readall(self) -> bytes:
        """As usual; raises OSError in place of returning None."""
        return _answered(super().readall())


def _answered(result: Result | None) -> Result:
    if result is None:
        raise UnfitFileError(errno.EAGAIN, "has nothing to read at the moment, as a device may")
    return result


def open_regular(path: Path, limit: int, *, links: bool = True) -> BufferedReader:
    """Open a regular file of at most ``limit`` bytes. Raises OSError.

    Args:
        links: whether links to such files are followed; otherwise they are not fit to be read.
    """
    _check(path.stat(follow_symlinks=links), limit)  # opening a device may already do something
    flags = _FLAGS if links else _FLAGS | getattr(os, "O_NOFOLLOW", 0)
    file: BufferedReader[Any] = BufferedReader(_Opened(os.open(path, flags), "rb"))
    try:
        _check(os.fstat(file.fileno()), limit)
    except OSError:
        file.close()
        raise
    return file


def read_bytes(path: Path, limit: int = DOCUMENT, *, links: bool = True) -> bytes:
    """The content of a regular file. Raises OSError."""
    with open_regular(path, limit, links=links) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise too_large(limit)  # it grew, or has no size, as the kernel's files do
    return content


def files_below(folder: Path) -> Iterator[Path]:
    """All that is no folder below a folder, however deep; links to folders are not followed.

    Folders that cannot be read are passed over.
    """
    pending = [str(folder)]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    else:
                        yield Path(entry.path)
        except OSError:
            continue


def modified_s(path: Path) -> float:
    """When a file was last changed, in seconds since 1970; 0 for one that is gone, as behind a
    link that leads nowhere.
    """
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def checksum(path: Path) -> int:
    """The CRC-32 of a regular file that is no link. Raises OSError."""
    value = 0
    with open_regular(path, LOG, links=False) as file:
        while part := file.read(1 << 20):
            value = zlib.crc32(part, value)
    return value


def record_checksum(record: Mapping[str, Any]) -> int:
    """The CRC-32 of a JSON object without its entry ``own_crc32``, which holds this number."""
    rest = {name: value for name, value in record.items() if name != "own_crc32"}
    return zlib.crc32(json.dumps(rest, sort_keys=True).encode())


def read_text(
    path: Path,
    limit: int = DOCUMENT,
    encoding: str = "utf-8",
    errors: str = "strict",
    *,
    links: bool = True,
) -> str:
    """The text of a regular file, its line ends as ``\\n``. Raises OSError, UnicodeDecodeError."""
    text = read_bytes(path, limit, links=links).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: Path) -> Any:
    """The contents of a JSON file. Raises OSError, ValueError."""
    try:
        return json.loads(read_text(path))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def open_text(path: Path, *, links: bool = True) -> TextIO:
    """Open a regular file as UTF-8 text, whatever its contents. Raises OSError."""
    file = open_regular(path, LOG, links=links)
    return TextIOWrapper(file, encoding="utf-8", errors="replace")


def lines_of(text: TextIO) -> Iterator[str]:
    """The lines, with their ends; of a longer one than :data:`LINE` the beginning."""
    while line := text.readline(LINE):
        yield line
        while line and not line.endswith("\n"):
            line = text.readline(LINE)


def too_large(limit: int, what: str = "larger") -> UnfitFileError:
    """The error for more than ``limit`` bytes."""
    size = f"{limit >> 30} GiB" if limit >> 30 else f"{limit >> 20} MiB"
    return UnfitFileError(errno.EFBIG, f"{what} than {size}, which no such file is")


def _check(found: os.stat_result, limit: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise UnfitFileError(errno.EINVAL, f"{kind}, not a regular file")
    if found.st_size > limit:
        raise too_large(limit)
