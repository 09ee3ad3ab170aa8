"""What the comment and the job's summary have in common: a section for each program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from xladoctor.diagnosis.finding import Finding, Location
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pod import Pod
from xladoctor.diagnosis.tpu_graph import TpuGraph
from xladoctor.gate.interface import BudgetOutcome, GateOutcome
from xladoctor.quantities import clipped, counted
from xladoctor.report import pods, tpu_graphs
from xladoctor.report.alerts import Alert, alerts, consumer_text
from xladoctor.report.gate import headline, shows_times
from xladoctor.report.interface import Report, Style
from xladoctor.report.markup import block, code, element, inline, prose, table
from xladoctor.report.next_command import next_command
from xladoctor.report.patches import described
from xladoctor.report.places import path_shown
from xladoctor.report.text import plain, printable
from xladoctor.report.words import (
    ROLES,
    STATES,
    amount,
    ignored_ones,
    name_of,
    outcomes,
    program,
    steps_of,
    tried,
    unjudged,
)

_STATUS = {"failed": "failed", "missing": "could not judge", "passed": "passed"}
_MOST = 20  # entries of a list that is no finding
_LONGEST = 200  # characters of a line of code
_ROOM = 200  # for the sentence that says what was left out


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the text that is shown as a whole or not at all."""

    text: str
    finding: bool = False


def fitted(blocks: Sequence[Block], limit: int, size: Callable[[str], int]) -> str:
    """As much as the limit allows, in order; findings give way first, and it says so."""
    room = limit - _ROOM
    kept = set()
    for nth, block_ in sorted(enumerate(blocks), key=lambda pair: pair[1].finding):
        if size(block_.text) + 2 <= room:
            kept.add(nth)
            room -= size(block_.text) + 2
    texts = [block_.text for nth, block_ in enumerate(blocks) if nth in kept]
    left = [block_ for nth, block_ in enumerate(blocks) if nth not in kept]
    return "\n\n".join([*texts, *_left_out(left, limit)]) + "\n"


def _left_out(left: Sequence[Block], limit: int) -> Iterator[str]:
    findings = sum(block_.finding for block_ in left)
    parts = [(findings, "finding"), (len(left) - findings, "section")]
    words = [counted(count, name) for count, name in parts if count]
    if words:
        yield (
            f"**Left out: {' and '.join(words)}**, as this text is limited to {limit:,};"
            " the other formats have the whole report."
        )


def blocks(reports: Sequence[Report], style: Style, unfolded: int | None) -> list[Block]:
    """The sections of all programs.

    Args:
        style: whether the output's encoding carries all characters, and whether to list ignored
            findings.
        unfolded: how many findings of each are open to read; None for all.
    """
    return [
        replace(block_, text=plain(block_.text, style, lines=True))
        for report in reports
        for block_ in _section(
            printable(report, style), report.diagnosis, unfolded, style.detail.ignored
        )
    ]


def _section(
    report: Report, raw: Diagnosis, unfolded: int | None, show_ignored: bool
) -> Iterator[Block]:
    yield Block("\n\n".join(_head(report)))
    if report.diagnosis.pod is not None:
        yield Block("\n\n".join(_pod(report.diagnosis.pod)))
    for graphs in tpu_graphs.groups(report.diagnosis.tpu_graphs):
        yield Block("\n\n".join(_tpu_graph(graphs)))
    if report.outcome is not None:
        yield from _gate(report.outcome, report.diagnosis)
    findings = [(alert, alert.finding) for alert in alerts(report) if alert.finding]
    for nth, (alert, finding) in enumerate(findings):
        opened = unfolded is None or nth < unfolded
        text = "\n\n".join(_finding(alert, finding, report.diagnosis, opened))
        yield Block(text, finding=True)
    yield Block("\n\n".join(_closing(report.diagnosis, raw, show_ignored)))


def _head(report: Report) -> Iterator[str]:
    diagnosis = report.diagnosis
    status = f" – {_STATUS[report.outcome.status]}" if report.outcome else ""
    yield f"## xladoctor: {code(name_of(diagnosis.run))}{status}"
    yield f"**{inline(headline(report))}**"
    facts = program(diagnosis.run)[1:]
    if diagnosis.steps:
        facts += steps_of(diagnosis.steps)[: None if shows_times(report) else 1]
    if facts:
        yield f"Ran on {inline(' · '.join(facts))}"


def _pod(pod: Pod) -> Iterator[str]:
    """The processes of a job, compared."""
    yield inline(pod.summary)
    parts = pods.parts_of(pod)
    rows = [
        [
            inline(name),
            *(
                f"**{cell}**" if part in differs else cell
                for part, cell in zip(parts, cells, strict=True)
            ),
        ]
        for name, cells, differs in pods.rows(pod)
    ]
    yield table(["ms a step", *parts], rows)
    yield inline(" · ".join(pods.facts(pod)))
    yield from (inline(f"left out: {text}") for text in pod.left_out)


def _tpu_graph(graphs: Sequence[TpuGraph]) -> Iterator[str]:
    """A graph that was compiled for TPUs."""
    heads, rows = tpu_graphs.matrix(graphs)
    name, *facts = tpu_graphs.heading(graphs)
    yield f"### {code(name)}"
    if facts:
        yield inline(" · ".join(facts))
    yield table(["", *map(inline, heads)], [[inline(cell) for cell in row] for row in rows])
    yield from (inline(reason) for reason in tpu_graphs.reasons(graphs))
    if tpu_graphs.decided(graphs):
        yield inline(tpu_graphs.honesty(graphs))


def _gate(outcome: GateOutcome, diagnosis: Diagnosis) -> Iterator[Block]:
    if outcome.budgets:
        rows = [_budget(budget, diagnosis) for budget in outcome.budgets]
        yield Block(table(("Budget", "Found", "Allowed", "", "Most of it"), rows))
    if outcome.runs:
        runs = [
            [
                code(run.name),
                ", ".join(amount(run.name, value) for value in run.values),
                amount(run.name, run.median),
            ]
            for run in outcome.runs
        ]
        yield Block(table(("In several runs", "Values", "Median"), runs))
    gone = [
        f"{entry.rule} in {entry.file or 'the run'}"
        f" {'no longer occurs' if entry.certain else 'may no longer occur'}: {entry.code}"
        for entry in outcome.gone
    ]
    requested = [f"{item.name} could not be judged: {item.reason}" for item in outcome.missing]
    said = _bullets([*requested, *gone, *outcome.notes])
    if said:
        yield Block(said)


def _budget(budget: BudgetOutcome, diagnosis: Diagnosis) -> list[str]:
    state = f"**{budget.state}**" if budget.state == "over" else budget.state
    why = f" ({inline(budget.reason)})" if budget.reason else ""
    lines = [
        inline(consumer_text(budget, consumer, diagnosis)) for consumer in budget.consumers[:3]
    ]
    value, limit = amount(budget.count, budget.found), amount(budget.count, budget.limit)
    return [code(budget.name), value, limit, f"{state}{why}", "<br>".join(lines)]


def _finding(alert: Alert, finding: Finding, diagnosis: Diagnosis, opened: bool) -> Iterator[str]:
    state = alert.judgement
    loud = ("fails" if state.fails else STATES[state.state]) if state else finding.severity
    at = f" – {alert.place.file}:{alert.place.line}" if alert.place else ""
    title = element(f"{alert.rule} {alert.title}{at}")
    yield f"<details{' open' * opened}>\n<summary><b>{loud}</b> {title}</summary>"
    yield _bullets(alert.text)
    for location in alert.locations:
        yield _location(location, diagnosis)
    yield f"**Why** {prose(finding.why)}"
    patch = finding.suggestion
    yield f"**Fix** {prose(described(patch) if patch else finding.fix)}"
    if patch:
        yield block(patch.diff, "diff")
    if finding.tried:
        yield f"**Tried** {prose(tried(finding))}"
    yield "</details>"


def _location(location: Location, diagnosis: Diagnosis) -> str:
    role = ROLES.get(location.role, "at")
    place = code(f"{path_shown(location.file, diagnosis.run)}:{location.line}")
    named = location.function and location.function != "<module>"
    function = f" in {code(location.function or '')}" if named else ""
    text = f"{role.capitalize()} {place}{function}"
    source = (location.source or "").strip()
    if not source:
        return text
    return f"{text}\n\n{block(clipped(source, _LONGEST), 'python')}"


def _closing(diagnosis: Diagnosis, raw: Diagnosis, show_ignored: bool) -> Iterator[str]:
    yield f"<details>\n<summary>{outcomes(diagnosis)}</summary>"
    ignored = diagnosis.ignored if show_ignored else []
    hushed = ignored_ones(ignored, lambda file: path_shown(file, diagnosis.run))
    said = [*unjudged(diagnosis.not_checked), *hushed, *diagnosis.warnings]
    yield _bullets(said) or "Nothing else to say."
    yield "</details>"
    if following := next_command(raw):
        yield f"Next, {following[0]}: {code(following[1])}"


def _bullets(texts: Sequence[str]) -> str:
    shown = [f"- {prose(text)}" for text in texts[:_MOST]]
    more = len(texts) - len(shown)
    return "\n".join([*shown, *([f"- and {more} more"] if more else [])])
