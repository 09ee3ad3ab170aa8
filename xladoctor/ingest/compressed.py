"""Opens files as people send them: compressed by gzip, or damaged by a conversion to text."""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from io import BufferedIOBase, BufferedReader, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING

from xladoctor.regular_files import LOG, MESSAGE, open_regular

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PACKED = ".gz"
#: Times its size that a file may unpack to, beyond a size that is always allowed. Real timelines
#: and logs unpack to 10 to 40 times.
_RATIO, _UNBOUNDED = 100, 1 << 24
_MAGIC = b"\x1f\x8b"
HEAD = 1 << 12
#: The message about a file for which :func:`is_spoilt` is true.
SPOILT = (
    "was converted to text, which replaced most of its bytes by EF BF BD: they are lost. Copy the"
    " original as a binary file (scp, rsync, gsutil cp, an archive), not through an editor, the"
    " clipboard or a form"
)
_REPLACEMENT = b"\xef\xbf\xbd"  # U+FFFD in UTF-8
_SPOILT = 0.02  # share of replaced bytes above which a file was converted


class Unpacked(RawIOBase):
    """A regular file, decompressed as it is read if it is gzip, whatever its name.

    A compressed file ends where it is damaged, or where it exceeds the size of any real file.

    Attributes:
        damage: what was wrong at that point, once it has been read.

    Raises OSError.
    """

    def __init__(self, path: Path, limit: int = LOG) -> None:
        file = open_regular(path, limit)
        self._packed = file.peek(len(_MAGIC))[: len(_MAGIC)] == _MAGIC
        self._file = file
        self._source: BufferedIOBase = gzip.GzipFile(fileobj=file) if self._packed else file
        self._read = 0
        self._most = min(MESSAGE, max(_UNBOUNDED, _RATIO * os.fstat(file.fileno()).st_size))
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
        if self._packed and self._read > self._most:
            self.damage = f"unpacks to more than {self._most >> 20} MiB; the rest is left out"
            return 0
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def is_spoilt(head: bytes) -> bool:
    """Whether a binary file that starts with ``head`` was converted to UTF-8."""
    count = head.count(_REPLACEMENT)
    if not count or len(_REPLACEMENT) * count < _SPOILT * len(head):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return True


def head_of(path: Path, longest: int = HEAD) -> bytes:
    """The beginning of a file, decompressed; empty if that fails. Raises OSError."""
    with Unpacked(path) as file, BufferedReader(file, longest) as whole:
        return whole.read(longest)
