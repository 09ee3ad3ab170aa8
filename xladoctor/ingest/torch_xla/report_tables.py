"""A metrics report as rows of ``metric`` and ``counter``: what each process said last."""

from __future__ import annotations

from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.torch_xla.metrics_report import Metric, MetricsReport


def add_report(report: MetricsReport, process: int, ingested: Ingested, path: str) -> None:
    """Append the newest section of each process in a report; counts are cumulative.

    Args:
        process: number of the first of them.
    """
    ingested.table("metric")
    ingested.table("counter")
    newest = {section.source: section for section in report.sections}
    for number, section in enumerate(newest.values(), process):
        for metric in section.metrics:
            ingested.add("metric", process=number, name=metric.name, unit=metric.unit,
                         samples=metric.total_samples, accumulator=metric.accumulator,
                         p50=_median(metric))  # fmt: skip
        for counter in section.counters:
            ingested.add("counter", process=number, name=counter.name, value=counter.value)
    if len(report.sections) > len(newest):
        lines = ", ".join(str(section.line) for section in newest.values())
        ingested.notes.append(
            f"{path}: {len(report.sections)} reports in it; the newest is used (line {lines})"
        )
    ingested.notes.extend(f"{path}: {note}" for note in report.notes)


def _median(metric: Metric) -> float | None:
    return next((value for percent, value in metric.percentiles if percent == 50), None)
