"""Files that may be packed by gzip, as people send traces and logs."""

from __future__ import annotations

import gzip
import zlib
from io import BufferedIOBase, BufferedReader, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING

from xladoctor.regular_files import LOG, MESSAGE, open_regular

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PACKED = ".gz"
_MAGIC = b"\x1f\x8b"
HEAD = 1 << 12


class Unpacked(RawIOBase):
    """A regular file, unpacked as it is read if it is packed, whatever its name.

    A packed one ends where it is damaged, or where it unpacks to more than any such file has.

    Attributes:
        damage: what was wrong there, once it was read.

    Raises OSError.
    """

    def __init__(self, path: Path, limit: int = LOG) -> None:
        file = open_regular(path, limit)
        self._packed = file.peek(len(_MAGIC))[: len(_MAGIC)] == _MAGIC
        self._file = file
        self._source: BufferedIOBase = gzip.GzipFile(fileobj=file) if self._packed else file
        self._read = 0
        self.damage: str | None = None

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill a part of the buffer; 0 at the end. Raises OSError, but not for damage."""
        if self.damage:
            return 0
        try:
            count: int = self._source.readinto1(buffer)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.damage = f"cannot be unpacked beyond byte {self._read} ({error})"
            return 0
        self._read += count
        if self._packed and self._read > MESSAGE:
            self.damage = f"unpacks to more than {MESSAGE >> 30} GiB; the rest is left out"
            return 0
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def head_of(path: Path, longest: int = HEAD) -> bytes:
    """How a file begins, unpacked; empty where it cannot be. Raises OSError."""
    with Unpacked(path) as file, BufferedReader(file, longest) as whole:
        return whole.read(longest)
