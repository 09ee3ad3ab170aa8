"""Turns each process's last metrics report into rows of ``metric``."""

from __future__ import annotations

from xladoctor.frontends.torch_xla.ingest.metrics_block import Metric
from xladoctor.frontends.torch_xla.ingest.metrics_report import ReportSection
from xladoctor.ingest.interface import ProcessRows


def add_metrics(
    section: ReportSection, rows: ProcessRows, before: ReportSection | None = None
) -> dict[str, int | None]:
    """Append the metrics of one report of a process, and return its counters.

    Args:
        before: the previous report, if there is one.
    """
    earlier = {} if before is None else {each.name: each.total_samples for each in before.metrics}
    rows.table("metric")
    for metric in section.metrics:
        percentiles = dict(metric.percentiles)
        rows.add(
            "metric",
            name=metric.name,
            unit=metric.unit,
            samples=metric.total_samples,
            since=_since(metric, earlier),
            accumulator=metric.accumulator,
            p50=percentiles.get(50),
            p99=percentiles.get(99),
            growth=metric.value_rate,
        )
    return {counter.name: counter.value for counter in section.counters}


def _since(metric: Metric, earlier: dict[str, int | None]) -> int | None:
    """The samples since the previous report; None if the metrics were cleared in between."""
    before, now = earlier.get(metric.name), metric.total_samples
    return None if before is None or now is None or now < before else now - before
