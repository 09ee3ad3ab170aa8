"""The texts of graphs as they are compiled, to find where two of them differ.

They are appended to one file as members of gzip, each of which can be read alone.
"""

from __future__ import annotations

import os
import threading
import zlib
from typing import Any

_NAME = "computations.gz"
_MOST_BYTES = 64_000_000  # of the file
_LEVEL, _GZIP = 3, 31  # of zlib


class Texts:
    """Keeps texts in the process's folder, within a limit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: str | None = None
        self._written = 0

    def room(self, folder: str | None) -> bool:
        """Whether there is a folder, and room in it."""
        if folder != self._folder:
            self._folder, self._written = folder, 0
        return folder is not None and self._written < _MOST_BYTES

    def keep(self, text: str) -> dict[str, Any]:
        """Keep a text for which there is room.

        Returns where, as fields of a :class:`~.cache_facts.CacheLookup`; none of them if the disk
        is full.
        """
        folder = self._folder or ""
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        packed = packer.compress(text.encode(errors="replace")) + packer.flush()
        try:
            with self._lock, open(os.path.join(folder, _NAME), "ab") as texts:
                at = texts.tell()
                texts.write(packed)
        except OSError:
            self._written = _MOST_BYTES
            return {}
        self._written += len(packed)
        file = f"{os.path.basename(folder)}/{_NAME}"
        return {"text_file": file, "text_at": at, "text_bytes": len(packed)}
