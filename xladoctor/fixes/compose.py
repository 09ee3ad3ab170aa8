"""Applies patches of one file to its text, and says which of them conflict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xladoctor.fixes.interface import Edit, Patch, Position
from xladoctor.fixes.text import MARK, lines_of


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with these edits made; equal edits are made once.

    Of insertions at one place the deepest come first: they are at the end of a block.

    Raises:
        ValueError: two edits overlap.
    """
    lines = lines_of(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    starts[0] += text.startswith(MARK)

    def offset(at: Position) -> int:
        return min(starts[min(at.line, len(starts)) - 1] + at.column, len(text))

    parts, done = list[str](), 0
    for edit in dict.fromkeys(sorted(edits, key=_order)):
        begin, end = offset(edit.begin), offset(edit.end)
        if begin < done:
            raise ValueError(f"two edits of line {edit.begin.line}")
        parts += [text[done:begin], edit.text]
        done = end
    return "".join([*parts, text[done:]])


def _order(edit: Edit) -> tuple[Position, Position, int]:
    return edit.begin, edit.end, len(edit.text.lstrip()) - len(edit.text)


def compatible(patches: Sequence[Patch]) -> tuple[list[Patch], list[tuple[Patch, Patch]]]:
    """The patches that can be made together, the first ones preferred; and the others, each with
    the one that it conflicts with. All are of one file.
    """
    kept: list[Patch] = []
    conflicts: list[tuple[Patch, Patch]] = []
    for patch in patches:
        other = next((each for each in kept if _overlap(patch, each)), None)
        if other is None:
            kept.append(patch)
        else:
            conflicts.append((patch, other))
    return kept, conflicts


def _overlap(patch: Patch, other: Patch) -> bool:
    return any(
        one != two and one.begin < two.end and two.begin < one.end
        for one in patch.change.edits
        for two in other.change.edits
    )
