"""The report on a terminal: verdict, where the time went, ranked findings, what was checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TextIO, cast

from rich.cells import cell_len
from rich.console import Group, OverflowMethod, RenderableType
from rich.padding import Padding
from rich.style import Style as RichStyle
from rich.text import Text

from xladoctor.diagnosis.finding import Finding, Location
from xladoctor.diagnosis.interface import Diagnosis, TimeParts
from xladoctor.diagnosis.pictures.interface import Pictures
from xladoctor.facts.parts import PARTS, PartName
from xladoctor.quantities import duration, percent
from xladoctor.report import devices, gate, labels, patches, pods, tpu_graphs
from xladoctor.report.alike import Alike, alike
from xladoctor.report.closing import closing, is_brief
from xladoctor.report.excerpt import excerpt
from xladoctor.report.interface import Report, Style
from xladoctor.report.levels import judgements
from xladoctor.report.links import link
from xladoctor.report.patches import described
from xladoctor.report.step_times import scale, step_times
from xladoctor.report.text import (
    FOLDED,
    FittedText,
    Hanging,
    breakable,
    grid,
    plain,
    printable,
    styled,
    write,
)
from xladoctor.report.words import (
    ROLES,
    STATES,
    cost_of,
    part_name,
    place_of,
    program,
    saving_of,
    steps_of,
    tried,
    unexplained,
    unexplained_in_short,
)

_WORTH_SHOWING, _WORTH_SAYING = 0.005, 0.02  # of the whole
_SEVERITY = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
_NARROW = 60
_WIDE = 100
_ROOM_FOR_LIST = 72
_MANY, _LISTED = 3, 8  # findings from which on a list comes first, and the most that it has
_SAVES = "saves"
_WHERE = ("guilty", "caller")

Spent = Sequence[tuple[PartName, float, float]]  # seconds, and share of the whole


def render(reports: Sequence[Report], output: TextIO, style: Style) -> None:
    """Write the whole reports, one below the other."""
    for number, report in enumerate(reports):
        sections = _sections(report, style)
        spaced = [line for part in sections for line in (part, Text())][:-1]
        write([Text(), *spaced] if number else spaced, output, style)


def _sections(raw: Report, style: Style) -> list[RenderableType]:
    """The sections of a report. With a gate, the decision and what fails come first, and only that
    is shown in full; what to do about it comes last.
    """
    report = printable(raw, style)
    diagnosis, outcome = report.diagnosis, report.outcome
    shown = diagnosis.findings if outcome is None else gate.decisive(report)
    account, findings = [*_account(report, style)], [*_findings(shown, report, style)]
    sections: list[RenderableType] = [_heading(diagnosis, style)]
    if outcome is None:
        sections += [*account, *findings]
    else:
        passed = gate.passed_by(report, style)
        sections += [gate.decision(outcome, style), *findings]
        sections += [*([Group(*passed)] if passed else []), *account]
    sections += _evidence(diagnosis, style)
    sections.append(closing(diagnosis, raw.diagnosis, style))
    if outcome is not None and (todo := [*gate.what_to_do(raw, outcome, style)]):
        sections.append(Group(*todo))
    return sections


def _account(report: Report, style: Style) -> Iterator[RenderableType]:
    """What limits the program, and where its time went."""
    diagnosis = report.diagnosis
    yield _verdict(report)
    yield from pods.sections(diagnosis.pod, style)
    if diagnosis.time.parts is not None and diagnosis.time.whole_s:
        yield _time(diagnosis, diagnosis.time.parts, style)
    if (steps := _steps(diagnosis, style)) is not None:
        yield steps
    yield from tpu_graphs.sections(diagnosis.tpu_graphs, style)


def _evidence(diagnosis: Diagnosis, style: Style) -> Iterator[RenderableType]:
    """What no finding explains, and the device; in short where there is something to fix."""
    if rest := unexplained(diagnosis.time):
        if is_brief(diagnosis, style):
            rest = [unexplained_in_short(diagnosis.time)]
        head, *below = (Text(plain(text, style).strip(), style="dim") for text in rest)
        head.stylize("bold", 0, head.plain.find(":"))
        yield Group(head, *map(Hanging, below))
    if is_brief(diagnosis, style):
        return
    if used := devices.describe(diagnosis.devices):
        yield Group(*(styled(text, style, "dim") for text in used))
    if diagnosis.labels:
        yield labels.table(diagnosis.labels, style)


def _findings(shown: Sequence[Finding], report: Report, style: Style) -> Iterator[RenderableType]:
    """A list, if there are several, and those in full that were asked for."""
    groups = in_full = alike(shown)
    has_room = style.width >= _ROOM_FOR_LIST
    if style.detail.top is not None:
        in_full = groups[: style.detail.top]
    elif has_room and report.outcome is None and is_brief(report.diagnosis, style):
        in_full = _to_begin_with(groups)
    left = len(groups) - len(in_full)
    if has_room and (left or len(groups) >= _MANY):
        yield ranking(groups, style)
    for group in in_full:
        yield _group(group, report, style)
    if left:
        yield Text(f"{left} more in full: --verbose", style="dim")


def _to_begin_with(groups: Sequence[Alike]) -> list[Alike]:
    """What saves most, and what is to be fixed first, if that is another."""
    first = next((group for group in groups if group.first.severity != "info"), groups[0])
    return [groups[0]] if first is groups[0] else [groups[0], first]


def _heading(diagnosis: Diagnosis, style: Style) -> Text:
    text = Text("xladoctor  ", style="bold")
    return text.append(plain(" · ".join(program(diagnosis.run)), style), style="dim")


def _verdict(report: Report) -> Text:
    serious = any(finding.severity == "error" for finding in report.diagnosis.findings)
    return Text(gate.headline(report), style="bold red" if serious else "bold")


def _time(diagnosis: Diagnosis, parts: TimeParts, style: Style) -> Group:
    least = _WORTH_SHOWING * diagnosis.time.whole_s
    spent = [
        (part, seconds, seconds / diagnosis.time.whole_s)
        for part in PARTS
        if (seconds := getattr(parts, f"{part}_s")) >= least
    ]
    rows: list[RenderableType] = [_bar(spent, style), _legend(spent, diagnosis, style)]
    device, waited = diagnosis.time.device_s, parts.read_s + parts.barrier_s
    if device is not None and waited >= _WORTH_SAYING * diagnosis.time.whole_s:
        said = f"the device worked for {duration(device)} of the time that the host waited for it"
        rows.append(styled(said, style, "dim"))
    return Group(*rows)


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


def _group(group: Alike, report: Report, style: Style) -> RenderableType:
    """Findings with the same fix: each with its cost and line, and its patch; the fix once, at the
    end of those without a patch.
    """
    first = group.first
    head = Text(f"{group.number:>2}  ").append(first.severity, style=_SEVERITY[first.severity])
    head.append(f"  {first.rule}  ", style="bold")
    unpatched = [each for each in group.findings if not each.suggestion]
    bodies = [
        _finding(each if each in unpatched[-1:] else replace(each, fix=""), report, style)
        for each in group.findings
    ]
    return Group(_titled(head, group.title, style), *(indented(body, style) for body in bodies))


def _finding(finding: Finding, report: Report, style: Style) -> list[RenderableType]:
    cost = cost_of(finding, report.diagnosis)
    body: list[RenderableType] = [styled(cost, style)] if cost else []
    if (made := judgements(report).get(finding.fingerprint)) is not None:
        body.insert(0, styled(f"{STATES[made.state]}: {made.reason}", style, "red"))
    gain = saving_of(finding, report.diagnosis)
    if gain:
        body.append(styled(f"fixed: {gain}", style))
    return body + explained(finding, style, report.diagnosis)


def _titled(head: Text, title: str, style: Style) -> RenderableType:
    """A title that goes on below its beginning."""
    if style.width < _NARROW:
        return head.append(title, style="bold")
    return grid([(head, Text(title, style="bold"))], gap=0)


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
        rows.append(styled(place, style, "bold cyan" if finding.place else "dim"))
    rows.append(_labelled("why", finding.message, style))
    rows += [_labelled("also", text + ".", style) for text in finding.consequences]
    patch = finding.suggestion
    if fix := described(patch) if patch else " ".join(finding.fix.split()):
        rows.append(_labelled("fix", fix, style))
    if patch and diagnosis:
        rows += patches.excerpt(patch, finding, diagnosis, style)
    if finding.tried:
        rows.append(_labelled("test", tried(finding), style))
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


def ranking(groups: Sequence[Alike], style: Style) -> RenderableType:
    """A line for each group: severity, rule, title, place, and what fixing it saves."""
    listed = groups[:_LISTED]
    gains = [plain(group.gain, style) for group in listed]
    places = [plain(group.place, style) for group in listed]
    widths = [
        min(max(map(cell_len, places)), style.width // 3),
        max(map(cell_len, [_SAVES, *gains])),
    ]
    names = [
        max(len(group.first.severity) for group in listed),
        max(len(group.first.rule) for group in listed),
    ]
    places = [_end_of(place, widths[0], style) for place in places]
    room = style.width - 7 - sum(names) - sum(widths)
    ends = {"no_wrap": True, "overflow": "ellipsis" if style.unicode else "crop"}
    columns: list[dict[str, Any]] = [
        {"width": 2, "justify": "right"},
        *({"width": width, "no_wrap": True} for width in names),
        {"max_width": max(1, room), **FOLDED},
        {"width": widths[0], **ends},
        {"width": widths[1], "justify": "right", **ends},
    ]
    rows = [[*[Text()] * 5, Text(_SAVES, style="dim")]]
    for group, place, gain in zip(listed, places, gains, strict=True):
        severity = Text(group.first.severity, style=_SEVERITY[group.first.severity])
        rule, title = Text(group.first.rule, style="bold"), Text(group.title)
        number, at = Text(str(group.number)), Text(place, style="cyan")
        rows.append([number, severity, rule, title, at, Text(gain)])
    more = len(groups) - _LISTED
    rest = [Text(f"   and {more} more", style="dim")] if more > 0 else []
    return Group(grid(rows, *columns, gap=1), *rest)


def _end_of(place: str, width: int, style: Style) -> str:
    """A place within a width: its end has the line."""
    if cell_len(place) <= width:
        return place
    cut = "…" if style.unicode else "~"
    while cell_len(place) > width - 1:
        place = place[1:]
    return cut + place


def indented(body: list[RenderableType], style: Style) -> RenderableType:
    """What belongs below a heading with a number."""
    return Padding(Group(*body), (0, 0, 0, 4 if style.width >= _NARROW else 1))


def _location(
    location: Location, style: Style, diagnosis: Diagnosis | None, *, around: bool = False
) -> list[RenderableType]:
    label = ROLES.get(location.role)
    place = Text(f"{label} " if label else "", style="dim")
    look = RichStyle.parse("" if label else "bold cyan")
    cwd = diagnosis.run.cwd if diagnosis else None
    if style.links and (target := link(location.file, location.line, cwd)):
        look += RichStyle(link=target)
    place.append(f"{location.file}:{location.line}", style=look)
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


def _labelled(label: str, text: str, style: Style) -> RenderableType:
    if style.width < _NARROW:
        return Text(f"{label}: ", style="bold").append(plain(text, style), style="not bold")
    shown = plain(text, style)
    said = FittedText(lambda width: Text(breakable(shown, width), overflow="fold"))
    name = Text(label, style="bold green" if label == "fix" else "bold")
    return grid([(name, said)], {"width": 4}, {"ratio": 1, **FOLDED}, gap=1)
