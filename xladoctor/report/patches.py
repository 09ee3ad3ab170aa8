"""A finding's patch in a report, in place of its rule's fix."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

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


def has_line(patch: Suggestion, location: Location) -> bool:
    """Whether the patch's beginning shows a line."""
    source = (location.source or "").strip()
    return bool(source) and source in [line[1:].strip() for line in _beginning(patch)]


def in_short(
    patch: Suggestion, diagnosis: Diagnosis, style: Style, most: int
) -> Iterator[RenderableType]:
    """At most so many lines of the first change of a patch, and how many more it has."""
    lines = _beginning(patch)[:most]
    for line in lines:
        yield _cut_line(line, style)
    changed = [line for line in patch.diff.splitlines()[_HEADER:] if line[:1] in "+-"]
    if left := len(changed) - sum(line[:1] in ("+", "-") for line in lines):
        command = f"xladoctor fix {known_as(diagnosis.run.path)}"
        yield styled(f"… {counted(left, 'more line')}: {command}", style, "dim")


def _beginning(patch: Suggestion) -> list[str]:
    """The first changed lines of a diff, with a line before and after them."""
    lines = patch.diff.rstrip().splitlines()[_HEADER:]
    changed = [number for number, line in enumerate(lines) if line[:1] in ("+", "-")]
    if not changed:
        return []
    begin = changed[0] - (lines[changed[0] - 1][:1] == " ")
    hunk = [*takewhile(lambda line: not line.startswith("@@"), lines[begin:])]
    end = max(number for number in changed if number < begin + len(hunk)) + 2 - begin
    return hunk[:end]


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
