"""The compiled modules, written as each is compiled: executables may be gone a moment later.

The file is a timeline without events (an XSpace), as ``..modules`` writes. Appending to a protobuf
message extends it, so each module is appended as a plane of its own, ``/host:metadata``, with one
entry of event metadata whose statistic ``Hlo Proto`` is the module.
"""

from __future__ import annotations

import os
import threading

from ..framework import KeptModules

_NAME = "modules.xplane.pb"
_STATISTIC = 1  # the id of ``Hlo Proto`` in each plane


class Modules(KeptModules):
    """Kept in memory until there is a folder."""

    def __init__(self) -> None:
        super().__init__()
        self._folder: str | None = None
        self._limit = 0
        self._written = 0
        self._lock = threading.Lock()
        self._waiting: list[bytes] = []

    def keep(self, folder: str, limit: int) -> None:
        """Write to a folder from now on, at most ``limit`` bytes."""
        with self._lock:
            self._folder, self._limit = folder, limit
            self._written, self.files, self.too_large = 0, [], False

    def add(self, number: int, name: str, module: bytes, assignment: bytes | None = None) -> None:
        """Add a module (HloModuleProto) with the number of its compilation, and what it has in
        memory (BufferAssignmentProto), where that is known.
        """
        with self._lock:
            if self.too_large or self._folder is None:
                return
            whole = _bytes(1, module) + (_bytes(3, assignment) if assignment else b"")
            if self._written + len(whole) > self._limit:
                self.too_large = True
                return
            plane = _plane(number, f"{name}({number})", whole)
            with open(os.path.join(self._folder, _NAME), "ab") as file:
                file.write(plane)
            self._written += len(plane)
            self.files = [
                {"file": _NAME, "compilations": number, "bytes": self._written, "numbered": True}
            ]


def _plane(number: int, name: str, module: bytes) -> bytes:
    """A serialized plane that holds a module (HloProto).

    Fields, from XLA's xplane.proto: XSpace.planes (1); XPlane: name (2), event_metadata (4),
    stat_metadata (5); HloProto: hlo_module (1), buffer_assignment (3); XEventMetadata: id (1), name
    (2), stats (5); XStat: metadata_id (1), bytes_value (6).
    """
    statistic = _number(1, _STATISTIC) + _bytes(6, module)
    entry = _number(1, number) + _bytes(2, name.encode()) + _bytes(5, statistic)
    kind = _number(1, _STATISTIC) + _bytes(2, b"Hlo Proto")
    plane = (
        _bytes(2, b"/host:metadata")
        + _bytes(4, _number(1, number) + _bytes(2, entry))
        + _bytes(5, _number(1, _STATISTIC) + _bytes(2, kind))
    )
    return _bytes(1, plane)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
