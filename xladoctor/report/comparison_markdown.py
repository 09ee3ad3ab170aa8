"""A comparison as Markdown, for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from xladoctor.comparison.interface import Comparison, FindingChange
from xladoctor.report.comparison import (
    SHARDINGS,
    comparability,
    counted,
    details,
    facts,
    memory_head,
    memory_rows,
    missing,
    sharding_rows,
    step_line,
    step_notes,
    time_rows,
    unknown_counts,
    values,
)
from xladoctor.report.interface import Style
from xladoctor.report.markdown import LIMIT
from xladoctor.report.markup import inline, table
from xladoctor.report.text import plain
from xladoctor.report.tpu_graphs import matrix

#: The mark by which a job finds its comment, to replace it.
MARK = "<!-- xladoctor compare -->"
_SIGNS = {"worse": "❌", "better": "✅", "same": "➖", "unclear": "❔"}
_CUT = "\n\n… cut; `xladoctor compare` shows everything.\n"


def render(comparison: Comparison, output: TextIO, style: Style) -> None:
    """Write it, within what a comment holds; lines are kept whole."""
    text = "\n".join(_lines(comparison, style)) + "\n"
    if len(text) > LIMIT:
        text = text[: text.rindex("\n", 0, LIMIT - len(_CUT))] + _CUT
    output.write(text)


def _lines(comparison: Comparison, style: Style) -> Iterator[str]:
    def safe(text: str) -> str:
        return inline(plain(text, style))

    sign = f"{_SIGNS[comparison.verdict.outcome]} " if style.unicode else ""
    yield from (MARK, f"### {sign}{safe(comparison.verdict.text)}", "")
    for name, run in (("A", comparison.a), ("B", comparison.b)):
        yield f"- **{name}** {safe(' · '.join([run.run.path, *facts(run)]))}"
    yield from ("", safe(comparability(comparison)))
    shown = [difference for difference in comparison.differences if difference.what != "unknown"]
    yield from _table(
        ("Differs", "A", "B"),
        [
            (difference.what, safe(difference.a or "unknown"), safe(difference.b or "unknown"))
            for difference in shown
        ],
    )
    changed = [finding for finding in comparison.findings if finding.state != "same"]
    rows = [_finding_row(finding, style) for finding in changed]
    yield from _table(("", "Severity", "Rule", "Finding"), rows)
    if same := len(comparison.findings) - len(changed):
        yield from ("", f"{same} {'more ' if changed else ''}in both.")
    if comparison.not_judged:
        yield from ("", safe(missing(comparison)) + ".")
    yield from _table(("Count", "A", "B", "Change", ""), _count_rows(comparison, style))
    if unknown := unknown_counts(comparison.counts):
        yield from ("", safe(unknown) + ".")
    yield from _table(
        ("Time", "A", "B", ""), [tuple(map(safe, row)) for row in time_rows(comparison)]
    )
    for change in comparison.tpu_graphs:
        heads, cells = matrix([change.a, change.b], ["A", "B"])
        yield from _table((change.b.name, *heads), [tuple(map(safe, row)) for row in cells])
    for program in comparison.memory:
        if program.held:
            rows = [tuple(map(safe, row)) for row in memory_rows(program)]
            yield from _table((safe(memory_head(program)), "A", "B"), rows)
    divided = [tuple(map(safe, row)) for row in sharding_rows(comparison)]
    yield from _table((SHARDINGS, "A", "B"), divided)
    yield from ("", f"**Step time** {safe(step_line(comparison))}")
    if notes := step_notes(comparison):
        yield from ("", f"<sub>{safe(notes)}</sub>")


def _count_rows(comparison: Comparison, style: Style) -> list[tuple[str, ...]]:
    return [
        (
            counted(count.name),
            *(inline(plain(text, style)) for text in values(count)),
            "" if count.direction == "same" else count.direction,
        )
        for count in comparison.counts
        if count.direction != "unknown"
    ]


def _finding_row(finding: FindingChange, style: Style) -> tuple[str, ...]:
    text = f"{inline(plain(finding.title, style))}<br>{inline(plain(details(finding), style))}"
    return f"**{finding.state}**", finding.severity, finding.rule, text


def _table(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    """A table below an empty line; nothing without rows."""
    if rows:
        yield from ("", table(names, rows))
