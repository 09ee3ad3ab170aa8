"""The tables, views and macros of the evidence, for ``xladoctor query --schema``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TextIO

from rich.console import RenderableType
from rich.text import Text

from xladoctor.evidence.catalog import macro_heads, public_macros, public_views, views
from xladoctor.evidence.reference import examples, view_columns
from xladoctor.evidence.schema import EVIDENCE_VERSION, STABLE, TABLES, Column
from xladoctor.report.interface import Style
from xladoctor.report.text import grid, inset, styled, write

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
        write([inset(Text(f"Version {EVIDENCE_VERSION}. {UNITS}")), Text()], output, style)
    for number, name in enumerate(names or [*TABLES, *public_views(), *public_macros()]):
        parts = _described(name, available, style)
        example = [inset(Text(f"e.g. {known[name]}"))] if name in known else []
        write([*[Text()] * (number > 0), *parts, *example], output, style)


def _described(name: str, available: Collection[str] | None, style: Style) -> list[RenderableType]:
    if name in TABLES:
        mark = "" if available is None or name in available else "  (not in this run)"
        text = f"{TABLES[name].text}; from: {TABLES[name].source}"
        return [
            Text(f"{name}{_stable(name)}{mark}"),
            inset(styled(text, style)),
            _grid(TABLES[name].columns, style),
        ]
    if name in views():
        view = views()[name]
        grid = [_grid(view_columns()[name], style)] if view.is_public else []
        return [Text(f"{name}  (view){_stable(name)}"), inset(styled(view.text, style)), *grid]
    macro = macro_heads()[name]
    head = f"{macro.call}  ({'macro, a table' if macro.gives_rows else 'macro'})"
    return [Text(head), inset(styled(macro.text, style))]


def _stable(name: str) -> str:
    return "  (stable)" if name in STABLE else ""


def _grid(columns: Mapping[str, Column], style: Style) -> RenderableType:
    rows = [
        (column, meaning.type, styled(meaning.text, style)) for column, meaning in columns.items()
    ]
    return inset(grid(rows))
