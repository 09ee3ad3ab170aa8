"""The readers' results: columns, and how complete they are."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from xladoctor.errors import XladoctorError

if TYPE_CHECKING:
    import numpy as np

#: Column name -> its values, in one of these forms:
#:
#: - a list with one value per row, None if unknown;
#: - a NumPy array of numbers or booleans, which is read in place (``np.broadcast_to`` makes one of
#:   a constant without memory); NaN means unknown;
#: - a ``np.ma.MaskedArray`` of them, masked if unknown;
#: - :class:`Interned` texts;
#: - an ``array`` of whole numbers, or :class:`~xladoctor.ingest.gathered.Repeated` values.
Columns = dict[str, Any]


_MOST_NOTES = 200  # on losses; a damaged log may have one in each line


class IngestError(XladoctorError):
    """Evidence that cannot be read; the message has the path, position and what was expected."""


class Progress(Protocol):
    """Receives how far a large file has been read; :meth:`start` and :meth:`done` alternate."""

    def start(self, total_bytes: int, label: str) -> None:
        """Called before a file of this size is read; ``label`` is for people."""

    def advance(self, count: int) -> None:
        """Called when ``count`` more bytes have been read."""

    def done(self) -> None:
        """Called when the file has been read, or cannot be."""


class Notes(Protocol):
    """Takes notes on what was cut, skipped or unreadable."""

    @property
    def notes(self) -> list[str]:
        """All notes so far, each with path and position."""

    def lose(self, note: str, *tables: str) -> None:
        """Note that part of what the program did is missing from the tables.

        Args:
            note: what is missing, with its path and position.
            tables: the tables that lack rows. Rules that query them and find nothing count as not
                evaluated.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Interned:
    """A column of texts that repeat.

    Attributes:
        codes: for each row the index of its text; -1 if it is unknown.
        texts: the distinct texts.
    """

    codes: np.ndarray[Any, np.dtype[np.int32]]
    texts: list[str]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(slots=True)
class Losses:
    """What could not be read. See :class:`Notes`.

    Attributes:
        notes: what was cut, skipped or unreadable, each with path and position.
        lost: the notes on losses that leave too much of what the program did unknown.
        more_lost: how many more losses there are, which have no notes.
        cut: tables that lack recorded rows, each with the first note that says so.
    """

    notes: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    more_lost: int = 0
    cut: dict[str, str] = field(default_factory=dict)

    def lose(self, note: str, *tables: str) -> None:
        """See :class:`Notes`."""
        if len(self.lost) < _MOST_NOTES:
            self.notes.append(note)
            self.lost.append(note)
        else:
            self.more_lost += 1
        for table in tables:
            self.cut.setdefault(table, note)


@dataclass(slots=True)
class Ingested(Losses):
    """Rows for the evidence tables, with what could not be read.

    Attributes:
        tables: table name -> columns. A table that is present was *recorded and readable*, even if
            it is empty; an absent one was not, so that nothing follows from its absence.
        batches: more rows of these tables, as given to :meth:`append`.
        lazy: table name -> functions that return its columns, one for each process. For tables too
            large to build unless queried; such a table is in neither of the two above.
    """

    tables: dict[str, Columns] = field(default_factory=dict)
    batches: list[tuple[str, Columns]] = field(default_factory=list)
    lazy: dict[str, list[Callable[[], Columns]]] = field(default_factory=dict)

    def table(self, name: str) -> Columns:
        """The columns of a table, which from now on counts as recorded, even if empty."""
        return self.tables.setdefault(name, {})

    def add(self, table: str, /, **values: Any) -> None:
        """Append one row; its keys are the table's columns, the same in each call."""
        columns = self.table(table)
        for column, value in values.items():
            columns.setdefault(column, []).append(value)

    def append(self, table: str, columns: Columns) -> None:
        """Append many rows at once, given as columns, which may differ from call to call."""
        self.table(table)
        self.batches.append((table, columns))

    def of(self, process: int) -> ProcessRows:
        """The rows of one process, by its number."""
        return ProcessRows(process, self)


@dataclass(frozen=True, slots=True)
class ProcessRows:
    """The rows of one process, which its readers add.

    Attributes:
        process: its number in the tables.
        ingested: the rows of all processes.
    """

    process: int
    ingested: Ingested

    @property
    def notes(self) -> list[str]:
        """See :class:`Notes`."""
        return self.ingested.notes

    def lose(self, note: str, *tables: str) -> None:
        """See :class:`Notes`."""
        self.ingested.lose(note, *tables)

    def table(self, *names: str) -> None:
        """Have tables count as recorded, even if they are empty."""
        for name in names:
            self.ingested.table(name)

    def add(self, table: str, /, **values: Any) -> None:
        """Append one row; its keys are the table's other columns, the same in each call."""
        self.ingested.add(table, process=self.process, **values)

    def extend(self, table: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Append rows to those that were added one by one, given as the table's other columns."""
        into, count = self.ingested.table(table), len(next(iter(columns.values())))
        for name, values in {"process": [self.process] * count, **columns}.items():
            into.setdefault(name, []).extend(values)

    def append(self, table: str, columns: Columns) -> None:
        """Append many rows at once, given as the table's other columns."""
        count = len(next(iter(columns.values())))
        self.ingested.append(table, {"process": array("q", [self.process]) * count, **columns})

    def of(self, table: str, *names: str) -> Iterator[tuple[Any, ...]]:
        """The rows that were added one by one, as tuples of these columns."""
        columns = self.ingested.tables.get(table, {})
        rows = zip(*(columns.get(name, ()) for name in ("process", *names)), strict=True)
        return (row[1:] for row in rows if row[0] == self.process)
