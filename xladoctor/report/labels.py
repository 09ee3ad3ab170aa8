"""The program's own labels, as a table on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from xladoctor.diagnosis.device_use import LabelTime
from xladoctor.quantities import duration
from xladoctor.report.interface import Style
from xladoctor.report.text import grid, styled

_MOST = 12  # lines
_NARROW = 60
_BETWEEN = 2
_WITHIN = " > "
_MEANING = "  device: it ran the label's launches; idle: it ran nothing"
_COLUMNS: dict[str, Callable[[LabelTime], str]] = {
    "calls": lambda label: f"{label.count:,}",
    "host": lambda label: duration(label.host_s),
    "own": lambda label: duration(label.own_s),
    "device": lambda label: duration(label.device_s),
    "idle": lambda label: "" if label.idle_s is None else duration(label.idle_s),
}
_ALWAYS = ("host", "device")


def table(labels: Sequence[LabelTime], style: Style) -> RenderableType:
    """The labels that took longest, nested as in the program: totals over all calls."""
    longest = sorted(labels, key=lambda label: -label.host_s)[:_MOST]
    columns = {
        name: column
        for name, column in _COLUMNS.items()
        if style.width >= _NARROW or name in _ALWAYS
    }
    widths = [
        max(len(name), *(len(cell(label)) for label in longest)) for name, cell in columns.items()
    ]
    rest = style.width - sum(width + _BETWEEN for width in widths)
    shape = {"no_wrap": True, "overflow": "ellipsis" if style.unicode else "crop"}
    rows = [[Text("labels", style="bold"), *(Text(name, style="dim") for name in columns)]]
    for label in (label for label in labels if label in longest):
        *outer, name = label.path.split(_WITHIN)
        cells = ["  " * (len(outer) + 1) + name, *(cell(label) for cell in columns.values())]
        rows.append([styled(text, style) for text in cells])
    numbers = [{"justify": "right", "width": width, **shape} for width in widths]
    table = grid(rows, {"max_width": max(1, rest), **shape}, *numbers, gap=_BETWEEN)
    others = len(labels) - len(longest)
    more = [Text(f"  and {others} shorter ones: table region", style="dim")] if others else []
    meaning = [Text(_MEANING, style="dim")] if style.width >= _NARROW else []
    return Group(table, *more, *meaning)
