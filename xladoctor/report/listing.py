"""The list of findings: a line for each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from xladoctor.report.alike import Alike
from xladoctor.report.interface import Style
from xladoctor.report.text import grid, plain, shortened

SEVERITY = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
ROOM = 72  # columns from which on a line has a title, a place and a saving
_LISTED = 8
_SHORT = (("about ", ""), ("at most ", "≤ "), ("at least ", "≥ "), ("next to nothing", "little"))

_Line = tuple[Alike, str, str]  # with its place and what it saves


def listing(
    groups: Sequence[Alike], style: Style, *, by_counts: bool = False, places: bool = True
) -> RenderableType:
    """A line for each group: severity, rule, title, place, and what fixing it saves.

    Args:
        by_counts: whether it has the number of events in place of times.
        places: whether it has the places.
    """
    listed = groups[:_LISTED]
    gains = [plain(_events(group) if by_counts else _saves(group.gain), style) for group in listed]
    room = style.width // 3
    at = [shortened(plain(group.place, style), room, style) if places else "" for group in listed]
    lines = [*zip(listed, at, gains, strict=True)]
    more = len(groups) - _LISTED
    rest = [Text(f"   and {more} more", style="dim")] if more > 0 else []
    return Group(*(_narrow(lines) if style.width < ROOM else [_table(lines, style)]), *rest)


def _table(lines: Sequence[_Line], style: Style) -> RenderableType:
    groups, places, gains = zip(*lines, strict=True)
    names = [
        max(len(group.first.severity) for group in groups),
        max(len(group.first.rule) for group in groups),
    ]
    widths = [max(map(cell_len, column)) for column in (places, gains)]
    room = style.width - 7 - sum(names) - sum(widths)
    cut = {"no_wrap": True, "overflow": "ellipsis" if style.unicode else "crop"}
    columns: list[dict[str, Any]] = [
        {"width": 2, "justify": "right"},
        *({"width": width, "no_wrap": True} for width in names),
        {"max_width": max(1, room), **cut},
        {"width": widths[0], "no_wrap": True},
        {"width": widths[1], **cut},
    ]
    rows = [
        [*_named(group), Text(group.title), Text(place, style="cyan"), Text(gain)]
        for group, place, gain in lines
    ]
    return grid(rows, *columns, gap=1)


def _narrow(lines: Sequence[_Line]) -> Iterator[RenderableType]:
    """Each with its title on a line of its own."""
    for group, place, gain in lines:
        number, severity, rule = _named(group)
        shown = (number, severity, rule, Text(place, style="cyan"), Text(gain))
        yield Text(" ").join(part for part in shown if part)
        yield Padding(Text(group.title), (0, 0, 0, 3))


def _named(group: Alike) -> tuple[Text, Text, Text]:
    first = group.first
    return (
        Text(f"{group.number:>2}"),
        Text(first.severity, style=SEVERITY[first.severity]),
        Text(first.rule, style="bold"),
    )


def _saves(gain: str) -> str:
    """What fixing saves, or else what it costs, in few columns."""
    for words, short in _SHORT:
        gain = gain.replace(words, short)
    return gain if gain.startswith("costs") or not gain else f"saves {gain}"


def _events(group: Alike) -> str:
    return f"{sum(finding.count for finding in group.findings):,} times"
