"""Reads what the capture has torch_xla write into the folder of a process."""

from __future__ import annotations

from pathlib import Path

from xladoctor.frontends.torch_xla.ingest.analysis_log import read_analysis_log
from xladoctor.frontends.torch_xla.ingest.metrics_report import (
    NotAMetricsReport,
    read_metrics_report,
)
from xladoctor.frontends.torch_xla.ingest.report_tables import add_metrics
from xladoctor.ingest.graph_log import Block, GraphLog
from xladoctor.ingest.interface import Notes, ProcessRows
from xladoctor.ingest.regular import lines_in


def read_log(folder: Path, noted: Notes) -> GraphLog:
    """The analysis log; a long one has parts, each named after the number of bytes before it."""
    begins = sorted(
        int(path.stem[9:]) for path in folder.glob("analysis-*.log") if path.stem[9:].isdecimal()
    )
    parts = [(begin, folder / f"analysis-{begin}.log") for begin in begins]
    end = parts[-1][0] + parts[-1][1].stat().st_size if parts else 0
    blocks: list[Block] = []
    torn = 0
    for begin, path in [*parts, (end, folder / "analysis.log")]:
        with lines_in(path, noted) as lines:
            log = read_analysis_log(lines or (), begin)  # no file before the first compilation
        blocks += log.blocks
        torn += log.torn
    if torn:
        noted.notes.append(
            f"{folder / 'analysis.log'}: {torn} blocks torn by threads that wrote at once"
        )
    return GraphLog(tuple(blocks), torn)


def read_metrics(path: Path, rows: ProcessRows) -> dict[str, int | None] | None:
    """Add the metrics of the report that the capture keeps, and return its counters; an unreadable
    file counts as lost.
    """
    with lines_in(path, rows) as lines:
        if lines is None:
            return None
        try:
            report = read_metrics_report(lines)
        except NotAMetricsReport as error:
            rows.lose(f"{path}: {error}")
            return None
    newest = report.sections[-1]  # counts are cumulative
    if (count := len(report.sections)) > 1:
        rows.notes.append(f"{path}: {count} reports in it; the newest is used (line {newest.line})")
    rows.notes.extend(f"{path}: {note}" for note in report.notes)
    return add_metrics(newest, rows)
