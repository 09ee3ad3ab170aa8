"""What the readers return: columns, and how complete they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xladoctor.errors import XladoctorError

#: Column name -> one value a row; None where a value is unknown.
Columns = dict[str, list[Any]]


class IngestError(XladoctorError):
    """Evidence that cannot be read: names the path, the position and what was expected."""


@dataclass(slots=True)
class Ingested:
    """Rows for the evidence tables, with what could not be read.

    Attributes:
        tables: table name -> columns. A table that is present here was *looked for and readable*,
            even without a row; one that is absent could not be judged.
        notes: what was cut, skipped or unreadable, each with path and position.
        folders: where the program's Python keeps the standard library and installed packages.
    """

    tables: dict[str, Columns] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def table(self, name: str) -> Columns:
        """The columns of a table, which from now on counts as looked for."""
        return self.tables.setdefault(name, {})

    def add(self, table: str, /, **values: Any) -> None:
        """Append one row; its keys are the table's columns, the same in each call."""
        columns = self.table(table)
        for column, value in values.items():
            columns.setdefault(column, []).append(value)
