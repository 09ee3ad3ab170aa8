"""A finding's patch in a report, in place of its rule's fix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import RenderableType
from rich.text import Text

from xladoctor.diagnosis.finding import Finding, Location, Suggestion
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.quantities import counted
from xladoctor.report.interface import Style
from xladoctor.report.text import FittedText, plain, styled
from xladoctor.report.words import known_as, sentence

_MOST = 10  # lines of a diff
_LEFT = 3  # lines that are not worth leaving out
_HEADER = 2  # lines of a diff with the names of its file
_LOOKS = {"+": "green", "-": "red", "@": "cyan"}


def described(patch: Suggestion) -> str:
    """What a patch does, what is different afterwards, and what it relies on, in sentences."""
    text = sentence(patch.title)
    if patch.behaviour:
        text += f" Afterwards, {patch.behaviour}."
    if patch.relies_on:
        text += f" It assumes: {'; '.join(patch.relies_on)}."
    return text


def excerpt(
    patch: Suggestion, finding: Finding, diagnosis: Diagnosis, style: Style
) -> Iterator[RenderableType]:
    """The first lines of a patch, or all of them where everything is to be shown; the file is named
    if it is not the finding's.
    """
    lines = patch.diff.rstrip().splitlines()
    if finding.locations and finding.locations[0].file == patch.file:
        lines = lines[_HEADER:]
    left = [] if style.detail.verbose else lines[_MOST:]
    if len(left) <= _LEFT:
        left = []
    for line in lines[: len(lines) - len(left)]:
        yield diff_line(line, style)
    if left:
        command = f"xladoctor fix {known_as(diagnosis.run.path)}"
        yield styled(f"… {len(left)} more lines: {command}", style, "dim")


def beginning(patch: Suggestion, most: int) -> list[str]:
    """The changes of a patch in about so many lines: all if there is room, else the first."""
    hunks = _hunks(patch)
    whole = [line for hunk in hunks for line in hunk]
    return whole if len(whole) <= most + _LEFT else hunks[0][:most]


def has_line(lines: Sequence[str], location: Location) -> bool:
    """Whether these lines of a diff have the line of a finding."""
    source = (location.source or "").strip()
    return bool(source) and source in [line[1:].strip() for line in lines]


def in_short(
    patch: Suggestion, lines: Sequence[str], diagnosis: Diagnosis, style: Style
) -> Iterator[RenderableType]:
    """The lines that are shown of a patch, and how many more it has."""
    for line in lines:
        yield _cut_line(line, style)
    if left := _changed(patch.diff.splitlines()[_HEADER:]) - _changed(lines):
        command = f"xladoctor fix {known_as(diagnosis.run.path)}"
        yield styled(f"… {counted(left, 'more line')}: {command}", style, "dim")


def _changed(lines: Sequence[str]) -> int:
    return sum(line[:1] in ("+", "-") for line in lines)


def _hunks(patch: Suggestion) -> list[list[str]]:
    """The changed lines of each part of a diff, below where they are, with those around them that
    are needed to find the place.
    """
    hunks: list[list[str]] = []
    for line in patch.diff.rstrip().splitlines()[_HEADER:]:
        if line.startswith("@@"):
            hunks.append([line])
        elif hunks:
            hunks[-1].append(line)
    around = (-1, 1) if len(hunks) == 1 else (-1,)
    return [[hunk[0], *_trimmed(hunk[1:], around)] for hunk in hunks] or [[]]


def _trimmed(hunk: list[str], around: Sequence[int]) -> list[str]:
    """A part of a diff without context, except lines so far from a change; in one of several parts
    that removes lines, these show where it is.
    """
    changed = {number for number, line in enumerate(hunk) if line[:1] in ("+", "-")}
    kept = set(changed)
    if len(around) > 1 or not any(line[:1] == "-" for line in hunk):
        near = {number + by for number in changed for by in around}
        kept |= {number for number, line in enumerate(hunk) if number in near and line.strip()}
    return [line for number, line in enumerate(hunk) if number in kept]


def _cut_line(line: str, style: Style) -> RenderableType:
    """A line of a diff, cut where the space ends."""
    shown, look, dots = plain(line, style), _look(line), "…" if style.unicode else "..."

    def fitted(width: int) -> Text:
        fits = cell_len(shown) <= width
        return Text(shown if fits else set_cell_size(shown, width - len(dots)) + dots, look)

    return FittedText(fitted)


def diff_line(line: str, style: Style) -> RenderableType:
    """A line of a diff, broken where the space ends, as terminals do themselves."""
    shown, look = plain(line, style), _look(line)
    return FittedText(lambda width: Text("\n".join(chop_cells(shown, width)), look))


def _look(line: str) -> str:
    return _LOOKS.get(line[:1], "")
