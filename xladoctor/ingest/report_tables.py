"""A metrics report as rows of ``metric`` and ``counter``: its last section, which is cumulative."""

from __future__ import annotations

from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.metrics_report import Metric, MetricsReport


def add_report(report: MetricsReport, process: int, ingested: Ingested, path: str) -> None:
    """Append the newest section of a report; earlier sections only lead up to it."""
    section = report.sections[-1]
    ingested.table("metric")
    ingested.table("counter")
    for metric in section.metrics:
        ingested.add("metric", process=process, name=metric.name, unit=metric.unit,
                     samples=metric.total_samples, accumulator=metric.accumulator,
                     p50=_median(metric))  # fmt: skip
    for counter in section.counters:
        ingested.add("counter", process=process, name=counter.name, value=counter.value)
    if len(report.sections) > 1:
        ingested.notes.append(
            f"{path}: {len(report.sections)} sections; the last one (line {section.line}) is used"
        )
    ingested.notes.extend(f"{path}: {note}" for note in report.notes)


def _median(metric: Metric) -> float | None:
    return next((value for percent, value in metric.percentiles if percent == 50), None)
