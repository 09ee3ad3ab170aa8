"""The log to which the framework appends a block for each compilation, kept bounded."""

from __future__ import annotations

import os

_PART = 6_000_000  # bytes, about a thousand compilations
_PARTS = 2  # full parts that are kept


class CompilationLog:
    """Measures the log and moves full parts aside, keeping the first and the newest.

    The framework reopens the file for each block.
    """

    def __init__(self, path: str | None = None) -> None:
        """``path``: the file; None if there is no such log."""
        self._path = path
        self._begin = 0  # bytes in earlier parts
        self._parts: list[int] = []

    def size(self) -> int:
        """Bytes logged so far, including earlier parts."""
        return self._begin + self._current()

    def _current(self) -> int:
        try:
            return os.stat(self._path).st_size if self._path else 0
        except OSError:
            return 0

    def rotate(self) -> None:
        """Move a full log aside, to a file named after the number of bytes before it."""
        if self._path is None or self._current() < _PART:
            return
        part = self._part(self._begin)
        os.rename(self._path, part)
        self._parts.append(self._begin)
        self._begin += os.stat(part).st_size
        if len(self._parts) > _PARTS:
            os.remove(self._part(self._parts.pop(1)))

    def _part(self, begin: int) -> str:
        stem, ending = os.path.splitext(self._path or "")
        return f"{stem}-{begin}{ending}"
