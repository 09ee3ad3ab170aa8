"""The tables and views of the evidence, for ``xladoctor query --schema``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TextIO

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xladoctor.evidence.catalog import views
from xladoctor.evidence.schema import TABLES
from xladoctor.report.interface import Style
from xladoctor.report.text import plain, write


def render(
    names: Sequence[str], available: Collection[str] | None, output: TextIO, style: Style
) -> None:
    """Write the tables and views named, or all: meaning, source, and each column.

    Args:
        names: tables and views that exist.
        available: tables that the evidence at hand has; the others are marked. None: no evidence.
        output: where to write.
        style: width, characters.
    """
    for number, name in enumerate(names or [*TABLES, *views()]):
        mark = "" if available is None or name in available else "  (not in this run)"
        parts = _table(name, mark, style) if name in TABLES else _view(name, style)
        write([Text()] * (number > 0) + parts, output, style)


def _table(name: str, mark: str, style: Style) -> list[RenderableType]:
    described = TABLES[name]
    grid = Table.grid(padding=(0, 2, 0, 0))
    for column, meaning in described.columns.items():
        grid.add_row(column, meaning.type, Text(plain(meaning.text, style)))
    text = f"{described.text}; from: {described.source}"
    return [Text(f"{name}{mark}"), _indented(Text(plain(text, style))), _indented(grid)]


def _view(name: str, style: Style) -> list[RenderableType]:
    text = views()[name] or f"see DESCRIBE {name}"
    return [Text(f"{name}  (view)"), _indented(Text(plain(text, style)))]


def _indented(part: RenderableType) -> RenderableType:
    return Padding(part, (0, 0, 0, 2))
