"""The tables and views of the evidence, for ``xladoctor query --schema``."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from typing import TextIO

from xladoctor.evidence.catalog import views
from xladoctor.evidence.schema import TABLES
from xladoctor.report.interface import Style


def render(
    names: Sequence[str], available: Collection[str] | None, output: TextIO, style: Style
) -> None:
    """Write the tables and views named, or all: meaning, source, and each column.

    Args:
        names: tables and views that exist.
        available: tables that the evidence at hand has; the others are marked. None: no evidence.
        output: where to write.
        style: only its width matters, and whether it has a dash.
    """
    parts = [
        _table(name, "" if available is None or name in available else "  (not in this run)", style)
        if name in TABLES
        else _view(name, style)
        for name in names or [*TABLES, *views()]
    ]
    output.write("\n".join(parts))


def _table(name: str, mark: str, style: Style) -> str:
    table = TABLES[name]
    left = max(map(len, table.columns))
    middle = max(len(column.type) for column in table.columns.values())
    columns = "".join(
        _filled(f"  {column:<{left}}  {described.type:<{middle}}  ", described.text, style)
        for column, described in table.columns.items()
    )
    return f"{name}{mark}\n" + _filled("  ", f"{table.text}; from: {table.source}", style) + columns


def _view(name: str, style: Style) -> str:
    return f"{name}  (view)\n" + _filled("  ", views()[name] or f"see DESCRIBE {name}", style)


def _filled(start: str, text: str, style: Style) -> str:
    if not style.unicode:
        text = text.replace("…", "...").encode("ascii", "replace").decode()
    width = max(style.width, len(start) + 20)
    return textwrap.fill(text, width, initial_indent=start, subsequent_indent=" " * len(start),
                         break_long_words=False, break_on_hyphens=False) + "\n"  # fmt: skip
