"""The report on a terminal: a screen with what to do first, or everything.

The screen has the verdict, where the time went, the list of findings, and one of them: what is to
be done first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TextIO

from rich.console import Group, RenderableType
from rich.text import Text

from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.quantities import counted, first_few
from xladoctor.report import devices, gate, labels, memory, pods, shardings, tpu_graphs
from xladoctor.report.alike import Alike, alike
from xladoctor.report.closing import closing, is_brief, to_do_first
from xladoctor.report.finding_text import NARROW, explained, in_short, indented, labelled
from xladoctor.report.interface import Report, Style
from xladoctor.report.levels import judgements
from xladoctor.report.listing import ROOM, SEVERITY, listing
from xladoctor.report.step_times import scale, step_times
from xladoctor.report.text import Hanging, grid, plain, printable, styled, write
from xladoctor.report.time_bar import time_bar
from xladoctor.report.words import (
    STATES,
    cost_of,
    program,
    saving_of,
    start_up,
    steps_of,
    unexplained,
    unexplained_in_short,
)
from xladoctor.repository import short

_MANY = 3  # findings from which on a list comes first
_LEAST_OF_COMMAND = 20  # characters
_OF_PATCH, _LEAST_OF_PATCH = 8, 4  # lines on a screen, with a short list or a long one


def render(reports: Sequence[Report], output: TextIO, style: Style) -> None:
    """Write the reports, one below the other."""
    for number, report in enumerate(reports):
        sections = _sections(report, style)
        spaced = [line for part in sections for line in (part, Text())][:-1]
        write([Text(), *spaced] if number else spaced, output, style)


def _sections(raw: Report, style: Style) -> list[RenderableType]:
    """The sections of a report. With a gate, the decision and what fails come first, and only that
    is shown; what to do about it comes last.
    """
    report = printable(raw, style)
    diagnosis, outcome = report.diagnosis, report.outcome
    sections: list[RenderableType] = [_beginning(report, style)]
    if outcome is None:
        sections += [*_account(diagnosis, style), *_findings(report, style)]
        sections += _evidence(diagnosis, style)
    else:
        passed = gate.passed_by(report, style)
        sections += _findings(report, style)
        sections += [Group(*passed)] if passed else []
        if outcome.times or style.detail.verbose:
            sections += [*_account(diagnosis, style), *_evidence(diagnosis, style)]
    sections.append(closing(diagnosis, raw.diagnosis, style))
    if outcome is not None and (todo := [*gate.what_to_do(raw, outcome, style)]):
        sections.append(Group(*todo))
    return sections


def _beginning(report: Report, style: Style) -> RenderableType:
    """What ran, and the verdict."""
    heading = Text("xladoctor  ", style="bold")
    heading.append(plain(_what_ran(report.diagnosis, style), style), style="dim")
    serious = any(finding.severity == "error" for finding in report.diagnosis.findings)
    if report.outcome is not None:
        return Group(heading, gate.decision(report, report.outcome, style))
    return Group(heading, Text(gate.headline(report), style="bold red" if serious else "bold"))


def _what_ran(diagnosis: Diagnosis, style: Style) -> str:
    """The command, on what, and how it ended; on a screen, a long command is cut."""
    command, *facts = program(diagnosis.run)
    if is_brief(style) and diagnosis.steps:
        facts.append(counted(diagnosis.steps.count, "step"))
    room = style.width - sum(len(fact) + 3 for fact in facts) - len("xladoctor  ")
    if is_brief(style) and len(command) > max(room, _LEAST_OF_COMMAND):
        command = command[: max(room, _LEAST_OF_COMMAND) - 1] + "…"
    return " · ".join([command, *facts])


def _account(diagnosis: Diagnosis, style: Style) -> Iterator[RenderableType]:
    """Where the time went."""
    yield from pods.sections(diagnosis.pod, style)
    if diagnosis.time.parts is not None and diagnosis.time.whole_s:
        yield time_bar(diagnosis, diagnosis.time.parts, style, in_short=is_brief(style))
    if not is_brief(style) and (steps := _steps(diagnosis, style)) is not None:
        yield steps
    yield from tpu_graphs.sections(diagnosis.tpu_graphs, style)


def _steps(diagnosis: Diagnosis, style: Style) -> Group | None:
    """The number of steps, their times, and how these changed over the run."""
    if diagnosis.steps is None:
        return None
    said, course = steps_of(diagnosis.steps), step_times(diagnosis.step_groups, style)
    if course is None:
        return Group(styled("; ".join(said), style, "dim"))
    said.append(scale(diagnosis.step_groups, style))
    summary = styled("; ".join(said), style, "dim")
    if len(course) + 2 + len(summary) <= style.width:
        return Group(course.append("  ").append_text(summary))
    return Group(course, summary)


def _evidence(diagnosis: Diagnosis, style: Style) -> Iterator[RenderableType]:
    """The steps, what no finding explains, and the device; on a screen where nothing is to be
    fixed, a line or two of each.
    """
    used = devices.describe(diagnosis.devices)
    if is_brief(style):
        if began := start_up(diagnosis.time):
            yield styled(" ".join(text.strip() for text in began[:2]), style, "dim")
        if to_do_first(diagnosis):
            return
        rows = ["; ".join(steps_of(diagnosis.steps))] if diagnosis.steps else []
        rows += [unexplained_in_short(diagnosis.time)] if diagnosis.time.unexplained else []
        rows += used[:1]
        if rows:
            yield Group(*(styled(text, style, "dim") for text in rows))
        return
    for rest in filter(None, (start_up(diagnosis.time), unexplained(diagnosis.time))):
        head, *below = (Text(plain(text, style).strip(), style="dim") for text in rest)
        head.stylize("bold", 0, head.plain.find(":"))
        yield Group(head, *map(Hanging, below))
    if used:
        yield Group(*(styled(text, style, "dim") for text in used))
    if diagnosis.memory and diagnosis.memory.programs:
        largest = diagnosis.memory.programs[0]
        text = f"memory of {memory.title(largest)} ({memory.sums(largest)})"
        yield styled(text, style, "dim")
    if diagnosis.shardings:
        first = diagnosis.shardings[0]
        yield styled(f"{shardings.title(first)} ({shardings.facts(first)[0]})", style, "dim")
    if diagnosis.labels:
        yield labels.table(diagnosis.labels, style)


def _findings(report: Report, style: Style) -> Iterator[RenderableType]:
    """The list, and the findings that are shown."""
    outcome, detail = report.outcome, style.detail
    groups = alike(report.diagnosis.findings if outcome is None else gate.decisive(report))
    if detail.verbose or detail.top is not None:
        in_full = groups[: detail.top]
        if style.width >= ROOM and (len(in_full) < len(groups) or len(groups) >= _MANY):
            yield listing(groups, style)
        yield from (_in_full(group, report, style) for group in in_full)
        if left := len(groups) - len(in_full):
            yield Text(f"{left} more in full: --verbose", style="dim")
        return
    first = to_do_first(report.diagnosis)
    if outcome is None and groups and (len(groups) > 1 or not first):
        yield listing(groups, style)
        if first:
            chosen = next(group for group in groups if first in group.findings)
            yield _in_short(chosen, report, style, listed=len(groups))
    else:
        yield from (_in_short(group, report, style) for group in groups)


def _in_short(group: Alike, report: Report, style: Style, *, listed: int = 0) -> RenderableType:
    """The first finding of a group; its line of the list above it, unless it was listed already.

    Args:
        listed: how many groups were.
    """
    body = _judgement(group.first, report, style)
    most = max(_LEAST_OF_PATCH, _OF_PATCH - listed)
    body += in_short(group.first, style, report.diagnosis, most)
    others = [at for each in group.findings[1:] for at in each.locations[:1]]
    if others:
        lines = first_few([f"{short(at.file)}:{at.line}" for at in others])
        body.append(labelled("also", lines, style))
    if listed:
        number = Text(f"{group.number:>2}", style="bold")
        return grid([(number, Group(*body))], {"width": 2}, gap=2)
    by_counts = not gate.shows_times(report)
    shown = listing([group], style, by_counts=by_counts, places=False)
    return Group(shown, indented(body, style))


def _in_full(group: Alike, report: Report, style: Style) -> RenderableType:
    """Findings with the same fix: each with its cost and line, and its patch; the fix once, at the
    end of those without a patch.
    """
    first = group.first
    head = Text(f"{group.number:>2}  ").append(first.severity, style=SEVERITY[first.severity])
    head.append(f"  {first.rule}  ", style="bold")
    unpatched = [each for each in group.findings if not each.suggestion]
    bodies = [
        _finding(each if each in unpatched[-1:] else replace(each, fix=""), report, style)
        for each in group.findings
    ]
    return Group(_titled(head, group.title, style), *(indented(body, style) for body in bodies))


def _finding(finding: Finding, report: Report, style: Style) -> list[RenderableType]:
    cost = cost_of(finding, report.diagnosis)
    body = _judgement(finding, report, style)
    body += [styled(cost, style)] if cost else []
    if gain := saving_of(finding, report.diagnosis):
        body.append(styled(f"fixed: {gain}", style))
    return body + explained(finding, style, report.diagnosis)


def _judgement(finding: Finding, report: Report, style: Style) -> list[RenderableType]:
    """What the gate made of it, if there was one."""
    made = judgements(report).get(finding.fingerprint)
    return [] if made is None else [styled(f"{STATES[made.state]}: {made.reason}", style, "red")]


def _titled(head: Text, title: str, style: Style) -> RenderableType:
    """A title that goes on below its beginning."""
    if style.width < NARROW:
        return head.append(title, style="bold")
    return grid([(head, Text(title, style="bold"))], gap=0)
