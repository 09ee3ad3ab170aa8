"""The contents of a metrics report, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol


class NotAMetricsReport(ValueError):  # noqa: N818 - says what the text is not
    """A text without a single metric or counter.

    Args:
        line: the number of lines that were read.
        expected: what a report would have had.
    """

    def __init__(self, line: int, expected: str) -> None:
        super().__init__(f"no metrics report in {line} lines; expected {expected}")
        self.line = line
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric at the time of the report; figures are in ``unit`` and None where not printed.

    Attributes:
        total_samples: samples since the start of the process or the last ``clear_all()``.
        accumulator: sum over all samples; durations are exact to the ns up to 104 days, sizes
            and numbers to two decimals of what is printed.
        unit: ``ns``, ``bytes`` or ``none`` (a plain number).
        rate: samples a second, over the newest 1,024 samples.
        value_rate: ``unit`` a second, over the newest 1,024 samples.
        percentiles: (percent, value) over the newest 1,024 samples.
        mean, stddev: printed by XRT servers only.
        line: the line of the name, from 1.
        printed: the accumulator as printed.
    """

    name: str
    total_samples: int | None
    accumulator: float | None
    unit: str
    rate: float | None
    value_rate: float | None
    percentiles: tuple[tuple[float, float], ...]
    mean: float | None
    stddev: float | None
    line: int
    printed: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter, and the line (from 1) of its name."""

    name: str
    value: int
    line: int


class Lines(Protocol):
    """The valid lines of a metric or counter."""

    def metric(self) -> Metric:
        """The metric that they contain."""

    def counter(self) -> Counter:
        """The counter that they contain."""


@dataclass(frozen=True)
class ReportSection:
    """One report. Its figures are parsed on demand: a log may have thousands of reports, and only
    the newest is needed.

    Attributes:
        step: the report's number in a file of ``XLA_METRICS_FILE``; None elsewhere.
        line: its first line, from 1.
        source: the writer named by the log (``[0]``, ``worker 3``); empty if there is none.
        of_metrics, of_counters: their lines.
    """

    step: int | None
    line: int
    source: str
    of_metrics: Sequence[Lines]
    of_counters: Sequence[Lines]

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Its metrics, in the order of the report."""
        return tuple(lines.metric() for lines in self.of_metrics)

    @cached_property
    def counters(self) -> tuple[Counter, ...]:
        """Its counters, in the order of the report."""
        return tuple(lines.counter() for lines in self.of_counters)


@dataclass(frozen=True, slots=True)
class MetricsReport:
    """All reports of a text, in order of their first lines.

    Attributes:
        complete: False if something was cut off, unreadable or left out.
        notes: what that was, each with its line; and how many lines were skipped.
    """

    sections: tuple[ReportSection, ...]
    complete: bool
    notes: tuple[str, ...]
