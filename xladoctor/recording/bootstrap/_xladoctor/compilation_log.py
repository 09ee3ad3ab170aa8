"""The log to which the framework appends a block for each compilation, kept bounded."""

from __future__ import annotations

import os

_PART = 6_000_000  # bytes, some thousand compilations
_PARTS = 2  # kept beside the current one


class CompilationLog:
    """Knows how much was logged; moves full parts aside, keeping the first and the newest.

    The framework opens the file anew for each block.
    """

    def __init__(self, path: str | None = None) -> None:
        """``path``: the file; None if there is no such log."""
        self._path = path
        self._begin = 0  # bytes that lie in earlier parts
        self._parts: list[int] = []

    def size(self) -> int:
        """Bytes so far, including earlier parts."""
        return self._begin + self._current()

    def _current(self) -> int:
        try:
            return os.stat(self._path).st_size if self._path else 0
        except OSError:
            return 0

    def rotate(self) -> None:
        """Begin a new part where the current one is full; named after the bytes before it."""
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
