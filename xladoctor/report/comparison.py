"""Two runs side by side, on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from xladoctor.comparison.interface import (
    LEAST,
    Comparison,
    CountChange,
    Difference,
    FindingChange,
    MemoryChange,
    RunSummary,
    TimeName,
    TpuChange,
)
from xladoctor.comparison.times import factor
from xladoctor.comparison.verdict import change_text
from xladoctor.diagnosis.interface import CountName
from xladoctor.quantities import binary_size, duration
from xladoctor.report import tpu_graphs
from xladoctor.report.interface import Style
from xladoctor.report.text import FOLDED, NUMBERS, grid, inset, plain, styled, write
from xladoctor.report.words import COUNTS, framework, number, times
from xladoctor.repository import short

ADVICE = (
    "The runs differ, but perhaps not the programs: on a busy machine, runs of the"
    " same program often differ this much (docs/compare.md). Before blaming the program, run both"
    " several times (xladoctor gate --runs)."
)
_VERDICT = {"worse": "bold red", "better": "bold green", "same": "bold", "unclear": "bold yellow"}
_STATE = {
    "new": "bold red",
    "worse": "bold red",
    "fixed": "bold green",
    "better": "bold green",
    "unknown": "bold yellow",
    "same": "dim",
}
_TIMES: dict[TimeName, str] = {
    "loop": "the loop",
    "compiling": "compiling in it",
    "average_step": "average step, with compiling",
}
SHARDINGS = "Shardings, in a run"
_LINES = 8  # of a program whose memory differs
_STEP = {"slower": "bold red", "faster": "bold green"}


def render(comparison: Comparison, output: TextIO, style: Style) -> None:
    """Write the whole comparison: verdict, whether comparable, findings, counts, step time."""
    parts: list[RenderableType] = [
        _heading(comparison, style),
        styled(comparison.verdict.text, style, _VERDICT[comparison.verdict.outcome]),
        _differences(comparison, style),
        _findings(comparison, style),
        *([_counts(comparison.counts, style)] if comparison.counts else []),
        *([_times(comparison, style)] if comparison.times else []),
        *([_step(comparison, style)] if has_steps(comparison) else []),
        *(_tpu_graph(change, style) for change in comparison.tpu_graphs),
        *(_beside(memory_head(it), memory_rows(it), style) for it in comparison.memory if it.held),
        *([_beside(SHARDINGS, rows, style)] if (rows := sharding_rows(comparison)) else []),
    ]
    spaced = [line for part in parts for line in (part, Text())][:-1]
    notes = [styled(f"  note: {w}", style, "yellow") for w in comparison.warnings]
    write([*spaced, *notes], output, style)


def _heading(comparison: Comparison, style: Style) -> Group:
    """The heading: what both runs share after the title, the rest after each run."""
    described = facts(comparison.a), facts(comparison.b)
    common = [fact for fact in described[0] if fact in described[1]]
    head = Text("xladoctor compare  ", style="bold")
    head.append(plain(" · ".join(common), style), style="dim")
    rows = []
    for name, run, its in (("A", comparison.a, described[0]), ("B", comparison.b, described[1])):
        own = styled("".join(f" · {fact}" for fact in its if fact not in common), style, "dim")
        rows.append((Text(name, style="bold"), styled(run.run.path, style).append_text(own)))
    return Group(head, grid(rows, {"width": 1}, FOLDED, gap=1))


def facts(run: RunSummary) -> list[str]:
    """Script, device, version and steps, as far as they are known."""
    steps = f"{run.steps.count} steps" if run.steps else None
    several = f" × {run.run.devices}" if run.run.devices > 1 else ""
    device = f"{run.run.device}{several}" if run.run.device else None
    return [fact for fact in (run.run.script, device, framework(run.run), steps) if fact]


def comparability(comparison: Comparison) -> str:
    """A sentence on whether times (or anything) can be compared, and what to do if not."""
    differences, step = comparison.differences, comparison.step
    if not has_steps(comparison):
        return "Graphs by their names, each with what was compiled for the same TPU."
    stopping = [
        difference
        for difference in differences
        if difference.forbids != "nothing" and not difference.accepted
    ]
    if any(difference.forbids == "everything" for difference in stopping):
        return "Not comparable: the runs are of different programs."
    if stopping:
        return _stopped(stopping, timed=step.a_ms is not None and step.b_ms is not None)
    accepted = ", ".join(difference.what for difference in differences if difference.accepted)
    if accepted:
        return f"Compared despite these differences: {accepted}."
    unknown = next(
        (difference.a for difference in differences if difference.what == "unknown"), None
    )
    if unknown:
        return f"Comparable as far as is known; unknown for both: {unknown}."
    return "Comparable: program, device, versions, processes, shapes and settings agree."


def _stopped(stopping: Sequence[Difference], *, timed: bool) -> str:
    """What differences forbid and what they do not, and how to judge all the same."""
    names = ", ".join(difference.what for difference in stopping)
    despite = " ".join(f"--despite {difference.what}" for difference in stopping)
    if names == "shapes":
        return (
            "The runs differ in shapes, so a step of B does different work. Counts, compiling and"
            f" the loop are compared{f'; to judge the median step too: {despite}' * timed}."
        )
    return (
        f"Times are not comparable, because the runs differ in {names}. What the program"
        f" does is still judged{f'; to judge times too: {despite}' * timed}."
    )


def _differences(comparison: Comparison, style: Style) -> Group:
    rows: list[RenderableType] = [styled(comparability(comparison), style)]
    shown = [difference for difference in comparison.differences if difference.what != "unknown"]
    if shown:
        cells: list[Sequence[RenderableType]] = [("", Text("A", "dim"), Text("B", "dim"))]
        for difference in shown:
            stops = difference.forbids != "nothing" and not difference.accepted
            words = [styled(value or "unknown", style) for value in (difference.a, difference.b)]
            cells.append([Text(difference.what, style="yellow" if stops else ""), *words])
        side = {"ratio": 1, **FOLDED}
        rows.append(inset(grid(cells, {"min_width": 9}, side, side)))
    return Group(*rows)


def _findings(comparison: Comparison, style: Style) -> Group:
    rows: list[RenderableType] = [Text("Findings", style="bold")]
    changed = [finding for finding in comparison.findings if finding.state != "same"]
    rows += [inset(_finding(finding, style)) for finding in changed]
    same = [finding for finding in comparison.findings if finding.state == "same"]
    if same:
        names = ", ".join(sorted({finding.rule for finding in same}))
        rows.append(
            Text(f"  {len(same)} {'more ' if changed else ''}in both ({names})", style="dim")
        )
    if not comparison.findings:
        rows.append(Text("  none in either run", style="dim"))
    if comparison.not_judged:
        text = styled(missing(comparison), style, "yellow")
        rows.append(inset(text))
    return Group(*rows)


def missing(comparison: Comparison) -> str:
    """The rules that were evaluated only for A."""
    names = ", ".join(rule.rule for rule in comparison.not_judged)
    return f"judged in A, but could not be judged in B: {names}"


def _finding(finding: FindingChange, style: Style) -> Group:
    head = Text(f"{finding.state:<7}  ", style=_STATE[finding.state])
    head.append(f"{finding.severity:<7}  ", style="none").append(f"{finding.rule}  ")
    head.append(plain(finding.title, style))
    return Group(head, inset(styled(details(finding), style, "dim"), 9))


def details(finding: FindingChange) -> str:
    """Where it is, how often, and why it is in this state."""
    seen = finding.b or finding.a
    parts = []
    if seen and seen.location:
        place = seen.location
        inside = f" in {place.function}" if place.function else ""
        parts.append(f"{place.file}:{place.line}{inside}")
    if seen and finding.state in ("new", "fixed") and seen.count > 1:
        parts.append(times(seen.count, seen.per_step))
    if finding.state not in ("new", "fixed"):
        parts.append(finding.reason)
    if finding.judged_by == "time":
        parts.append("judged by time, so it never makes B worse")
    return "; ".join(parts) or "concerns the whole run"


def _counts(counts: Sequence[CountChange], style: Style) -> Group:
    """A table of the counts that both runs have, and why the others are unknown."""
    known = [count for count in counts if count.direction != "unknown"]
    heads = [Text(text, style="dim") for text in ("A", "B", "change") if known]
    rows: list[Sequence[RenderableType]] = [[Text("Counts", style="bold"), *heads]]
    for count in known:
        word = "" if count.direction == "same" else count.direction
        cells = [plain(text, style) for text in values(count)]
        rows.append([f"  {counted(count.name)}", *cells, Text(word, style=_STATE[count.direction])])
    table = grid(rows, FOLDED, NUMBERS, NUMBERS, NUMBERS, {"no_wrap": True})
    text = unknown_counts(counts)
    return Group(table, *([inset(styled(text, style, "dim"))] * bool(text)))


def counted(name: CountName) -> str:
    """What is counted, with its unit, as the values beside it have no units."""
    return "".join(COUNTS[name])


def unknown_counts(counts: Sequence[CountChange]) -> str:
    """The counts that are unknown, and why; empty if there are none."""
    reasons: dict[str, list[str]] = {}
    for count in counts:
        if count.direction == "unknown":
            reasons.setdefault(count.reason, []).append(counted(count.name))
    texts = [f"{', '.join(names)} ({reason})" for reason, names in reasons.items()]
    return f"unknown: {'; '.join(texts)}" if texts else ""


def values(count: CountChange) -> tuple[str, str, str]:
    """A's and B's value and their difference, as people read them."""
    change = count.change
    signed = "" if not change else ("+" if change > 0 else "-") + number(count.name, abs(change))
    a, b = ("?" if value is None else number(count.name, value) for value in (count.a, count.b))
    return a, b, signed


def _times(comparison: Comparison, style: Style) -> Table:
    head = [Text("Times", style="bold"), *(Text(text, style="dim") for text in ("A", "B"))]
    rows = [
        [f"  {name}", *(plain(cell, style) for cell in cells)]
        for name, *cells in time_rows(comparison)
    ]
    return grid([head, *rows], FOLDED, NUMBERS, NUMBERS, FOLDED)


def time_rows(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """What took how long in A and B, and how many times as fast B is, if it is by a fifth."""
    return [
        (_TIMES[c.name], duration(c.a_s), duration(c.b_s), factor(c) * (c.name != "compiling"))
        for c in comparison.times
    ]


def has_steps(comparison: Comparison) -> bool:
    """Whether there may be steps: graphs that were compiled alone have none."""
    return "graphs" not in (comparison.a.run.kind, comparison.b.run.kind)


def _tpu_graph(change: TpuChange, style: Style) -> Group:
    name = change.b.name if change.a.name == change.b.name else f"{change.a.name}, {change.b.name}"
    head = styled(f"{name} on a TPU", style, "bold")
    return Group(head, tpu_graphs.beside([change.a, change.b], style, ["A", "B"]))


def _beside(title: str, of_runs: Iterable[tuple[str, str, str]], style: Style) -> Table:
    head = [styled(title, style, "bold"), Text("A", "dim"), Text("B", "dim")]
    rows: list[Sequence[RenderableType]] = [head]
    for name, *values in of_runs:
        rows.append([inset(styled(name, style)), *(styled(each, style) for each in values)])
    column = NUMBERS if title != SHARDINGS else FOLDED
    return grid(rows, FOLDED, column, column)


def sharding_rows(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Collectives and arguments that differ, as they are in A and B."""
    return [(f"{each.what} in {each.program}", each.was, each.now) for each in comparison.shardings]


def memory_head(change: MemoryChange) -> str:
    """What the table of a program's memory is about."""
    return f"Memory of {change.name} at its peak"


def memory_rows(change: MemoryChange) -> list[tuple[str, str, str]]:
    """The whole peak in A and B, then what differs most: role and line, or argument."""
    rows = [("all of it", change.a_bytes, change.b_bytes)]
    for each in change.held[:_LINES]:
        at = each.location
        where = f"{short(at.file)}:{at.line}" if at else each.what
        rows.append((f"{each.role}  {where}".strip(), each.a_bytes, each.b_bytes))
    return [(name, _size(a), _size(b)) for name, a, b in rows]


def _size(held: int) -> str:
    return binary_size(held) if held else "none"


def _step(comparison: Comparison, style: Style) -> Group:
    head = Text("Step time  ", style="bold")
    head.append(plain(step_line(comparison), style), style=_STEP.get(comparison.step.verdict, ""))
    rows: list[RenderableType] = [head]
    if below := step_notes(comparison):
        rows.append(inset(styled(below, style, "dim")))
    return Group(*rows)


def step_line(comparison: Comparison) -> str:
    """Both medians and what the samples say of their difference."""
    step = comparison.step
    medians = [None if ms is None else duration(ms / 1e3) for ms in (step.a_ms, step.b_ms)]
    both = "" if None in medians else f"{medians[0]} → {medians[1]}, "
    change = "" if step.verdict == "not_judged" else change_text(step)
    return f"{both}{step.statement}{f': {change}' if change else ''}"


def step_notes(comparison: Comparison) -> str:
    """What the medians come from, and how far a difference can be trusted."""
    step = comparison.step
    if step.a_ms is None or step.b_ms is None:
        return ""
    text = f"Medians of {step.a_samples} and {step.b_samples} steady steps"
    if step.verdict == "too_few":
        text += (
            f", worth {step.a_worth} and {step.b_worth} independent ones; at least {LEAST}"
            " of each are needed"
        )
    return f"{text}. {ADVICE}" if step.verdict in ("slower", "faster") else f"{text}."
