"""Reads the files that patches are for: inside the project, unchanged since the run, text."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable
from pathlib import Path

from xladoctor.fixes.interface import FixError, Refused, sha256_of
from xladoctor.fixes.source import Source
from xladoctor.repository import from_here, installed

_LARGEST = 4_000_000  # bytes; larger files are generated


class Files:
    """The files of a project.

    Args:
        root: the project's folder.
        is_unchanged: whether a file is as it was when the program ran.
        parse: makes a source of a file's text.
    """

    def __init__(
        self,
        root: Path,
        is_unchanged: Callable[[Path], bool],
        parse: Callable[[Path, str], Source] = Source,
    ) -> None:
        self._root = root.resolve()
        self._is_unchanged = is_unchanged
        self._parse = parse
        self._sources: dict[Path, Source | Refused] = {}
        self._hashes: dict[Path, str] = {}

    def sha256(self, file: Path) -> str:
        """The hash of a file that was read."""
        return self._hashes[file]

    def source(self, file: Path) -> Source:
        """A file, parsed.

        Raises:
            Refused: it must not or cannot be changed.
        """
        if file not in self._sources:
            try:
                self._sources[file] = self._read(file)
            except Refused as refused:
                self._sources[file] = refused
        found = self._sources[file]
        if isinstance(found, Refused):
            raise found
        return found

    def _read(self, file: Path) -> Source:
        shown = from_here(file)
        if installed(str(file)):
            raise Refused(f"{file.name} is of an installed package: change the call instead")
        if file.suffix == ".ipynb" or file.name.startswith("<ipython"):
            raise Refused("it is in a notebook: change the cell by hand")
        if file.suffix != ".py":
            raise Refused(f"{shown} is not a Python file")
        if not file.resolve().is_relative_to(self._root):
            raise Refused(f"{shown} is outside of the project ({from_here(self._root)})")
        raw = self._bytes(file)
        text = _decoded(raw, file)
        if not self._is_unchanged(file):
            raise Refused(f"{shown} has changed since the run: run the program again")
        self._hashes[file] = sha256_of(raw)
        return self._parse(file, text)

    @staticmethod
    def _bytes(file: Path) -> bytes:
        try:
            if not file.is_file():
                raise Refused(f"{from_here(file)} no longer exists")
            if file.stat().st_size > _LARGEST:
                raise Refused(f"{from_here(file)} has more than {_LARGEST // 1_000_000} MB")
            return file.read_bytes()
        except OSError as error:
            raise Refused(f"{from_here(file)} cannot be read: {error.strerror}") from error


def read_again(file: Path, sha256: str) -> str:
    """The text of a file of which the hash is known.

    Raises:
        FixError: it is another one now, or cannot be read.
    """
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise FixError(f"{from_here(file)} cannot be read: {error.strerror}") from error
    if sha256_of(raw) != sha256:
        raise FixError(f"{from_here(file)} has changed meanwhile", "run the command again")
    return _decoded(raw, file)


def _decoded(raw: bytes, file: Path) -> str:
    """The text of a file, with its byte-order mark if it has one."""
    shown = from_here(file)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode("utf-8")
        if raw.decode(encoding.removesuffix("-sig")) != text:
            raise Refused(f"{shown} is encoded as {encoding}, and not all of it is ASCII")
    except SyntaxError as error:
        raise Refused(f"{shown} does not say how it is encoded: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise Refused(f"{shown} is not UTF-8 (byte {error.start})") from error
    return text
