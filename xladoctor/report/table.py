"""Writes the rows of a query as a table of plain text, or as records if its columns do not fit.

Not drawn by ``rich.table.Table``, which takes 70 s for 100,000 rows of six columns where this takes
5 s (``--limit 0``, two cores), and has no records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, TextIO

from rich.cells import cell_len, chop_cells, set_cell_size

from xladoctor.foreign import clean
from xladoctor.report.interface import Style
from xladoctor.report.text import plain

_GAP = "  "
_MOST_LINES = 3  # of one value
_NARROWEST = 12  # columns that texts and names of columns are folded to at least
_BOLD, _DIM, _END = "\x1b[1m", "\x1b[2m", "\x1b[0m"


_NULL = "NULL"


class _Column(NamedTuple):
    name: str
    cells: list[str | None]
    number: bool

    @property
    def widest(self) -> int:
        return max(cell_len(self.name), self.widest_cell)

    @property
    def widest_cell(self) -> int:
        return max((cell_len(_NULL if cell is None else cell) for cell in self.cells), default=0)

    @property
    def narrowest(self) -> int:
        """Texts and the name may be folded, numbers not."""
        name = min(cell_len(self.name), _NARROWEST)
        cells = self.widest_cell
        return max(name, cells if self.number else min(cells, _NARROWEST))


def render(
    names: Sequence[str], rows: Sequence[Sequence[Any]], output: TextIO, style: Style
) -> None:
    """Write rows under the names of their columns, within the width of the style.

    Numbers stand to the right, in the units that they have; unknown values are NULL; a long text is
    folded, and cut after three lines.
    """
    if list(names) == ["explain_key", "explain_value"]:  # a drawing by DuckDB
        output.writelines(f"{clean(text, lines=True).rstrip()}\n" for _, text in rows)
        return
    columns = [_column(name, [row[i] for row in rows], style) for i, name in enumerate(names)]
    widths = _widths(columns, style.width)
    lines = _records(columns, style) if widths is None else _table(columns, widths, style)
    output.writelines(f"{line.rstrip()}\n" for line in lines)
    if not rows:
        output.write(_shaded("no rows", _DIM, style) + "\n")


def _table(columns: list[_Column], widths: list[int], style: Style) -> Iterator[str]:
    yield from _beside([column.name for column in columns], columns, widths, style, _BOLD)
    yield _GAP.join(("─" if style.unicode else "-") * width for width in widths)
    for cells in zip(*(column.cells for column in columns), strict=True):
        yield from _beside(cells, columns, widths, style)


def _records(columns: list[_Column], style: Style) -> Iterator[str]:
    """Each row on lines of its own: the name of a column, and its value."""
    sides = [_Column("", [], number=False)] * 2
    name = min(max(cell_len(column.name) for column in columns), style.width // 2 - len(_GAP))
    widths = [name, style.width - len(_GAP) - name]
    for number in range(len(columns[0].cells)):
        yield _shaded(f"row {number + 1}", _BOLD, style)
        for column in columns:
            yield from _beside([column.name, column.cells[number]], sides, widths, style)
    if not columns[0].cells:
        for column in columns:
            yield from _folded(column.name, style.width, style)


def _beside(
    cells: Sequence[str | None],
    columns: list[_Column],
    widths: list[int],
    style: Style,
    shade: str = "",
) -> Iterator[str]:
    """Cells side by side, folded to their widths."""
    folded = [_folded(cell, width, style) for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, folded))):
        parts = []
        for cell, lines, column, width in zip(cells, folded, columns, widths, strict=True):
            text = lines[number] if number < len(lines) else ""
            blank = " " * (width - cell_len(text))
            text = _shaded(text, _DIM if cell is None else shade, style)
            parts.append(blank + text if column.number else text + blank)
        yield _GAP.join(parts)


def _widths(columns: list[_Column], width: int) -> list[int] | None:
    """The width of each column, with the widest ones reduced; None if they still do not fit."""
    room = width - len(_GAP) * (len(columns) - 1)
    bounds = [(column.narrowest, column.widest) for column in columns]

    def capped(cap: int) -> list[int]:
        return [max(least, min(most, cap)) for least, most in bounds]

    if sum(capped(0)) > room:
        return None
    caps = range(max(most for _, most in bounds) + 1)
    return capped(bisect_right(caps, room, key=lambda cap: sum(capped(cap))) - 1)


def _folded(text: str | None, width: int, style: Style) -> list[str]:
    lines = chop_cells(_NULL if text is None else text, width) or [""]
    if len(lines) > _MOST_LINES:
        end = "…" if style.unicode else "..."
        kept = set_cell_size(lines[_MOST_LINES - 1], max(width - len(end), 0))
        lines = [*lines[: _MOST_LINES - 1], kept + end]
    return lines


def _column(name: str, values: list[Any], style: Style) -> _Column:
    known = [value for value in values if value is not None]
    numbers = [isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in known]
    cells = [None if value is None else plain(_shown(value), style) for value in values]
    return _Column(plain(name, style), cells, bool(numbers) and all(numbers))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return f"{value:.1f}" if abs(value) < 1e15 else repr(value)
    if isinstance(value, float) and abs(value) >= 1:
        return f"{value:.3f}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _shaded(text: str, shade: str, style: Style) -> str:
    return f"{shade}{text}{_END}" if style.color and shade and text else text
