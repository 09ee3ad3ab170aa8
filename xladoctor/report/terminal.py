"""The report on a terminal: verdict, where the time went, ranked findings, what was checked."""

from __future__ import annotations

import shlex
import signal
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TextIO, TypeVar, cast

from rich.console import Group, OverflowMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xladoctor.diagnosis.facts import LIMITS, duration, percent
from xladoctor.diagnosis.interface import Diagnosis, Finding, Location, TimeParts
from xladoctor.report import devices
from xladoctor.report.interface import Style
from xladoctor.report.text import plain, write

_PARTS = (
    ("compile", "compile_s", "█", "#", "red"),
    ("blocked", "blocked_s", "▓", "x", "magenta"),
    ("input", "input_s", "▒", "i", "yellow"),
    ("Python", "tracing_s", "░", ".", "blue"),
    ("device", "device_s", "▞", "=", "green"),
    ("other", "other_s", "·", "-", "bright_black"),
)
_SEVERITY = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
_BASIS = {"measured": "", "estimate": "about ", "bound": "at most ", "none": ""}
_ROLES = {
    "caller": "called from",
    "made": "made at",
    "used": "first used at",
    "compiled": "compiled at",
    "due": "the barrier that is due:",
}
_NARROW = 60
_NEXT_TO_NOTHING = 0.005  # of the loop
_LESS = 0.8  # of a saving that better fixes leave, below which the report says so
Value = TypeVar("Value")


def render(diagnosis: Diagnosis, output: TextIO, style: Style) -> None:
    """Write the whole report."""
    diagnosis = _printable(diagnosis, style)
    spaced = [line for part in _sections(diagnosis, style) for line in (part, Text())]
    write([*spaced, _closing(diagnosis, style)], output, style)


def _sections(diagnosis: Diagnosis, style: Style) -> list[RenderableType]:
    sections: list[RenderableType] = [_heading(diagnosis, style), _verdict(diagnosis)]
    if diagnosis.time.parts is not None and diagnosis.time.loop_s:
        sections.append(_time(diagnosis, diagnosis.time.parts, diagnosis.time.loop_s, style))
    sections += [
        _finding(number, f, diagnosis, style) for number, f in enumerate(diagnosis.findings, 1)
    ]
    return sections


def _heading(diagnosis: Diagnosis, style: Style) -> Text:
    run = diagnosis.run
    interpreted = Path(run.command[0]).name.startswith("python") if run.command else False
    words = run.command[1:] if interpreted else run.command
    command = " ".join(w if w.strip() and w.split() == [w] else shlex.quote(w) for w in words)
    facts = [command or run.path]
    if run.device:
        several = run.processes == 1 and run.devices > 1
        facts.append(run.device + (f" × {run.devices}" if several else ""))
    if run.processes > 1:
        facts.append(f"{run.processes} processes")
    if run.torch_xla:
        facts.append(f"torch_xla {run.torch_xla}")
    if run.signal:
        facts.append(f"ended by {_signal_name(run.signal)}")
    elif run.status:
        facts.append(f"exit status {run.status}")
    text = Text("xladoctor  ", style="bold")
    return text.append(plain(" · ".join(facts), style), style="dim")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _verdict(diagnosis: Diagnosis) -> Text:
    serious = any(finding.severity == "error" for finding in diagnosis.findings)
    return Text(diagnosis.verdict.text, style="bold red" if serious else "bold")


def _time(diagnosis: Diagnosis, parts: TimeParts, loop_s: float, style: Style) -> Group:
    rows: list[RenderableType] = [_bar(parts, loop_s, style), _legend(parts, loop_s, style)]
    steps = diagnosis.steps
    if steps is not None:
        text = f"{steps.count} step{'s' * (steps.count != 1)}, {steps.warmup} of them warm-up"
        if steps.median_ms is not None:
            text += f"; median step {duration(steps.median_ms / 1e3)}"
        rows.append(Text(plain(text, style), style="dim"))
    rows += [Text(plain(text, style), style="dim") for text in devices.describe(diagnosis.devices)]
    return Group(*rows)


def _bar(parts: TimeParts, loop_s: float, style: Style) -> Text:
    """One line, the parts in proportion; each part keeps its own character without colour."""
    width = min(style.width, 100)
    bar, done, filled = Text(), 0.0, 0
    for _, key, block, ascii_block, color in _PARTS:
        done += getattr(parts, key) / loop_s
        upto = min(width, round(done * width))
        bar.append((block if style.unicode else ascii_block) * (upto - filled), style=color)
        filled = max(filled, upto)
    return bar


def _legend(parts: TimeParts, loop_s: float, style: Style) -> Text:
    """The parts with their figures, as many on a line as there is room for."""
    legend, column = Text(), 0
    for name, key, block, ascii_block, color in _PARTS:
        seconds = getattr(parts, key)
        entry = plain(f"{name} {duration(seconds)} {percent(seconds / loop_s)}", style)
        if column and column + len(entry) + 3 > style.width:
            legend.append("\n")
            column = 0
        legend.append((block if style.unicode else ascii_block) * 2, style=color)
        legend.append(f" {entry}  ")
        column += len(entry) + 5
    return legend


def _finding(number: int, finding: Finding, diagnosis: Diagnosis, style: Style) -> RenderableType:
    head = Text(f"{number:>2}  ").append(finding.severity, style=_SEVERITY[finding.severity])
    head.append(f"  {finding.rule}  ", style="bold").append(finding.title, style="bold")
    body: list[RenderableType] = [Text(plain(_cost(finding), style))]
    saving = _saving(finding, diagnosis)
    if saving:
        body.append(Text(plain(f"fixed: {saving}", style)))
    for location in finding.locations:
        body += _location(location, style)
    if not finding.locations:
        body.append(Text("no line in this evidence", style="dim"))
    body.append(_labelled("why", finding.message, style))
    body += [_labelled("also", text + ".", style) for text in finding.consequences]
    body.append(_labelled("fix", " ".join(finding.fix.split()), style))
    indent = 4 if style.width >= _NARROW else 1
    return Group(head, Padding(Group(*body), (0, 0, 0, indent)))


def _cost(finding: Finding) -> str:
    parts = []
    cost, saving = finding.cost, finding.saving
    if cost.seconds is not None:
        share = f" ({percent(cost.share)} of the loop)" if cost.share is not None else ""
        parts.append(f"costs {_BASIS[cost.basis]}{duration(cost.seconds)}{share}")
    else:
        parts.append("cost not known from this evidence")
    if saving.basis == "bound" and saving.per_step_ms is not None:
        parts.append(f"a fix saves at most {duration(saving.per_step_ms / 1e3)} a step")
    per_step = "" if finding.per_step is None else f", {finding.per_step:.2g} a step"
    if finding.count > 1:
        parts.append(f"{finding.count} times{per_step}")
    if len(finding.processes) > 1:
        parts.append(f"processes {', '.join(finding.processes)}")
    return "; ".join(parts)


def _saving(finding: Finding, diagnosis: Diagnosis) -> str | None:
    """What the replay says of the fix: now and after, of a step and of the run."""
    saving, loop_s = finding.saving, diagnosis.time.loop_s
    if saving.basis != "estimate" or saving.seconds is None:
        return None
    then = f"limited by {LIMITS[saving.limited_by]}" if saving.limited_by else ""
    if (saving.share or 0.0) < _NEXT_TO_NOTHING:
        return f"gains next to nothing by itself: a step stays {then}" if then else None
    parts = []
    if saving.now_ms is not None and saving.after_ms is not None:
        parts.append(f"a step {duration(saving.now_ms / 1e3)} → {duration(saving.after_ms / 1e3)}")
    if loop_s:
        parts.append(f"the loop {duration(loop_s)} → {duration(max(0.0, loop_s - saving.seconds))}")
    text = f"{', '.join(parts)} (estimate)"
    if saving.remaining_s is not None and saving.remaining_s < _LESS * saving.seconds:
        little = saving.remaining_s < _NEXT_TO_NOTHING * (loop_s or 0.0)
        left = "nothing" if little else duration(saving.remaining_s)
        text += f", {left} of it after the fixes above"
    if saving.projected_s is not None:
        text += f"; {duration(saving.projected_s)} in {diagnosis.total_steps} steps"
    return f"{text}; then {then}" if then else text


def _location(location: Location, style: Style) -> list[RenderableType]:
    label = _ROLES.get(location.role)
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


def _closing(diagnosis: Diagnosis, style: Style) -> Group:
    rules = diagnosis.rules
    counts = (
        f"{len(rules.fired)} rule{'s' * (len(rules.fired) != 1)} fired, {len(rules.clear)} clear,"
        f" {len(rules.not_evaluated)} not evaluated, {len(diagnosis.ignored)} findings suppressed"
    )
    rows = [Text(counts, style="bold")]
    reasons: dict[str, list[str]] = {}
    for skipped in diagnosis.not_checked:
        reasons.setdefault(skipped.reason, []).append(skipped.rule)
    rows += [
        Text(plain(f"  {', '.join(ids)} not evaluated: {reason}", style), style="dim")
        for reason, ids in reasons.items()
    ]
    rows += [
        Text(plain(f"  {i.rule} suppressed at {i.file}:{i.line}: {i.reason or 'no reason given'}",
                    style), style="dim")
        for i in diagnosis.ignored
    ]  # fmt: skip
    rows += [Text(plain(f"  note: {w}", style), style="yellow") for w in diagnosis.warnings]
    if diagnosis.findings:
        first = diagnosis.findings[0].rule
        rows.append(Text(f"  more on a rule: xladoctor explain {first}", style="dim"))
    if any(finding.cause.get("compilations") for finding in diagnosis.findings):
        rows.append(Text(f"  each compilation: xladoctor compilations {diagnosis.run.path}",
                         style="dim", overflow="fold"))  # fmt: skip
    if diagnosis.run.kind in ("run", "remote"):
        rows.append(Text(f"  run directory: {diagnosis.run.path}", overflow="fold"))
        rows.append(Text(f"  again: xladoctor analyze {diagnosis.run.path}", style="dim",
                         overflow="fold"))  # fmt: skip
    else:
        rows.append(Text("  for lines, causes and times: xladoctor run your_script.py"))
    return Group(*rows)


def _printable(value: Value, style: Style) -> Value:
    """The same with all texts in it made fit for the terminal: they come from the program."""
    if isinstance(value, str):
        return cast(Value, plain(value, style))
    if isinstance(value, list):
        return cast(Value, [_printable(item, style) for item in value])
    if is_dataclass(value) and not isinstance(value, type):
        texts = {f.name: _printable(getattr(value, f.name), style) for f in fields(value)}
        return replace(value, **texts)
    return value
