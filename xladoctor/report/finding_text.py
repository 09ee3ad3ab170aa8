"""A finding on a terminal: its line, its cause and its fix."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import cast

from rich.cells import cell_len
from rich.console import Group, OverflowMethod, RenderableType
from rich.padding import Padding
from rich.style import Style as RichStyle
from rich.text import Text

from xladoctor.diagnosis.finding import Finding, Location
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pictures.interface import Pictures
from xladoctor.report import patches
from xladoctor.report.excerpt import excerpt
from xladoctor.report.interface import Style
from xladoctor.report.links import link
from xladoctor.report.text import (
    FOLDED,
    FittedText,
    Hanging,
    breakable,
    grid,
    plain,
    shortened,
    styled,
)
from xladoctor.report.words import ROLES, place_of, tried
from xladoctor.repository import short

NARROW = 60
_WIDE = 100
_WHERE = ("guilty", "caller")
_MOST_LINES = 4  # of a fix in short
_LABEL = 9  # columns in front of a text with a label, indented
_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_CLAUSES = re.compile(r"(?<=;) ")


def in_short(
    finding: Finding, style: Style, diagnosis: Diagnosis, most: int
) -> list[RenderableType]:
    """The line, the cause in a sentence, and the patch's beginning or the first advice.

    Args:
        most: lines of a patch to show.
    """
    rows: list[RenderableType] = []
    patch = finding.suggestion
    lines = patches.beginning(patch, most) if patch else []
    shown = [each for each in finding.locations if each.role in _WHERE]
    for location in shown:
        place, *source = _location(location, style, diagnosis, whole=False)
        hides = location is not shown[-1] or patches.has_line(lines, location)
        rows += [place] if hides else [place, *source]
    if not shown and (where := place_of(finding)):
        rows.append(_unplaced(where, finding, style))
    why = _begins(_SENTENCES.split(finding.message, 1)[0], style, _CLAUSES)
    rows.append(labelled("why", why, style))
    if patch:
        rows.append(labelled("fix", _begins(patches.described(patch), style), style))
        rows += patches.in_short(patch, lines, diagnosis, style)
    elif finding.fix:
        rows.append(labelled("fix", _begins(" ".join(finding.fix.split()), style), style))
    return rows


def _unplaced(place: str, finding: Finding, style: Style) -> Text:
    return styled(place, style, "bold cyan" if finding.place else "dim")


def _begins(text: str, style: Style, parts: re.Pattern[str] = _SENTENCES) -> str:
    """The first parts of a text, as many as have room, but at least one."""
    first, *more = parts.split(text)
    width = style.width - _LABEL
    for part in more:
        if len(textwrap.wrap(f"{first} {part} …", width)) > _MOST_LINES:
            return f"{first} …"
        first = f"{first} {part}"
    return first


def explained(
    finding: Finding, style: Style, diagnosis: Diagnosis | None = None
) -> list[RenderableType]:
    """The line, the cause and the fix; then the lines that explain it.

    Args:
        diagnosis: that it is in, for links and for the lines around its own.
    """
    rows: list[RenderableType] = []
    for location in finding.locations:
        if location.role in _WHERE:
            rows += _location(location, style, diagnosis, around=True)
    if not finding.locations and (place := place_of(finding)):
        rows.append(_unplaced(place, finding, style))
    rows.append(labelled("why", finding.message, style))
    rows += [labelled("also", text + ".", style) for text in finding.consequences]
    patch = finding.suggestion
    if fix := patches.described(patch) if patch else " ".join(finding.fix.split()):
        rows.append(labelled("fix", fix, style))
    if patch and diagnosis:
        rows += patches.excerpt(patch, finding, diagnosis, style)
    if finding.tried:
        rows.append(labelled("test", tried(finding), style))
    for location in finding.locations:
        if location.role not in _WHERE:
            rows += _location(location, style, diagnosis)
    return rows + (_basis(finding, style) if style.detail.verbose else [])


def _basis(finding: Finding, style: Style) -> list[RenderableType]:
    """The basis of a finding: the values of its cause, and its rule's example."""
    values = [
        f"{name}: {value}" for name, value in finding.cause.items() if value not in (None, [], "")
    ]
    rows: list[RenderableType] = [Hanging(styled(text, style, "dim")) for text in values]
    example = finding.example.rstrip().splitlines()
    rows += [styled(f"  {line}", style, "dim") for line in example]
    return rows


def indented(body: list[RenderableType], style: Style) -> RenderableType:
    """What belongs below a heading with a number."""
    return Padding(Group(*body), (0, 0, 0, 4 if style.width >= NARROW else 1))


def _location(
    location: Location,
    style: Style,
    diagnosis: Diagnosis | None,
    *,
    around: bool = False,
    whole: bool = True,
) -> list[RenderableType]:
    """The place and its line.

    Args:
        around: whether the lines around it are shown, too, where there is room.
        whole: whether the path is, even if it does not fit.
    """
    label = ROLES.get(location.role)
    place = Text(f"{label} " if label else "", style="dim")
    look = RichStyle.parse("" if label else "bold cyan")
    cwd = diagnosis.run.cwd if diagnosis else None
    if style.links and (target := link(location.file, location.line, cwd)):
        look += RichStyle(link=target)
    room = style.width - _LABEL - len(location.function or "") - len(str(location.line))
    file = short(location.file) if whole else shortened(short(location.file), room, style)
    place.append(f"{file}:{location.line}", style=look)
    if location.function and location.function != "<module>":
        place.append(f"  in {location.function}", style="dim")
    pictures = diagnosis.pictures if diagnosis and around and style.width >= _WIDE else None
    return [place, *_source(location, pictures, style)]


def _source(location: Location, pictures: Pictures | None, style: Style) -> Iterator[Text]:
    """The line, with those around it where there are pictures."""
    edge, overflow = ("│", "ellipsis") if style.unicode else ("|", "crop")
    lines = excerpt(location, pictures)
    for number, code in lines:
        guilty = number == location.line
        margin = f"{'>' if guilty else ' '}{number:>5} {edge}" if len(lines) > 1 else edge
        text = Text(
            f"{margin} {code}".rstrip(),
            overflow=cast(OverflowMethod, overflow),
            no_wrap=True,
            style="" if guilty else "dim",
        )
        yield text
        if guilty and location.span and location.source and _is_a_part(location.span, code):
            yield _caret(location.source, location.span, code, margin, style)


def _is_a_part(span: tuple[int, int], code: str) -> bool:
    """Whether an expression is so small a part of its line that a reader would look for it."""
    return 2 * (span[1] - span[0]) < len(code.strip())


def _caret(source: str, span: tuple[int, int], code: str, margin: str, style: Style) -> Text:
    """A line below the code that points at the expression."""
    begin = span[0] - (len(source) - len(source.lstrip())) + len(code) - len(code.lstrip())
    under = " " * (cell_len(margin) + 1 + begin) + "^" * (span[1] - span[0])
    return Text(under[: style.width], style="red", no_wrap=True, overflow="crop")


def labelled(label: str, text: str, style: Style) -> RenderableType:
    """A text behind its label, all its lines below the first."""
    if style.width < NARROW:
        return Text(f"{label}: ", style="bold").append(plain(text, style), style="not bold")
    shown = plain(text, style)
    said = FittedText(lambda width: Text(breakable(shown, width), overflow="fold"))
    name = Text(label, style="bold green" if label == "fix" else "bold")
    return grid([(name, said)], {"width": 4}, {"ratio": 1, **FOLDED}, gap=1)
