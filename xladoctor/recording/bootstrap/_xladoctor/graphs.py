"""The graphs as they were before a compiler optimized them, for the compiler of another device.

What was optimized for one device cannot be compiled for another any more. A frontend hands a graph
over when it is compiled; the writer's thread compresses it, writes it, and logs the fact.
"""

from __future__ import annotations

import os
import re
import zlib
from typing import Any, Callable

from .facts import KeptGraph
from .files import replace_file
from .recorder import Recorder
from .step import ThreadState

_MOST = 64  # files; thousands of compilations are a fault of the program, and much alike
_MOST_BYTES = 64_000_000  # of one, uncompressed: a million operations, which nobody compiles
_LEVEL = 3  # of zlib: 30 MB a second; the highest one makes files a tenth smaller
_GZIP = 31
_UNNAMED = re.compile(r"[^\w.-]+", re.ASCII)


class Graphs:
    """Keeps graphs in a folder, within a limit.

    Attributes:
        why_none: why none are kept; None if they are.
        left_out: how many were left out for the limits.
        before_end: called before the last ones are written.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        #: Changed by a frontend that hands graphs over.
        self.supported = False
        self.before_end: Callable[[], None] = lambda: None
        self.reset()

    def reset(self) -> None:
        """Keep none, until there is a folder."""
        self._folder: str | None = None
        self._limit = self._written = self._number = 0
        self._known = set[int]()
        self._waiting: list[tuple[int, bytes, dict[str, Any]]] = []
        self.left_out = 0

    def keep(self, folder: str, limit: int) -> None:
        """Keep graphs in a folder from now on, at most ``limit`` bytes."""
        self.reset()
        self._folder, self._limit = folder, limit

    @property
    def why_none(self) -> str | None:
        if self._limit == 0:
            return "--graph-bytes 0 asks for none"
        return None if self.supported else "the capture of this framework keeps none"

    @property
    def wanted(self) -> bool:
        """Whether there is room for another one."""
        return self._folder is not None and self._written < self._limit and self._number < _MOST

    @property
    def folder(self) -> str | None:
        """The process's folder, unless no graphs are wanted."""
        return self._folder if self._limit > 0 else None

    def leave_out(self) -> None:
        """Count a graph for which there is no room."""
        self.left_out += self._folder is not None and self._limit > 0

    def add(self, state: ThreadState, content: bytes, **fields: Any) -> None:
        """Keep a graph.

        Args:
            content: StableHLO in MLIR's bytecode, without values of tensors.
            fields: of :class:`~.facts.KeptGraph`, except where it is kept.
        """
        known = zlib.crc32(content)
        if known in self._known:
            return
        if not self.wanted or len(content) > _MOST_BYTES:
            self.leave_out()
            return
        self._known.add(known)
        self._number += 1
        fields = {"thread": state.id, "step": state.index, "bytes": len(content), **fields}
        self._waiting.append((self._number, content, fields))

    def write(self) -> None:
        """Write what waits. Called four times a second, and at the end."""
        while self._waiting and self._folder is not None:
            number, content, fields = self._waiting.pop(0)
            packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
            packed = packer.compress(content) + packer.flush()
            if self._written + len(packed) > self._limit:
                self.left_out += 1
                continue
            self._written += len(packed)
            called = _UNNAMED.sub("_", fields.get("name") or "step")[:60]
            file = f"graph-{number}-{called}.mlirbc.gz"
            replace_file(os.path.join(self._folder, file), packed)
            kept_as = f"{os.path.basename(self._folder)}/{file}"
            self._recorder.log_fact(KeptGraph(kept_as=kept_as, **fields))
