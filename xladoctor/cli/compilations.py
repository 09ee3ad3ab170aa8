"""``xladoctor compilations``: each compilation with its cause, or two of them compared."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from xladoctor.cli.groups import grouped, option
from xladoctor.cli.output import ColorOption, EvidenceArgument, SessionOption, load_evidence
from xladoctor.errors import XladoctorError
from xladoctor.foreign import as_json
from xladoctor.quantities import whole_number
from xladoctor.report.output import Color, emit, say, show

if TYPE_CHECKING:
    from xladoctor.evidence.interface import Evidence
    from xladoctor.evidence.row import Row
    from xladoctor.report.interface import Style


class Layout(StrEnum):
    """Formats of compilations."""

    table = "table"
    json = "json"


@dataclass(frozen=True)
class ChoiceOptions:
    """Which compilations are shown."""

    diff: tuple[int, int] | None = option(
        "Compare the graphs of compilations number A and B.", metavar="A B"
    )
    site: str | None = option("Only compilations at this call site.", metavar="FILE:LINE")
    process: int | None = option("Only compilations in this process.")


@grouped
def compilations(
    *,
    path: Annotated[str, EvidenceArgument],
    choice: ChoiceOptions,
    layout: Layout = option("Output format.", "--format", default=Layout.table),
    limit: int = option(
        "How many compilations (with --diff: lines) to show; 0 for all.",
        default=40,
        min=0,
        metavar="N",
    ),
    session: SessionOption = None,
    color: ColorOption = Color.auto,
) -> None:
    """List a run's compilations in order, each with its cause.

    The first compilation at a call site needs no cause. Each later one is compared with (vs) the
    most similar one before it. --diff shows how two graphs differ, by Python line. Exit status:
    0 shown, 2 the input cannot be read or has no such compilation.
    """
    from xladoctor.causes.compilations import call_sites, explained
    from xladoctor.report import compilations as report

    if choice.diff is not None and choice.site is not None:
        raise typer.BadParameter("cannot be combined with --diff", param_hint="--site")
    evidence = load_evidence(path, session)
    for note in evidence.notes:
        say(f"note: {note}")
    rows = _of_process(explained(evidence), path, choice.process)
    if choice.diff is not None:
        _compare(evidence, rows, choice.diff, layout, limit, color)
        return
    rows = _of_site(rows, choice.site) if choice.site else rows
    sites = _sites_of(rows, call_sites(evidence))
    if layout is Layout.json:
        show(partial(_record, {"compilations": rows, "call_sites": sites}), color)
        return
    shown = len(rows[:limit] if limit else rows)
    show(partial(report.render, rows, shown, sites), color)
    if shown < len(rows):
        emit(f"… {len(rows):,} compilations; {shown:,} shown (--limit 0 for all)\n", sys.stderr)


def _of_process(rows: list[Row], path: str, process: int | None) -> list[Row]:
    if not rows:
        raise XladoctorError(
            f"{path}: no record of compilations",
            "analysis logs, run directories and timelines have one; metrics alone do not",
        )
    kept = [row for row in rows if process is None or row["process"] == process]
    if not kept:
        known = ", ".join(map(str, sorted({row["process"] for row in rows})))
        raise XladoctorError(f"process {process} compiled nothing", f"these processes did: {known}")
    return kept


def _of_site(rows: list[Row], site: str) -> list[Row]:
    """The rows of a line, whose file may be named by its whole path or by the end of it."""
    file, _, line = site.rpartition(":")
    number = whole_number(line)
    if not file or number is None:
        raise typer.BadParameter("expected FILE:LINE, such as train.py:41", param_hint="--site")
    wanted = f"/{Path(file).as_posix()}"
    kept = [
        row
        for row in rows
        if row["file"]
        and row["line"] == number
        and (wanted.endswith(f"/{row['file']}") or f"/{row['file']}".endswith(wanted))
    ]
    if not kept:
        known = {f"{row['file']}:{row['line']}": None for row in rows if row["file"]}
        raise XladoctorError(f"nothing was compiled at {site}", f"call sites: {', '.join(known)}")
    return kept


def _sites_of(rows: list[Row], sites: list[Row]) -> list[Row]:
    """The call sites of these compilations."""
    chosen = {(row["process"], row["file"], row["line"]) for row in rows}
    return [site for site in sites if (site["process"], site["file"], site["line"]) in chosen]


def _compare(
    evidence: Evidence,
    rows: list[Row],
    pair: tuple[int, int],
    layout: Layout,
    limit: int,
    color: Color,
) -> None:
    from xladoctor.causes.difference import difference
    from xladoctor.report import graph_diff

    processes = sorted({row["process"] for row in rows})
    if len(processes) > 1:
        raise XladoctorError(
            "several processes compiled, and each numbers its own compilations",
            f"choose one with --process: {', '.join(map(str, processes))}",
        )
    compared = difference(evidence.database, processes[0], *pair)
    if layout is Layout.json:
        show(partial(_record, graph_diff.record(compared, evidence)), color)
    else:
        show(partial(graph_diff.render, compared, evidence, limit), color)


def _record(content: Any, output: TextIO, style: Style) -> None:
    output.write(as_json(content, ascii_only=not style.unicode))
