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
#: - a list with one value per row, None where unknown;
#: - a NumPy array of numbers or booleans, which is read in place (``np.broadcast_to`` makes one of
#:   a constant without memory); NaN means unknown;
#: - a ``np.ma.MaskedArray`` of them, masked where unknown;
#: - :class:`Interned` texts;
#: - an ``array`` of whole numbers, or :class:`~xladoctor.ingest.gathered.Repeated` values.
Columns = dict[str, Any]


class IngestError(XladoctorError):
    """Evidence that cannot be read: names the path, the position and what was expected."""


class Progress(Protocol):
    """Told how far a large file has been read; :meth:`start` and :meth:`done` alternate."""

    def start(self, total_bytes: int, label: str) -> None:
        """A file of this size, labelled for people, is about to be read."""

    def advance(self, count: int) -> None:
        """``count`` more bytes were read."""

    def done(self) -> None:
        """The file was read, or given up on."""


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
            even if empty; one that is absent could not be judged.
        batches: more rows of these tables, as given to :meth:`append`.
        lazy: table name -> functions that return its columns, one for each process. For tables too
            large to make unasked; such a table is in neither of the two above.
        notes: what was cut, skipped or unreadable, each with path and position.
        lost: those notes that leave too much of what the program did unknown.
        cut: tables that lack rows which were recorded, each with the first note that says so.
    """

    tables: dict[str, Columns] = field(default_factory=dict)
    batches: list[tuple[str, Columns]] = field(default_factory=list)
    lazy: dict[str, list[Callable[[], Columns]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    cut: dict[str, str] = field(default_factory=dict)

    def lose(self, note: str, *tables: str) -> None:
        """Note that a part of what the program did is not in the tables.

        Args:
            tables: those that had rows of it once. Rules that look at them and find nothing have
                not been evaluated.
        """
        self.notes.append(note)
        self.lost.append(note)
        for table in tables:
            self.cut.setdefault(table, note)

    def table(self, name: str) -> Columns:
        """The columns of a table, which counts as looked for from now on."""
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
