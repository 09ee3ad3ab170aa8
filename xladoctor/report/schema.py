"""The tables, views and macros of the evidence, for ``xladoctor query --schema``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TextIO

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xladoctor.evidence.catalog import macro_heads, public_macros, public_views, views
from xladoctor.evidence.reference import examples, view_columns
from xladoctor.evidence.schema import EVIDENCE_VERSION, STABLE, TABLES, Column
from xladoctor.report.interface import Style
from xladoctor.report.text import plain, write

UNITS = (
    "Instants are nanoseconds of the wall clock, durations nanoseconds, sizes bytes, unless a"
    " column says otherwise. What is marked stable, and the macros, change only with a new version"
    " of the evidence; everything else may change in any release. What is not listed is internal."
)


def render(
    names: Sequence[str], available: Collection[str] | None, output: TextIO, style: Style
) -> None:
    """Write the tables, views and macros named, or all: meaning, source, each column, an example.

    Args:
        names: tables, views and macros; if empty, all that are not internal.
        available: tables that the evidence has; others are marked. None: there is no evidence.
    """
    known = examples()
    if not names:
        write([_indented(Text(f"Version {EVIDENCE_VERSION}. {UNITS}")), Text()], output, style)
    for number, name in enumerate(names or [*TABLES, *public_views(), *public_macros()]):
        parts = _described(name, available, style)
        example = [_indented(Text(f"e.g. {known[name]}"))] if name in known else []
        write([Text()] * (number > 0) + parts + example, output, style)


def _described(name: str, available: Collection[str] | None, style: Style) -> list[RenderableType]:
    if name in TABLES:
        mark = "" if available is None or name in available else "  (not in this run)"
        text = f"{TABLES[name].text}; from: {TABLES[name].source}"
        return [
            Text(f"{name}{_stable(name)}{mark}"),
            _description(text, style),
            _grid(TABLES[name].columns, style),
        ]
    if name in views():
        view = views()[name]
        grid = [_grid(view_columns()[name], style)] if view.is_public else []
        return [Text(f"{name}  (view){_stable(name)}"), _description(view.text, style), *grid]
    macro = macro_heads()[name]
    head = f"{macro.call}  ({'macro, a table' if macro.gives_rows else 'macro'})"
    return [Text(head), _description(macro.text, style)]


def _stable(name: str) -> str:
    return "  (stable)" if name in STABLE else ""


def _grid(columns: Mapping[str, Column], style: Style) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for column, meaning in columns.items():
        grid.add_row(column, meaning.type, Text(plain(meaning.text, style)))
    return _indented(grid)


def _description(text: str, style: Style) -> RenderableType:
    return _indented(Text(plain(text, style)))


def _indented(part: RenderableType) -> RenderableType:
    return Padding(part, (0, 0, 0, 2))
