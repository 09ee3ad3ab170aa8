"""Turns each process's last metrics report into rows of ``metric`` and ``counter``."""

from __future__ import annotations

from xladoctor.frontends.torch_xla.ingest.metrics_report import Metric, MetricsReport
from xladoctor.frontends.torch_xla.ingest.metrics_types import ReportSection
from xladoctor.ingest.interface import ProcessRows


def add_report(report: MetricsReport, rows: ProcessRows, path: str) -> dict[str, int | None]:
    """Append the metrics of the newest section of a process's own report, as counts are
    cumulative; returns its counters.
    """
    newest = report.sections[-1]
    _add_metrics(newest, rows)
    if len(report.sections) > 1:
        rows.notes.append(
            f"{path}: {len(report.sections)} reports in it; the newest is used (line {newest.line})"
        )
    rows.notes.extend(f"{path}: {note}" for note in report.notes)
    return {counter.name: counter.value for counter in newest.counters}


def add_section(
    section: ReportSection, rows: ProcessRows, before: ReportSection | None = None
) -> None:
    """Append one report of a process; ``before`` is the previous one, if any."""
    _add_metrics(section, rows, before)
    rows.table("counter")
    for counter in section.counters:
        rows.add("counter", name=counter.name, value=counter.value)


def _add_metrics(
    section: ReportSection, rows: ProcessRows, before: ReportSection | None = None
) -> None:
    earlier = {} if before is None else {each.name: each.total_samples for each in before.metrics}
    rows.table("metric")
    for metric in section.metrics:
        rows.add(
            "metric",
            name=metric.name,
            unit=metric.unit,
            samples=metric.total_samples,
            since=_since(metric, earlier),
            accumulator=metric.accumulator,
            p50=_percentile(metric, 50),
            p99=_percentile(metric, 99),
            growth=metric.value_rate,
        )


def _since(metric: Metric, earlier: dict[str, int | None]) -> int | None:
    """The samples since the previous report; None if the metrics were cleared in between."""
    before, now = earlier.get(metric.name), metric.total_samples
    return None if before is None or now is None or now < before else now - before


def _percentile(metric: Metric, percent: int) -> float | None:
    return next((value for share, value in metric.percentiles if share == percent), None)
