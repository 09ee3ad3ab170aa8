"""The report on a terminal: verdict, where the time went, ranked findings, what was checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.console import Group, OverflowMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xladoctor.diagnosis.interface import Diagnosis, Finding, Location, PartName, TimeParts
from xladoctor.foreign import quoted
from xladoctor.quantities import duration, percent
from xladoctor.report import devices, gate, labels
from xladoctor.report.interface import Report, Style
from xladoctor.report.levels import judgements
from xladoctor.report.next_command import next_command
from xladoctor.report.text import Hanging, plain, printable, write
from xladoctor.report.words import (
    PARTS,
    ROLES,
    STATES,
    cost_of,
    ignored_ones,
    outcomes,
    program,
    saving_of,
    steps_of,
    unexplained,
    unjudged,
)

#: How the bar draws each part: with blocks, in ASCII, and its colour.
_DRAWN: dict[PartName, tuple[str, str, str]] = {
    "startup": ("▁", "_", "bright_black"), "warmup_compile": ("▆", "w", "red"),
    "compile": ("█", "#", "red"), "read": ("▓", "x", "magenta"), "barrier": ("▞", "=", "green"),
    "input": ("▒", "i", "yellow"), "upload": ("▚", "u", "cyan"), "save": ("▖", "s", "cyan"),
    "dispatch": ("▗", "d", "cyan"), "tracing": ("░", "t", "blue"), "python": ("▪", ".", "blue"),
    "after": ("▔", "-", "bright_black"), "capture": ("·", ":", "bright_black"),
}  # fmt: skip
_WORTH_SHOWING, _WORTH_SAYING = 0.005, 0.02  # of the whole
_SEVERITY = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
_NARROW = 60

Spent = Sequence[tuple[PartName, float, float]]  # seconds, and share of the whole


def render(reports: Sequence[Report], output: TextIO, style: Style) -> None:
    """Write the whole reports, one below the other."""
    for number, report in enumerate(reports):
        sections = _sections(report, style)
        spaced = [line for part in sections for line in (part, Text())][:-1]
        write([Text(), *spaced] if number else spaced, output, style)


def _sections(raw: Report, style: Style) -> list[RenderableType]:
    """Where the gate decided, only what fails is shown in full, and its decision comes last."""
    report = printable(raw, style)
    diagnosis, outcome = report.diagnosis, report.outcome
    shown = diagnosis.findings if outcome is None else gate.failing(report)
    sections: list[RenderableType] = [_heading(diagnosis, style), _verdict(diagnosis)]
    if diagnosis.time.parts is not None and diagnosis.time.whole_s:
        sections.append(_time(diagnosis, diagnosis.time.parts, style))
    if diagnosis.labels:
        sections.append(labels.table(diagnosis.labels, style))
    sections += [
        _finding(number, finding, report, style) for number, finding in enumerate(shown, 1)
    ]
    if rest := unexplained(diagnosis.time):
        head, *below = (Text(plain(text, style), style="dim") for text in rest)
        head.stylize("bold")
        sections.append(Group(head, *below))
    if outcome is not None and (rows := gate.passed_by(report, style)):
        sections.append(Group(*rows))
    sections.append(_closing(diagnosis, raw.diagnosis, style))
    if outcome is not None:
        sections.append(gate.decision(raw, outcome, style))
    return sections


def _heading(diagnosis: Diagnosis, style: Style) -> Text:
    text = Text("xladoctor  ", style="bold")
    return text.append(plain(" · ".join(program(diagnosis.run)), style), style="dim")


def _verdict(diagnosis: Diagnosis) -> Text:
    serious = any(finding.severity == "error" for finding in diagnosis.findings)
    return Text(diagnosis.verdict.text, style="bold red" if serious else "bold")


def _time(diagnosis: Diagnosis, parts: TimeParts, style: Style) -> Group:
    spent = [(part, seconds, seconds / diagnosis.time.whole_s) for part in PARTS
             if (seconds := getattr(parts, f"{part}_s"))]  # fmt: skip
    rows: list[RenderableType] = [_bar(spent, style), _legend(spent, style)]
    device, waited = diagnosis.time.device_s, parts.read_s + parts.barrier_s
    if device is not None and waited >= _WORTH_SAYING * diagnosis.time.whole_s:
        rows.append(Text(plain(f"the device worked for {duration(device)} of the time that"
                               " the host waited for it", style), style="dim"))  # fmt: skip
    if diagnosis.steps is not None:
        rows.append(Text(plain("; ".join(steps_of(diagnosis.steps)), style), style="dim"))
    rows += [Text(plain(text, style), style="dim") for text in devices.describe(diagnosis.devices)]
    return Group(*rows)


def _drawn(part: PartName, style: Style) -> tuple[str, str]:
    block, ascii_block, color = _DRAWN[part]
    return (block if style.unicode else ascii_block), color


def _bar(spent: Spent, style: Style) -> Text:
    """One line, the parts in proportion; each part keeps its own character without colour."""
    width = min(style.width, 100)
    bar, done, filled = Text(), 0.0, 0
    for part, _, share in spent:
        done += share
        upto = min(width, round(done * width))
        character, color = _drawn(part, style)
        bar.append(character * (upto - filled), style=color)
        filled = max(filled, upto)
    return bar


def _legend(spent: Spent, style: Style) -> Text:
    """The parts with their figures, as many on a line as there is room for."""
    legend, column = Text(), 0
    for part, seconds, share in spent:
        if share < _WORTH_SHOWING:
            continue
        entry = plain(f"{PARTS[part]} {duration(seconds)} {percent(share)}", style)
        if column and column + len(entry) + 3 > style.width:
            legend.append("\n")
            column = 0
        character, color = _drawn(part, style)
        legend.append(character * 2, style=color)
        legend.append(f" {entry}  ")
        column += len(entry) + 5
    return legend


def _finding(number: int, finding: Finding, report: Report, style: Style) -> RenderableType:
    head = Text(f"{number:>2}  ").append(finding.severity, style=_SEVERITY[finding.severity])
    head.append(f"  {finding.rule}  ", style="bold").append(finding.title, style="bold")
    cost = cost_of(finding, report.diagnosis.time.base)
    body: list[RenderableType] = [Text(plain(cost, style))]
    if (made := judgements(report).get(finding.fingerprint)) is not None:
        body.insert(0, Text(plain(f"{STATES[made.state]}: {made.reason}", style), style="red"))
    gain = saving_of(finding, report.diagnosis)
    if gain:
        body.append(Text(plain(f"fixed: {gain}", style)))
    body += explained(finding, style)
    return Group(head, indented(body, style))


def explained(finding: Finding, style: Style) -> list[RenderableType]:
    """The lines, the cause and the fix."""
    rows: list[RenderableType] = []
    for location in finding.locations:
        rows += _location(location, style)
    if not finding.locations:
        place = finding.place or "no line in this evidence"
        rows.append(Text(plain(place, style), style="bold cyan" if finding.place else "dim"))
    rows.append(_labelled("why", finding.message, style))
    rows += [_labelled("also", text + ".", style) for text in finding.consequences]
    rows.append(_labelled("fix", " ".join(finding.fix.split()), style))
    return rows


def indented(body: list[RenderableType], style: Style) -> RenderableType:
    """What belongs below a heading with a number."""
    return Padding(Group(*body), (0, 0, 0, 4 if style.width >= _NARROW else 1))


def _location(location: Location, style: Style) -> list[RenderableType]:
    label = ROLES.get(location.role)
    place = Text(f"{label} " if label else "", style="dim")
    place.append(f"{location.file}:{location.line}", style="" if label else "bold cyan")
    if location.function and location.function != "<module>":
        place.append(f"  in {location.function}", style="dim")
    rows: list[RenderableType] = [place]
    if location.source and location.source.strip():
        code = f"{'│' if style.unicode else '|'} {location.source.strip()}"
        overflow: OverflowMethod = "ellipsis" if style.unicode else "crop"
        rows.append(Text(code, overflow=overflow, no_wrap=True))
    return rows


def _labelled(label: str, text: str, style: Style) -> RenderableType:
    if style.width < _NARROW:
        return Text(f"{label}: ", style="bold").append(plain(text, style), style="not bold")
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=4)
    grid.add_column(ratio=1)
    grid.add_row(Text(label, style="bold green" if label == "fix" else "bold"),
                 Text(plain(text, style)))  # fmt: skip
    return grid


def _closing(diagnosis: Diagnosis, raw: Diagnosis, style: Style) -> Group:
    """What was judged, and commands, in which names stand as they are."""
    path = quoted(raw.run.path)
    rows: list[RenderableType] = [Text(outcomes(diagnosis), style="bold")]
    ignored = ignored_ones(diagnosis.ignored) if style.show_ignored else []
    said = [*unjudged(diagnosis.not_checked), *ignored]
    rows += [Hanging(Text(plain(text, style), style="dim")) for text in said]
    rows += [Hanging(Text(plain(f"note: {w}", style), style="yellow")) for w in diagnosis.warnings]
    if diagnosis.findings:
        first = diagnosis.findings[0].rule
        rows.append(Text(f"  about a rule: xladoctor explain {first}", style="dim"))
    one_path = diagnosis.run.kind != "files"
    if one_path and any(finding.compilations for finding in diagnosis.findings):
        rows.append(Text(f"  every compilation: xladoctor compilations {path}",
                         style="dim", overflow="fold"))  # fmt: skip
    if diagnosis.run.kind in ("run", "remote"):
        rows.append(Text(f"  run directory: {diagnosis.run.path}", overflow="fold"))
        rows.append(Text(f"  again: xladoctor analyze {path}", style="dim",
                         overflow="fold"))  # fmt: skip
    elif following := next_command(raw):
        rows.append(Text(f"  {following[0]}: {following[1]}", overflow="fold"))
    return Group(*rows)
