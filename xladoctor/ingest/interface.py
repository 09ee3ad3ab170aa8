"""What the readers return: columns, and how complete they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from xladoctor.errors import XladoctorError

if TYPE_CHECKING:
    import numpy as np

#: Column name -> its values, in one of these forms:
#:
#: - a list with one value a row, None where it is unknown;
#: - a NumPy array of numbers or booleans, which is read in place (``np.broadcast_to`` makes one of
#:   a constant without memory); NaN is an unknown value;
#: - a ``np.ma.MaskedArray`` of them, whose masked values are unknown;
#: - :class:`Interned` texts.
Columns = dict[str, Any]


class IngestError(XladoctorError):
    """Evidence that cannot be read: names the path, the position and what was expected."""


class Progress(Protocol):
    """Told how far the reading of a large file is; :meth:`start` and :meth:`done` in turns."""

    def start(self, total_bytes: int, label: str) -> None:
        """A file of that size, named for people, is going to be read."""

    def advance(self, count: int) -> None:
        """So many bytes more were read."""

    def done(self) -> None:
        """The file was read, or given up."""


@dataclass(frozen=True, slots=True, eq=False)
class Interned:
    """A column of texts that repeat.

    Attributes:
        codes: for each row the position of its text, from 0; -1 where it is unknown.
        texts: the texts.
    """

    codes: np.ndarray[Any, np.dtype[np.int32]]
    texts: list[str]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(slots=True)
class Ingested:
    """Rows for the evidence tables, with what could not be read.

    Attributes:
        tables: table name -> columns. A table that is present here was *looked for and readable*,
            even without a row; one that is absent could not be judged.
        batches: more rows of these tables, as :meth:`append` was given them.
        lazy: table name -> functions that return its columns, one for each process. For tables that
            are too large to be made unasked; such a table is in none of the two above.
        notes: what was cut, skipped or unreadable, each with path and position.
        lost: those of them without which the rest says too little of what the program did.
        folders: where the program's Python keeps the standard library and installed packages.
    """

    tables: dict[str, Columns] = field(default_factory=dict)
    batches: list[tuple[str, Columns]] = field(default_factory=list)
    lazy: dict[str, list[Callable[[], Columns]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def lose(self, note: str) -> None:
        """Note that a part of what the program did is not in the tables."""
        self.notes.append(note)
        self.lost.append(note)

    def table(self, name: str) -> Columns:
        """The columns of a table, which from now on counts as looked for."""
        return self.tables.setdefault(name, {})

    def add(self, table: str, /, **values: Any) -> None:
        """Append one row; its keys are the table's columns, the same in each call."""
        columns = self.table(table)
        for column, value in values.items():
            columns.setdefault(column, []).append(value)

    def append(self, table: str, columns: Columns) -> None:
        """Append many rows at once, given as columns; each call may give others."""
        self.table(table)
        self.batches.append((table, columns))
