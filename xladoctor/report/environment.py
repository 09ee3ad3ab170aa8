"""The examination of an installation: a line a check, what to do below it; or as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TextIO

from rich.console import RenderableType
from rich.text import Text

from xladoctor.environment.interface import SCHEMA_VERSION, Check, Examination
from xladoctor.foreign import as_json
from xladoctor.quantities import counted
from xladoctor.report.interface import Style
from xladoctor.report.text import FOLDED, grid, inset, plain, styled, write

#: Status -> its mark, the mark where only ASCII goes, and its colour.
_MARKS = {
    "ok": ("✓", "+", "green"),
    "warning": ("!", "!", "bold yellow"),
    "failure": ("✗", "x", "bold red"),
    "skipped": ("-", "-", "dim"),
}


def render(examination: Examination, output: TextIO, style: Style) -> None:
    """Write all checks, and how many had which outcome."""
    room = max(len(check.name) for check in examination.checks)
    parts = [part for check in examination.checks for part in _check(check, room, style)]
    write([*parts, Text(), _summary(examination)], output, style)


def render_json(examination: Examination, output: TextIO, style: Style) -> None:
    """Write all checks, field by field."""
    record = {
        "schema_version": SCHEMA_VERSION,
        "ok": examination.ok,
        "checks": [asdict(check) for check in examination.checks],
    }
    output.write(as_json(record, ascii_only=not style.unicode))


def _check(check: Check, room: int, style: Style) -> list[RenderableType]:
    mark, ascii_mark, color = _MARKS[check.status]
    skipped = check.status == "skipped"
    text = f"not checked: {check.found}" if skipped else check.found
    tone = "dim" if skipped else ""
    name = Text().append(mark if style.unicode else ascii_mark, style=color).append(" ")
    cells = name.append(check.name, style=tone), styled(text, style, tone)
    line = grid([cells], {"width": room + 2}, FOLDED)
    if not check.advice:
        return [line]
    return [line, inset(plain(check.advice, style, lines=True), 4)]


def _summary(examination: Examination) -> Text:
    counts = Counter(check.status for check in examination.checks)
    skipped = f", {counts['skipped']} not checked" if counts["skipped"] else ""
    if not counts["warning"] and not counts["failure"]:
        text = f"No problems found: {counted(counts['ok'], 'check')} ok{skipped}."
        return Text(text, style="bold")
    faults = ", ".join(counted(counts[status], status) for status in ("warning", "failure"))
    text = f"{counts['ok']} ok, {faults}{skipped}"
    return Text(text, style="bold red" if counts["failure"] else "bold")
