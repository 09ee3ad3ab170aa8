"""``xladoctor compilations``: each compilation with its cause, or two of them compared."""

from __future__ import annotations

import io
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xladoctor.cli.output import Color, ColorOption, emit, style_for
from xladoctor.errors import XladoctorError

if TYPE_CHECKING:
    from xladoctor.evidence.interface import Evidence

Row = dict[str, Any]


class Layout(StrEnum):
    """Formats of compilations."""

    table = "table"
    json = "json"


def compilations(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A run directory, log directory, .xplane.pb or text file, as for analyze; - reads"
            " text from standard input.",
        ),
    ],
    diff: Annotated[
        tuple[int, int] | None,
        typer.Option(
            metavar="A B",
            help="Compare the graphs of two compilations, by their numbers.",
            show_default=False,
        ),
    ] = None,
    site: Annotated[
        str | None,
        typer.Option(metavar="FILE:LINE", help="Only those of this call site.", show_default=False),
    ] = None,
    process: Annotated[
        int | None, typer.Option(help="Only those of this process.", show_default=False)
    ] = None,
    layout: Annotated[
        Layout, typer.Option("--format", help="Format of the output.")
    ] = Layout.table,
    limit: Annotated[
        int,
        typer.Option(min=0, help="Compilations, or lines with --diff, to show; 0 for all."),
    ] = 40,
    session: Annotated[
        str | None,
        typer.Option(help="Which of several captured timelines to read.", show_default=False),
    ] = None,
    color: ColorOption = Color.auto,
) -> None:
    """List the compilations of a run in order, each with what made it necessary.

    A first one at a call site needs no reason; each later one is compared with (vs) the most
    similar one before it. With --diff, what two graphs differ in, by Python line. Exit status:
    0 shown, 2 the input cannot be read or has no such compilation.
    """
    from xladoctor.causes.listing import call_sites, listed
    from xladoctor.cli.query import load_evidence
    from xladoctor.report import compilations as report

    if diff is not None and site is not None:
        raise typer.BadParameter("does not go with --diff", param_hint="--site")
    evidence = load_evidence(path, session)
    for note in evidence.notes:
        sys.stderr.write(f"xladoctor: note: {note}\n")
    rows = _of_process(listed(evidence), path, process)
    if diff is not None:
        _compare(evidence, rows, diff, layout, limit, color)
        return
    rows = _of_site(rows, site) if site else rows
    if layout is Layout.json:
        found = {"compilations": rows, "call_sites": call_sites(rows)}
        emit(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        return
    text, shown = io.StringIO(), len(rows[:limit] if limit else rows)
    report.render(rows, shown, call_sites(rows), text, style_for(sys.stdout, color))
    emit(text.getvalue())
    if shown < len(rows):
        sys.stderr.write(f"… {len(rows):,} compilations; {shown:,} shown (--limit 0 for all)\n")


def _of_process(rows: list[Row], path: str, process: int | None) -> list[Row]:
    if not rows:
        raise XladoctorError(
            f"{path}: no record of compilations",
            "an analysis log, a run directory or a timeline has one; metrics alone do not",
        )
    found = [row for row in rows if process is None or row["process"] == process]
    if not found:
        known = ", ".join(map(str, sorted({row["process"] for row in rows})))
        raise XladoctorError(f"process {process} compiled nothing", f"others did: {known}")
    return found


def _of_site(rows: list[Row], site: str) -> list[Row]:
    """The rows of a line, whose file may be named by its whole path or by the end of it."""
    file, _, line = site.rpartition(":")
    if not file or not line.isdigit():
        raise typer.BadParameter("as train.py:41", param_hint="--site")
    wanted = f"/{Path(file).as_posix()}"
    found = [row for row in rows if row["file"] and row["line"] == int(line) and (
        wanted.endswith(f"/{row['file']}") or f"/{row['file']}".endswith(wanted))]  # fmt: skip
    if not found:
        known = {f"{row['file']}:{row['line']}": None for row in rows if row["file"]}
        raise XladoctorError(f"nothing was compiled at {site}", f"but at: {', '.join(known)}")
    return found


def _compare(
    evidence: Evidence, rows: list[Row], pair: tuple[int, int], layout: Layout, limit: int,
    color: Color,
) -> None:  # fmt: skip
    from xladoctor.causes.difference import difference
    from xladoctor.report import graph_diff

    processes = sorted({row["process"] for row in rows})
    if len(processes) > 1:
        raise XladoctorError(
            "several processes compiled, each with numbers of its own",
            f"choose one with --process: {', '.join(map(str, processes))}",
        )
    found = difference(evidence.database, processes[0], *pair)
    if layout is Layout.json:
        emit(json.dumps(graph_diff.record(found, evidence), indent=1, ensure_ascii=False) + "\n")
        return
    text = io.StringIO()
    graph_diff.render(found, evidence, limit, text, style_for(sys.stdout, color))
    emit(text.getvalue())
