"""Where the time went, as one line in proportion, with a legend."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from xladoctor.diagnosis.interface import Diagnosis, TimeParts
from xladoctor.facts.parts import PARTS, PartName
from xladoctor.quantities import duration, percent
from xladoctor.report.interface import Style
from xladoctor.report.text import plain, styled
from xladoctor.report.words import part_name

_SHOWN, _SHOWN_IN_SHORT, _WORTH_SAYING = 0.005, 0.015, 0.02  # of the whole
_MOST_LINES = 2  # of a legend in short

Spent = Sequence[tuple[PartName, float, float]]  # seconds, and share of the whole


def time_bar(
    diagnosis: Diagnosis, parts: TimeParts, style: Style, *, in_short: bool = False
) -> Group:
    """The parts of the time, and how much of the waiting the device worked.

    Args:
        in_short: whether small parts have no room, nor the device.
    """
    time = diagnosis.time
    least = (_SHOWN_IN_SHORT if in_short else _SHOWN) * time.whole_s
    spent = [
        (part, seconds, seconds / time.whole_s)
        for part in PARTS
        if (seconds := getattr(parts, f"{part}_s")) >= least
    ]
    legend = _legend(spent, diagnosis, style)
    while in_short and len(legend.split("\n")) > _MOST_LINES:
        spent.remove(min(spent, key=lambda part: part[1]))
        legend = _legend(spent, diagnosis, style)
    rows: list[RenderableType] = [_bar(spent, style), legend]
    waited = parts.read_s + parts.barrier_s
    if time.device_s is not None and waited >= _WORTH_SAYING * time.whole_s and not in_short:
        worked = duration(time.device_s)
        said = f"the device worked for {worked} of the time that the host waited for it"
        rows.append(styled(said, style, "dim"))
    return Group(*rows)


def _drawn(part: PartName, style: Style) -> tuple[str, str]:
    drawn = PARTS[part]
    return (drawn.block if style.unicode else drawn.ascii), drawn.color


def _bar(spent: Spent, style: Style) -> Text:
    """One line, the parts in proportion; each part keeps its own character without colour."""
    width = min(style.width, 100)
    bar, done, filled = Text(), 0.0, 0
    whole = sum(share for *_, share in spent)  # without the parts that are too small to show
    for part, _, share in spent:
        done += share / whole
        upto = min(width, round(done * width))
        character, color = _drawn(part, style)
        bar.append(character * (upto - filled), style=color)
        filled = max(filled, upto)
    return bar


def _legend(spent: Spent, diagnosis: Diagnosis, style: Style) -> Text:
    """The parts with their figures, as many on a line as there is room for."""
    legend, column = Text(), 0
    for part, seconds, share in spent:
        entry = plain(f"{part_name(part, diagnosis)} {duration(seconds)} {percent(share)}", style)
        if column and column + len(entry) + 3 > style.width:
            legend.append("\n")
            column = 0
        character, color = _drawn(part, style)
        legend.append(character * 2, style=color)
        legend.append(f" {entry}  ")
        column += len(entry) + 5
    return legend
