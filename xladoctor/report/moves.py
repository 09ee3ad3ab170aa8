"""A program's move, as a diff with what it relies on and what is left to do by hand, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from rich.console import RenderableType
from rich.text import Text

from xladoctor.fixes.plan import unified
from xladoctor.move.interface import FileMove, Move, Remark
from xladoctor.move.proof.interface import Verification
from xladoctor.quantities import counted, first_few
from xladoctor.report.fixes import exact
from xladoctor.report.interface import Style
from xladoctor.report.output import Format
from xladoctor.report.text import inset, plain, styled, write
from xladoctor.report.verification import headline, parts
from xladoctor.report.verification import record as of_verification

SCHEMA_VERSION = 1
_FEW = 8  # lines in a sentence


def render(
    name: Format, move: Move, verification: Verification | None, output: TextIO, style: Style
) -> None:
    """Write the diffs, then what is to be known about them, and what came of trying them."""
    if name is Format.json:
        whole = record(move) | {"verification": verification and of_verification(verification)}
        output.write(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
        return
    for file in move.files:
        if lines := diff(file, move):
            output.writelines(f"{exact(line, style)}\n" for line in lines)
            output.write("\n")
    tried = [*parts(verification, style), Text()] if verification else []
    summary = Text(_summary(move, verification), style="bold")
    write([*_remarks(move, style), *tried, summary], output, style)


def diff(file: FileMove, move: Move) -> list[str]:
    """The lines of a file's diff."""
    return unified(file.path, file.text, file.moved, move.root)


def _remarks(move: Move, style: Style) -> Iterator[RenderableType]:
    kinds = (
        ("to do by hand", "red", "refused"),
        ("behaves differently", "yellow", "behaviour"),
        ("assumes", "", "relies"),
    )
    for title, look, name in kinds:
        found = [(file, remarks) for file in move.files if (remarks := getattr(file, name))]
        if found:
            yield Text(title, style=f"bold {look}".strip())
        for file, remarks in found:
            for remark, lines in _grouped(remarks):
                places = first_few([str(line) for line in sorted(set(lines))], _FEW)
                path = file.path.relative_to(move.root)
                shown = plain(f"{path}:{places}", style)
                heading = Text(f"{shown}  ", style="cyan")
                heading.append(plain(remark.code, style), style="default")
                yield inset(heading)
                yield inset(styled(remark.text, style), 4)
        if found:
            yield Text()


def _grouped(remarks: Sequence[Remark]) -> list[tuple[Remark, list[int]]]:
    """Remarks that say the same, with their lines."""
    found = dict[str, tuple[Remark, list[int]]]()
    for remark in remarks:
        found.setdefault(remark.text, (remark, []))[1].append(remark.line)
    return list(found.values())


def _summary(move: Move, verification: Verification | None) -> str:
    changed = counted(len(move.texts), "file")
    text = f"{changed} to change for {move.target.title}"
    if move.refused:
        text += f", and {counted(move.refused, 'place')} to change by hand"
    untried = "not run yet: --verify runs both programs and compares their first steps"
    return f"{text}; {headline(verification) if verification else untried}"


def record(move: Move) -> dict[str, Any]:
    """The JSON form."""
    return {
        "schema_version": SCHEMA_VERSION,
        "target": move.target.name,
        "device": move.target.device,
        "several_processes": move.several,
        "files": [
            {
                "file": str(file.path),
                "diff": "\n".join(diff(file, move)),
                "refused": [asdict(each) for each in file.refused],
                "behaviour": [asdict(each) for each in file.behaviour],
                "relies_on": [asdict(each) for each in file.relies],
            }
            for file in move.files
        ],
    }
