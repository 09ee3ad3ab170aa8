"""Two compiled graphs side by side: inputs, operations by Python line, placement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TextIO

from rich.console import Group, OverflowMethod, RenderableType
from rich.table import Table
from rich.text import Text

from xladoctor.causes.graph_difference import (
    Compiled,
    Difference,
    InputChange,
    OperationChange,
    PlacementChange,
)
from xladoctor.causes.interface import Place
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.source import source_line
from xladoctor.quantities import counted
from xladoctor.report.compilations import place, seconds
from xladoctor.report.interface import Style
from xladoctor.report.text import FOLDED, grid, inset, plain, styled, write

_WIDE = 100  # columns, from which the two sides stand beside each other
_MOST = 4  # instructions of one operation that are shown of each side
_COLORS = {"-": "red", "+": "green", " ": ""}
_NO_LINE = "without a Python line: the backward pass, and what XLA's optimization added"


def render(diff: Difference, evidence: Evidence, limit: int, output: TextIO, style: Style) -> None:
    """Write both compilations and all that differs.

    Args:
        evidence: for paths and for the text of lines.
        limit: how many inputs, and how many lines, to show; 0 for all.
    """
    parts: list[RenderableType] = [
        _compiled("- A", diff.a, evidence, style),
        _compiled("+ B", diff.b, evidence, style),
    ]
    if diff.same:
        parts += [Text(), Text("the graphs are the same after optimization", style="bold")]
    if diff.inputs:
        parts += [Text(), Text("inputs", style="bold")]
        parts += _inputs(diff.inputs, limit, evidence, style)
    if diff.lines:
        parts += [Text(), Text("operations, in the order of lowering", style="bold")]
        parts += _lines(diff, limit, evidence, style)
    if diff.placement:
        parts += [Text(), Text("compiled for", style="bold"), _placement(diff.placement, style)]
    write(parts, output, style)


def record(value: Any, evidence: Evidence) -> Any:
    """The difference as JSON has it: objects, lists, paths as reports show them."""
    if is_dataclass(value):
        names = [f.name for f in fields(value)] + ["same"] * isinstance(value, Difference)
        content = {name: record(getattr(value, name), evidence) for name in names}
        return content | ({"file": evidence.shown(content["file"])} if "file" in content else {})
    if isinstance(value, Place):
        return _shown(value, evidence)
    return [record(item, evidence) for item in value] if isinstance(value, tuple) else value


def _shown(line: Place, evidence: Evidence) -> dict[str, Any]:
    files = {key: evidence.shown(getattr(line, key)) for key in ("file", "user_file")}
    return line._asdict() | files


def _compiled(name: str, graph: Compiled, evidence: Evidence, style: Style) -> RenderableType:
    step = "" if graph.step is None else f", step {graph.step}"
    outputs = "? outputs" if graph.outputs is None else counted(graph.outputs, "output")
    counts = [counted(graph.instructions, "instruction"), counted(graph.inputs, "input"), outputs]
    what = f"compilation {graph.index}{step}, {seconds(graph.seconds)} s at "
    site = {"file": evidence.shown(graph.file), "line": graph.line, "user_file": None}
    text = styled(what + place(site, style.width - 5 - len(what), style), style)
    text.append(f"\n{graph.graph_hash}  {', '.join(counts)}", style="dim")
    return grid([(Text(name, style=_COLORS[name[0]]), text)])


def _inputs(
    inputs: Sequence[InputChange], limit: int, evidence: Evidence, style: Style
) -> Iterator[RenderableType]:
    """Inputs below their line."""
    lines: dict[Any, list[InputChange]] = {}
    for change in inputs[: limit or None]:
        lines.setdefault((change.place[:2], change.sent), []).append(change)
    for group in lines.values():
        known = "made at " if group[0].sent else "first used at "
        yield from _place(known, "without a Python line", group[0].place, evidence, style)
        yield inset(grid(_input(change, style) for change in group), 4)
    yield from _more(len(inputs) - limit if limit else 0, "inputs", style)


def _input(change: InputChange, style: Style) -> list[Text]:
    mark = " " if change.a and change.b else "-" if change.a else "+"
    text = f"{change.a} → {change.b}" if change.a and change.b else str(change.a or change.b)
    cells = (f"{mark} parameter {change.parameter}", text)
    return [styled(cell, style, _COLORS[mark]) for cell in cells]


def _lines(
    diff: Difference, limit: int, evidence: Evidence, style: Style
) -> Iterator[RenderableType]:
    """Operations below their line."""
    for number, line in enumerate(diff.lines[: limit or None]):
        yield from [Text()] * (number > 0)
        yield from _place("", _NO_LINE, line.place, evidence, style)
        for operation in line.operations:
            yield inset(_operation(operation, style), 4)
    yield from _more(len(diff.lines) - limit if limit else 0, "lines", style)
    yield from _more(diff.left_out, "kinds of instructions, lowered later", style)


def _place(
    known: str, unknown: str, line: Place, evidence: Evidence, style: Style
) -> Iterator[RenderableType]:
    """A line and its text, or a word where there is none."""
    if line.file is None or line.line is None:
        yield Text(f"  {unknown}", style="dim")
        return
    shown = place(_shown(line, evidence), style.width - 2 - len(known), style)
    text = Text(f"  {known}", style="dim").append(plain(shown, style), style="not dim cyan")
    if line.function not in (None, "", "<module>"):
        text.append(plain(f"  in {line.function}", style))
    yield text
    source = source_line(evidence, line.file, line.line)
    if source and source.strip():
        overflow: OverflowMethod = "ellipsis" if style.unicode else "crop"
        yield Text(plain(f"  │ {source.strip()}", style), overflow=overflow, no_wrap=True)


def _operation(operation: OperationChange, style: Style) -> RenderableType:
    name = styled(operation.op or "other instructions", style)
    if operation.a_count != operation.b_count and operation.a_count and operation.b_count:
        name.append(plain(f"  {operation.a_count} → {operation.b_count}", style), style="dim")
    sides = [_side(mark, texts, style) for mark, texts in (("-", operation.a), ("+", operation.b))]
    if style.width < _WIDE:
        return Group(name, *(inset(side) for side in sides))
    side = {"ratio": 3}
    table = grid([(name, *sides)], {"ratio": 2, **FOLDED}, side, side)
    table.expand = True
    return table


def _side(mark: str, texts: Sequence[str], style: Style) -> Table:
    rows = [(mark, plain(text, style)) for text in _first(texts)]
    table = grid(rows, {"width": 1}, FOLDED, gap=1)
    table.row_styles = [_COLORS[mark]]
    return table


def _first(texts: Sequence[str]) -> list[str]:
    """The first few, and how many more there are; one more is shown as well."""
    if len(texts) <= _MOST + 1:
        return list(texts)
    return [*texts[:_MOST], f"and {len(texts) - _MOST} more"]


def _more(number: int, what: str, style: Style) -> Iterator[RenderableType]:
    if number > 0:
        yield styled(f"  … and {number:,} more {what}", style, "dim")


def _placement(changes: Sequence[PlacementChange], style: Style) -> RenderableType:
    rows = []
    for change in changes:
        a, b = (", ".join(_first(side)) or "none" for side in (change.a, change.b))
        name = "donated inputs" if change.name == "donated" else change.name
        rows.append((Text(f"  {name}"), styled(f"{a} → {b}", style)))
    return grid(rows)
