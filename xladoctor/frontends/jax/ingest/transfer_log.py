"""Reads the implicit transfers that JAX's transfer guard logs, or refuses with an error.

With ``jax.transfer_guard("log")`` the runtime logs each transfer, without a line; with
``"disallow"`` the error's traceback has the line. A logged transfer of the same array is attributed
to that line. Wording: ``guard_lib.cc`` and ``py_array.cc`` in XLA's ``python`` folder.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from xladoctor.ingest.compiler_log import CompilerLog
from xladoctor.ingest.frames import NOWHERE, TRACED, CallSite, Folders, Frame
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import ProcessRows

FRONTEND = "jax"
_TRANSFER = re.compile(r"(Disallowed )?(host|device)-to-(host|device) transfer: ?(.*)")
#: The array: ``aval=ShapedArray(float32[8,64], weak_type=True)``, or if it is on a device,
#: ``shape=(8, 64), dtype=F32``.
_AVAL = re.compile(r"aval=\w*\((\w+)\[([^\[\]]*)\]")
_SHAPE = re.compile(r"shape=\(([^()]*)\), dtype=(\w+)")
_DIRECTIONS = {
    ("host", "device"): "to_device",
    ("device", "host"): "to_host",
    ("device", "device"): "between_devices",
}
_MOST_FRAMES = 200
_FOLDERS = Folders.elsewhere(FRONTEND)


@dataclass(slots=True)
class _Transfer:
    direction: str
    dtype: str | None
    shape: tuple[int, ...] | None
    site: CallSite


class TransferLog(CompilerLog):
    """Collects the transfers in the lines of one process."""

    NAME = "the log of JAX's transfer guard"
    LACKING = "JAX's transfer guard names no transfer in it"
    MARKS = ("-to-device transfer: ", "-to-host transfer: ", "Traceback (most recent call last)")

    def __init__(self) -> None:
        self._transfers: list[_Transfer] = []
        self._open: deque[Frame] | None = None  # frames of an open traceback
        self._placeless = False  # the last transfer was refused, with no traceback before it

    @property
    def has_records(self) -> bool:
        """Whether the log has a transfer."""
        return bool(self._transfers)

    def take(self, line: str) -> bool:
        """Take a line; False if it is not part of the log.

        The lines of a traceback are read, but left to other readers, too.
        """
        if match := _TRANSFER.search(line):
            frames, self._open = self._open if match[1] else None, None
            self._add(match, _FOLDERS.locate(reversed(frames)) if frames else NOWHERE)
            self._placeless = bool(match[1]) and not frames
            return True
        if self.MARKS[-1] in line:
            self._open = deque(maxlen=_MOST_FRAMES)
        elif self._open is not None and (frame := TRACED.match(line)):
            self._open.append(Frame(frame[1], int(frame[2]), frame[3]))
        elif self._open is not None and not line[:1].isspace():
            self._close()
        return False

    def _close(self) -> None:
        """Finish a traceback, which may belong to the error printed before it."""
        if self._open and self._placeless:
            self._transfers[-1].site = _FOLDERS.locate(reversed(self._open))
        self._open, self._placeless = None, False

    def _add(self, match: re.Match[str], site: CallSite) -> None:
        aval, shaped = _AVAL.search(match[4]), _SHAPE.search(match[4])
        dtype, sizes = aval.groups() if aval else shaped.groups()[::-1] if shaped else (None, None)
        sizes = sizes if sizes is not None and re.fullmatch(r"[\d, ]*", sizes) else None
        shape = None if sizes is None else tuple(map(int, re.findall(r"\d{1,18}", sizes)))
        direction = _DIRECTIONS.get((match[2], match[3]), "to_host")
        self._transfers.append(_Transfer(direction, dtype, shape, site))

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Fill ``transfer``."""
        self._close()
        placed = [each for each in self._transfers if each.site is not NOWHERE]
        sites = {(each.dtype, each.shape): each.site for each in placed}
        for each in self._transfers:
            site = sites.get((each.dtype, each.shape), each.site)
            rows.add(
                "transfer",
                thread=None,
                step=None,
                direction=each.direction,
                shape=None if each.shape is None else [*each.shape],
                dtype=each.dtype,
                **site.columns(),
            )
        return FRONTEND
