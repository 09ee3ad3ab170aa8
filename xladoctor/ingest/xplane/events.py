"""Events and their stats as columns."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from xladoctor.ingest.xplane import wire

DENSE = 1 << 20  # metadata ids below this are looked up in a table, others searched for
_NONE = np.iinfo(np.int64).min
KINDS = {wire.DOUBLE: "double", wire.UINT64: "uint64", wire.INT64: "int64", wire.STR: "str",
         wire.BYTES: "bytes", wire.REF: "ref", wire.COMPRESSED: "str"}  # fmt: skip


@dataclass(slots=True)
class Stats:
    """A row for each stat, in the order of the events.

    Attributes:
        rows: int64, columns (event, name, kind, value, length). The event is its number in the
            file; the name the metadata id while decoding, then the index of the name; the kind the
            field number of the value in XStat; the value an integer, the bits of a double, the
            position of a text in the file, or, of a reference, the index of the name that it
            resolves to, -1 for none; the length that of a text in bytes.
    """

    rows: wire.Array

    @property
    def event(self) -> wire.Ints:
        """Number of the event."""
        return self.rows[:, 0]

    @property
    def name(self) -> wire.Ints:
        """Index of the stat's name."""
        return self.rows[:, 1]

    @property
    def kind(self) -> wire.Ints:
        """Kind of the value."""
        return self.rows[:, 2]

    @property
    def value(self) -> wire.Ints:
        """The value, as described above."""
        return self.rows[:, 3]

    @property
    def length(self) -> wire.Ints:
        """Bytes of a text."""
        return self.rows[:, 4]

    def grown(self, rows: int) -> Stats:
        """The same rows with room for ``rows``; pages that are not filled cost no memory."""
        larger = np.empty((rows, 5), np.int64)
        larger[: len(self.rows)] = self.rows
        return Stats(larger)

    def select(self, which: Any) -> Stats:
        """Some of the rows: by slice, mask or numbers."""
        return Stats(self.rows[which])

    def name_rows(self, rows: slice, texts: dict[int, int], intern: Callable[[str], int]) -> None:
        """Replace the metadata ids of a plane's rows, and its references, by indices of names."""
        kind, name, value = self.kind[rows], self.name[rows], self.value[rows]
        stats = np.flatnonzero(kind < wire.NAMELESS)
        name[stats] = _translated(name[stats], texts, lambda key: intern(f"#{key}"))
        references = np.flatnonzero(kind == wire.REF)
        value[references] = _translated(value[references], texts, lambda key: -1)


def _translated(
    ids: wire.Ints, indices: dict[int, int], missing: Callable[[int], int]
) -> wire.Ints:
    """The index of each id; what has none gets that of ``missing``."""
    table = np.zeros(0, np.int64)
    if indices and min(indices) >= 0 and max(indices) < DENSE:
        table = np.full(max(indices) + 1, _NONE, np.int64)
        table[list(indices)] = list(indices.values())
    small = (ids >= 0) & (ids < len(table))
    found = np.full(len(ids), _NONE, np.int64)
    found[small] = table[ids[small]]
    rest = np.flatnonzero(found == _NONE)
    distinct, where = np.unique(ids[rest], return_inverse=True)
    others = [indices[i] if i in indices else missing(i) for i in distinct.tolist()]
    found[rest] = np.array(others, np.int64)[where]
    return found


@dataclass(slots=True)
class Events:
    """All events of a file, line after line.

    Attributes:
        names: texts that ``name`` and references point to.
        name: int32, index of the event's name.
        start_ps: int64, from the origin of the event's line.
        duration_ps: int64.
        stats: rows for the stats that were asked for.
        buffer: the file, for texts.
        occurrences: number of events that an event sums up, by its number, where it does.
    """

    names: list[str]
    name: wire.Array
    start_ps: wire.Ints
    duration_ps: wire.Ints
    stats: Stats
    buffer: wire.Array
    occurrences: dict[int, int] | None = None

    def settle(self, interned: dict[str, int]) -> None:
        """Take what is no stat out of the rows: names without metadata, numbers of occurrences."""
        stats = self.stats
        apart = stats.kind >= wire.NAMELESS
        self.occurrences = {}
        if not apart.any():
            return
        for event, kind, value in zip(*(column[apart].tolist() for column in (
            stats.event, stats.kind, stats.value)), strict=True):  # fmt: skip
            if kind == wire.OCCURRENCES:
                self.occurrences[event] = value
            else:
                self.name[event] = interned.setdefault(f"#{value}", len(interned))
        self.names = list(interned)
        self.stats = stats.select(~apart)

    def index(self, name: str) -> int:
        """The index of a name; -2 where no event or stat has it."""
        return self.names.index(name) if name in self.names else -2

    def text(self, kind: int, position: int, length: int) -> str:
        """A text of the file; one that cannot be unpacked is empty."""
        data = self.buffer[position : position + length].tobytes()
        if kind == wire.COMPRESSED:
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError, zlib.error):
                data = b""
        return data.decode(errors="replace")

    def add_name(self, text: str) -> int:
        """The index of a text, which is added to the names if it is new."""
        if text not in self.names:
            self.names.append(text)
        return self.names.index(text)

    def interned(self, rows: Stats) -> wire.Ints:
        """The index in ``names`` of each row's text (-1 for none); new texts are added to them."""
        found = np.where(rows.kind == wire.REF, rows.value, -1)
        known = {name: index for index, name in enumerate(self.names)}
        for row in np.flatnonzero(
            (rows.kind == wire.STR) | (rows.kind == wire.COMPRESSED)
        ).tolist():
            text = self.text(*rows.rows[row, 2:].tolist())
            found[row] = known.setdefault(text, len(known))
        self.names = list(known)
        return found

    def rows_of(self, stat: str) -> Stats:
        """The rows of one stat."""
        return self.stats.select(self.stats.name == self.index(stat))
