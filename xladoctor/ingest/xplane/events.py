"""Events and their stats as columns."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xladoctor.ingest.xplane import wire

KINDS = {
    wire.DOUBLE: "double",
    wire.UINT64: "uint64",
    wire.INT64: "int64",
    wire.STR: "str",
    wire.BYTES: "bytes",
    wire.REF: "ref",
    wire.COMPRESSED: "str",
}
_TEXTS = (wire.STR, wire.COMPRESSED)


@dataclass(frozen=True, slots=True)
class Stats:
    """One row per stat, in the order of the events.

    Attributes:
        event: int32, number of its event in the file.
        name: int32, index of its name.
        kind: uint8, field number of the value in XStat.
        value: int64: an integer, the bits of a double, the position of a text's length in the
            file, or the index of the name referred to; -1 for none.
    """

    event: wire.Array
    name: wire.Array
    kind: wire.Array
    value: wire.Ints

    @classmethod
    def empty(cls, rows: int) -> Stats:
        """Room for this many rows; pages never written cost no memory."""
        return cls(
            np.empty(rows, np.int32),
            np.empty(rows, np.int32),
            np.empty(rows, np.uint8),
            np.empty(rows, np.int64),
        )

    @classmethod
    def joined(cls, parts: Sequence[Stats]) -> Stats:
        """All rows, part after part."""
        if len(parts) == 1:
            return parts[0]
        columns = zip(*(part.columns for part in (cls.empty(0), *parts)), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    @property
    def columns(self) -> tuple[wire.Array, wire.Array, wire.Array, wire.Ints]:
        """All columns, in the order of the attributes."""
        return self.event, self.name, self.kind, self.value

    def select(self, which: Any) -> Stats:
        """Some of the rows: by slice, mask or numbers."""
        return Stats(*(column[which] for column in self.columns))


@dataclass(slots=True)
class Events:
    """All events of a file, line after line.

    Attributes:
        names: texts that ``name`` and references point to.
        name: int32, index of the event's name.
        start_ps: int64, from the origin of the event's line.
        duration_ps: int64.
        parts: rows for the requested stats, in parts.
        buffer: the file, for texts.
        occurrences: for events that sum up several: how many, by the event's number.
    """

    names: list[str]
    name: wire.Array
    start_ps: wire.Ints
    duration_ps: wire.Ints
    parts: list[Stats]
    buffer: wire.Array
    occurrences: dict[int, int] = field(default_factory=dict)
    _positions: dict[str, int] = field(default_factory=dict)  # index by name; names only grow

    def settle(self) -> None:
        """Move rows that are not stats out of the parts: ids without a name, and occurrences."""
        interned = {name: index for index, name in enumerate(self.names)}
        for number, part in enumerate(self.parts):
            apart = np.flatnonzero(part.kind >= wire.NAMELESS)
            for row in apart.tolist():
                event, kind, value = (
                    int(column[row]) for column in (part.event, part.kind, part.value)
                )
                if kind == wire.OCCURRENCES:
                    self.occurrences[event] = value
                    continue
                index = interned.setdefault(f"#{value}", len(interned))
                if kind == wire.NAMELESS:
                    self.name[event] = index
                else:
                    part.name[row - 1] = index
            if len(apart):
                self.parts[number] = part.select(part.kind < wire.NAMELESS)
        self.names = list(interned)

    @property
    def stats(self) -> Stats:
        """The rows of all parts."""
        return Stats.joined(self.parts)

    def rows_of(self, stat: str) -> Stats:
        """The rows of one stat."""
        index = self.index(stat)
        return Stats.joined(
            [part.select(np.flatnonzero(part.name == index)) for part in self.parts]
        )

    def index(self, name: str) -> int:
        """The index of a name; -2 if no event or stat has it."""
        if len(self._positions) < len(self.names):
            self._positions = {name: index for index, name in enumerate(self.names)}
        return self._positions.get(name, -2)

    def data(self, position: int) -> bytes:
        """The bytes of a text or bytes value; the position is that of its length."""
        length = shift = 0
        while True:
            byte = int(self.buffer[position])
            length |= (byte & 127) << shift
            position, shift = position + 1, shift + 7
            if byte < 128:
                return self.buffer[position : position + length].tobytes()

    def text(self, kind: int, position: int) -> str:
        """A text of the file; empty if it cannot be decompressed."""
        data = self.data(position)
        if kind == wire.COMPRESSED:
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError, zlib.error):
                data = b""
        return data.decode(errors="replace")

    def add_name(self, text: str) -> int:
        """The index of a text, added to the names if it is new."""
        index = self.index(text)
        if index < 0:
            index = self._positions[text] = len(self.names)
            self.names.append(text)
        return index

    def interned(self, rows: Stats) -> wire.Ints:
        """The index in ``names`` of each row's text (-1 for none); new texts are added to them."""
        indices = np.where(rows.kind == wire.REF, rows.value, -1)
        known = {name: index for index, name in enumerate(self.names)}
        for row in np.flatnonzero(np.isin(rows.kind, _TEXTS)).tolist():
            text = self.text(int(rows.kind[row]), int(rows.value[row]))
            indices[row] = known.setdefault(text, len(known))
        self.names = list(known)
        return indices
