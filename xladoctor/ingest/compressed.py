"""Files that may be packed by gzip, as people send traces and logs."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from pathlib import Path
from typing import BinaryIO

PACKED = ".gz"
_MAGIC = b"\x1f\x8b"
_HEAD = 1 << 12
_BLOCK = 1 << 18


def is_packed(path: Path) -> bool:
    """Whether a file is packed, whatever its name. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def head_of(path: Path) -> bytes:
    """How a file begins, unpacked; empty where it cannot be. Raises OSError."""
    with opened(path) as file:
        try:
            return file.read1(_HEAD)  # type: ignore[attr-defined, no-any-return]
        except (EOFError, zlib.error):
            return b""


def opened(path: Path) -> BinaryIO:
    """The file, unpacked as it is read. Raises OSError.

    Reading on where a packed file is damaged raises EOFError, OSError or zlib.error.
    """
    return gzip.open(path) if is_packed(path) else path.open("rb")  # type: ignore[return-value]


def unpacked(path: Path) -> tuple[BinaryIO, str | None]:
    """A file without a name that holds what is packed in this one, and what is wrong with it.

    It takes room where temporary files lie, and vanishes when the caller closes it. What lies
    before the damage of a damaged file is there. Raises OSError.
    """
    target = tempfile.TemporaryFile()  # noqa: SIM115
    with gzip.open(path) as source:
        try:
            while block := source.read1(_BLOCK):  # read() would lose what lies before damage
                target.write(block)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            target.flush()
            size = os.fstat(target.fileno()).st_size
            return target, f"cannot be unpacked beyond byte {size} ({error})"
    target.flush()
    return target, None
