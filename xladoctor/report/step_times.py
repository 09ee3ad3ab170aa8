"""Draws the times of steps over the run as a line of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from rich.text import Text

from xladoctor.diagnosis.interface import StepGroup
from xladoctor.quantities import duration
from xladoctor.report.interface import Style

_LEVELS, _ASCII_LEVELS = "▁▂▃▄▅▆▇", "_.-=+*%"
_COMPILED, _ASCII_COMPILED = "█", "#"
_LEAST = 2  # steps that are enough to draw
_FLAT = 1.2  # times the shortest; smaller differences are not drawn
_MUCH = 0.5  # share of the longest step of a group


def step_times(groups: Sequence[StepGroup], style: Style) -> Text | None:
    """A block for each group, whose height is its longest step, full if that mostly compiles. None
    if there are too few steps, or all take about the same time.

    The scale is logarithmic: compiling takes a hundred times as long as a step.
    """
    if len(groups) < _LEAST or style.width < len(groups):
        return None
    levels = _LEVELS if style.unicode else _ASCII_LEVELS
    compiled = _COMPILED if style.unicode else _ASCII_COMPILED
    shortest = min(group.longest_ms for group in groups)
    longest = max(group.longest_ms for group in groups)
    if longest <= _FLAT * shortest or shortest <= 0.0:
        return None
    spread = log(longest / shortest)
    line = Text()
    for group in groups:
        if _compiled(group):
            line.append(compiled, style="red")
            continue
        level = int(log(group.longest_ms / shortest) / spread * (len(levels) - 1))
        line.append(levels[level], style="blue")
    return line


def scale(groups: Sequence[StepGroup], style: Style) -> str:
    """What the blocks mean: ``5.1 ms to 353 ms, █ compiling``; or of how many steps one is."""
    shortest = min(group.longest_ms for group in groups)
    longest = max(group.longest_ms for group in groups)
    said = f"{duration(shortest / 1e3)} to {duration(longest / 1e3)}"
    if (most := max(group.count for group in groups)) > 1:
        said = f"longest of every {most:,}: {said}"
    if any(map(_compiled, groups)):
        said += f", {_COMPILED if style.unicode else _ASCII_COMPILED} compiling"
    return said


def _compiled(group: StepGroup) -> bool:
    return group.compile_ms >= _MUCH * group.longest_ms
