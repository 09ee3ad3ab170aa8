"""The metrics report of torch_xla: how often, how long and how much it compiled, ran and moved.

Reads what ``torch_xla.debug.metrics.metrics_report()`` and ``short_metrics_report()`` return, the
files of ``XLA_METRICS_FILE``, and logs that either was printed to. The format is that of
``CreateMetricReport`` in PyTorch's ``torch/csrc/lazy/core/metrics.cpp``; older releases and the
XRT servers wrote variants of it, and all of them are read.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from sys import intern

_LONGEST_LINE = 1 << 16  # characters; a report's own lines are below 400
_MOST_NAMES = 10_000  # in one section; a report has some hundreds
_MOST_PERCENTILES = 100
_MOST_SOURCES = 64
_MOST_NOTES = 20
_MOST_FIGURES = 500_000  # in all sections together: some 60 MB, 3,000 reports
_EXPECTED = (
    "'Metric: <name>' with 'TotalSamples:' and 'Accumulator:' below it, or 'Counter: <name>' with"
    " 'Value:' below it, as torch_xla.debug.metrics.metrics_report() prints them"
)

_INT = r"(?:0*-)?\d{1,18}"  # the fill comes before the sign: -1 with width 3 is 0-1
_NUMBER = re.compile(r"-?\d{1,310}(?:\.\d*)?(?:e[+-]?\d{1,3})?", re.ASCII)
_BYTES = re.compile(r"(-?\d{1,310}(?:\.\d+)?)(B|KB|MB|GB|TB|PB)", re.ASCII)
_DURATION = re.compile(
    rf"(?:({_INT})d)?(?:({_INT})h)?(?:({_INT})m)?(?:({_INT})s)?(?:({_INT})ms)?"
    r"((?:0*-)?\d{1,310}(?:\.\d+)?)us",
    re.ASCII,
)
_UNDEFINED = re.compile(r"0*-?(?:nan|inf)(?:(?:d-nan[\w-]*?)?(us)|([KMGTP]?B))?", re.ASCII)
_PERCENTILE = re.compile(r"\s*(\d{1,3}(?:\.\d{1,9})?)%=(\S+)\s*", re.ASCII)
_COUNT = re.compile(r"-?\d{1,20}", re.ASCII)
_KEY = re.compile(
    r"\[MetricsData; step=(\d{1,18})\]|(?<![A-Za-z_:])(Metric|TotalSamples|Accumulator|Mean|StdDev"
    r"|ValueRate|Rate|Percentiles|Counter|Value):(?=\s|$)",
    re.ASCII,
)
_CHANGING = re.compile(r"\d[\d.,:]*")  # times and the like in what a log puts before a line
#: What tells one process from another before a line: a rank, a worker, a pod, an address.
_SOURCE = re.compile(
    r"\[\d+\]|\b(?:rank|worker|host|process|replica|device|core|pid|default)[ _:=-]*\d+"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b|\[pod/[^\]\s]+",
    re.IGNORECASE | re.ASCII,
)
#: The lines that show in which unit a metric is, the surest first.
_WITH_UNIT = ("Accumulator", "Percentiles", "ValueRate", "Mean", "StdDev")
#: Unit of each field of a printed duration in ns, smallest first.
_FIELDS_NS = (1e6, 1e9, 60e9, 3600e9, 86400e9)
_BYTES_OF = {suffix: 1024.0**power for power, suffix in enumerate(("B", "KB", "MB", "GB", "TB", "PB"))}


class NotAMetricsReport(ValueError):
    """A text without a single metric or counter.

    Args:
        line: number of lines that were read.
        expected: what a report would have shown.
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
        accumulator: sum over all samples; printed durations are exact to the ns up to 104 days,
            printed bytes have three to six digits.
        unit: ``ns``, ``bytes`` or ``none`` (a plain number).
        rate: samples a second, over the newest 1,024 samples.
        value_rate: ``unit`` a second, over the newest 1,024 samples.
        percentiles: (percent, value) over the newest 1,024 samples.
        mean, stddev: of XRT servers only.
        line: of the name, from 1.
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


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter, and the line (from 1) of its name."""

    name: str
    value: int
    line: int


@dataclass(frozen=True, slots=True)
class ReportSection:
    """One report.

    Attributes:
        step: number of the report in a file of ``XLA_METRICS_FILE``; None elsewhere.
        line: of the first line, from 1.
        source: what the log lines name as the writer (``[0]``, ``worker 3``), empty if nothing.
    """

    step: int | None
    line: int
    metrics: tuple[Metric, ...]
    counters: tuple[Counter, ...]
    source: str = ""


@dataclass(frozen=True, slots=True)
class MetricsReport:
    """All reports of a text in order of their first lines.

    Attributes:
        complete: False where something was cut off, unreadable or left out.
        notes: what that was, each with its line.
    """

    sections: tuple[ReportSection, ...]
    complete: bool
    notes: tuple[str, ...]


def read_metrics_report(lines: Iterable[str]) -> MetricsReport:
    """Read a text of any length in bounded memory: of very many sections the newest are kept.

    Lines may come with or without their ends; with them, a last line without one counts as cut.
    Raises NotAMetricsReport where there is not one section.
    """
    return _Reader().read(lines)


def looks_like_metrics_report(head: str) -> bool:
    """Whether the beginning of a text (64 KiB are plenty) holds metrics or counters."""
    try:
        read_metrics_report(head.splitlines(keepends=True))
    except NotAMetricsReport:
        return False
    return True


def parse_duration_ns(text: str) -> float:
    """A printed duration (``01m02s003ms004.005us``) in ns, NaN for a printed NaN.

    ``MetricFnTime`` rounds each field where it should cut it: 5.7 ms is printed 006ms700.000us.
    So from the smallest field up, a field is one too high where the rest makes half of its unit.
    An exact half is rounded to the even number: 1.5 ms and 2.5 ms are both printed 002ms500.000us,
    and the smaller is taken. A field that the formatter cannot have made higher is left alone.

    Raises ValueError for any other text.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        if (undefined := _UNDEFINED.fullmatch(text)) and undefined[1]:
            return math.nan
        raise ValueError(f"not a duration: {text[:80]!r}; expected a form like 01s002ms003.004us")
    microseconds = match[6]
    total = round(float(microseconds[max(microseconds.rfind("-"), 0) :]) * 1e3, 3)
    highest = next((index for index in range(1, 6) if match[index]), 6)
    for index, unit in zip(range(5, 0, -1), _FIELDS_NS, strict=True):
        if match[index]:
            count = int(match[index][max(match[index].rfind("-"), 0) :])
            # The first field is at least 1, or it would not have been printed.
            total += unit * (count - (2 * total >= unit and count > (index == highest)))
    return total


def parse_bytes(text: str) -> float:
    """A printed size (``468.00MB``, units of 1,024) in bytes, NaN for a printed NaN.

    Raises ValueError for any other text.
    """
    if match := _BYTES.fullmatch(text):
        return float(match[1]) * _BYTES_OF[match[2]]
    if (undefined := _UNDEFINED.fullmatch(text)) and undefined[2]:
        return math.nan
    raise ValueError(f"not a size: {text[:80]!r}; expected a form like 1.50KB")


def _quantity(text: str) -> tuple[float | None, str] | None:
    """Value and unit of a printed figure; the value None for NaN; None if it is no figure."""
    value, unit = math.nan, "none"
    try:
        if text.endswith("s"):
            value, unit = parse_duration_ns(text), "ns"
        elif text.endswith("B"):
            value, unit = parse_bytes(text), "bytes"
        elif _NUMBER.fullmatch(text):
            value = float(text)
        elif not _UNDEFINED.fullmatch(text):
            return None
    except ValueError:
        return None
    return (value if math.isfinite(value) else None), unit


@dataclass(slots=True)
class _Block:
    """A metric or counter whose lines are being read.

    Attributes:
        shape: what the log put before its name, see ``_shape``.
        last: number of the last line taken.
        figures: key of the line -> value and unit.
    """

    kind: str
    name: str
    line: int
    shape: str
    last: int
    figures: dict[str, tuple[float | None, str]] = field(default_factory=dict)
    percentiles: list[tuple[float, float]] | None = None

    def figure(self, key: str) -> float | None:
        return self.figures[key][0] if key in self.figures else None

    def count(self, key: str) -> int | None:
        figure = self.figure(key)
        return None if figure is None else int(figure)

    def metric(self) -> Metric:
        units = [self.figures[key][1] for key in _WITH_UNIT if key in self.figures]
        return Metric(
            self.name, self.count("TotalSamples"), self.figure("Accumulator"),
            units[0] if units else "none", self.figure("Rate"), self.figure("ValueRate"),
            tuple(self.percentiles or ()), self.figure("Mean"), self.figure("StdDev"), self.line,
        )  # fmt: skip


@dataclass(slots=True)
class _Stream:
    """What one process writes; a log can mix the lines of several. Holds its open section."""

    source: str
    line: int = 0
    step: int | None = None
    metrics: dict[str, Metric] = field(default_factory=dict)
    counters: dict[str, Counter] = field(default_factory=dict)
    block: _Block | None = None


class _Reader:
    """Takes a text line by line."""

    def __init__(self) -> None:
        self._complete = True
        self._notes: list[str] = []
        self._unlisted_notes = self._foreign_lines = self._number = 0
        self._ended = False  # a line with a line end was seen
        self._current = _Stream("")
        self._streams = {"": self._current}
        self._kept: deque[ReportSection] = deque()
        self._figures = self._dropped = 0

    def read(self, lines: Iterable[str]) -> MetricsReport:
        for self._number, line in enumerate(lines, 1):
            if not self._take_line(line):
                self._foreign_lines += bool(line.strip())
        for stream in self._streams.values():
            self._close_block(stream, at_end=True)
            self._close_section(stream, at_end=True)
        if not self._kept:
            raise NotAMetricsReport(self._number, _EXPECTED)
        notes = self._notes
        if self._unlisted_notes:
            notes.append(f"and {self._unlisted_notes} more places like these")
        if self._dropped:
            self._complete = False
            notes.append(f"older sections left out: {self._dropped}; kept: {len(self._kept)}")
        if self._foreign_lines:
            notes.append(f"lines skipped that are no part of a report: {self._foreign_lines}")
        sections = sorted(self._kept, key=lambda section: section.line)
        return MetricsReport(tuple(sections), self._complete, tuple(notes))

    def _note(self, line: int, text: str) -> None:
        self._complete = False
        if len(self._notes) < _MOST_NOTES:
            self._notes.append(f"line {line}: {text}")
        else:
            self._unlisted_notes += 1

    def _take_line(self, line: str) -> bool:
        """Take a line; False if it is no part of a report."""
        ended = line.endswith(("\n", "\r"))
        cut = self._ended and not ended
        self._ended |= ended
        match = _KEY.search(line) if len(line) <= _LONGEST_LINE else None
        if match is None:
            return False
        prefix, text = line[: match.start()].strip(), line[match.end() :].strip()
        stream = self._stream(prefix)
        if not self._take(stream, match, text, _CHANGING.sub("0", prefix), cut):
            return False
        self._current = stream
        if cut:
            self._note(self._number, "the text ends within this line; its last part may be missing")
        return True

    def _stream(self, prefix: str) -> _Stream:
        """The stream that a line belongs to; one that names no source goes on with the last."""
        source = " ".join(_SOURCE.findall(prefix)) if prefix else ""
        if not source or (source not in self._streams and len(self._streams) > _MOST_SOURCES):
            return self._current
        return self._streams.setdefault(source, _Stream(source))

    def _take(
        self, stream: _Stream, match: re.Match[str], text: str, shape: str, cut: bool
    ) -> bool:
        key, block = match[2], stream.block
        if match[1]:
            self._close_block(stream)
            self._close_section(stream)
            stream.line, stream.step = self._number, int(match[1])
            return True
        if key == "Counter" and block is not None and _is_accumulator(block, text):
            key = "Accumulator"
        if key in ("Metric", "Counter"):
            self._close_block(stream)
            stream.block = _Block(key, intern(text), self._number, shape, self._number)
            return bool(text)
        # "Learning Rate: 0.1" of a training loop is no figure of the metric above it.
        if block is None or not block.shape.startswith(shape) or key in block.figures:
            return False
        block.last = self._number
        if key == "Percentiles":
            return self._take_percentiles(block, text, cut)
        # "12" at the very end may be the beginning of "12345"; a counter is better than none.
        return (cut and key != "Value") or _take_figure(block, key, text)

    def _take_percentiles(self, block: _Block, text: str, cut: bool) -> bool:
        parts = [part for part in text.split(";")[:_MOST_PERCENTILES] if part.strip()]
        if cut and not text.endswith(("us", "B")):
            del parts[-1:]
        block.percentiles = block.percentiles or []
        for part in parts:
            match = _PERCENTILE.fullmatch(part)
            figure = _quantity(match[2]) if match else None
            unit = block.figures.setdefault("Percentiles", figure or (None, ""))[1]
            if match is None or figure is None or figure[1] != unit:
                self._note(self._number, f"unreadable percentile in metric {block.name[:80]}")
                break
            if figure[0] is not None:
                block.percentiles.append((float(match[1]), figure[0]))
        return True

    def _close_block(self, stream: _Stream, at_end: bool = False) -> None:
        block, stream.block = stream.block, None
        if block is None:
            return
        if not block.figures and not (at_end and self._number - block.last <= 1):
            self._foreign_lines += 1  # "Best Metric: accuracy" in a log
            return
        if not _is_whole(block, stream, at_end):
            self._note(block.last, f"cut off inside {block.kind.lower()} {block.name[:80]}")
        if block.kind == "Metric" and block.figures:
            self._add_metric(stream, block.metric())
        elif block.figures:
            self._add_counter(stream, Counter(block.name, block.count("Value") or 0, block.line))

    def _add_metric(self, stream: _Stream, metric: Metric) -> None:
        if metric.name in stream.metrics or len(stream.metrics) >= _MOST_NAMES:
            self._close_section(stream)
        stream.line = stream.line or metric.line
        stream.metrics[metric.name] = metric

    def _add_counter(self, stream: _Stream, counter: Counter) -> None:
        seen = stream.counters.get(counter.name)
        if seen and seen.value == counter.value and not counter.name.startswith("xla::"):
            if "::" in counter.name:
                return  # a short report prints a fallback twice when it is asked for by name
        if seen or len(stream.counters) >= _MOST_NAMES:
            self._close_section(stream)
        stream.line = stream.line or counter.line
        stream.counters[counter.name] = counter

    def _close_section(self, stream: _Stream, at_end: bool = False) -> None:
        """Keep the open section of a stream, and of all that are kept only the newest."""
        filled = bool(stream.metrics or stream.counters)
        if at_end and self._kept and stream.step is not None and not filled:
            self._note(stream.line, f"nothing below the header of step {stream.step}; left out")
        elif filled or stream.step is not None:
            metrics, counters = tuple(stream.metrics.values()), tuple(stream.counters.values())
            self._kept.append(
                ReportSection(stream.step, stream.line, metrics, counters, stream.source)
            )
            self._figures += _figures(self._kept[-1])
        while self._figures > _MOST_FIGURES and len(self._kept) > 1:
            self._figures -= _figures(self._kept.popleft())
            self._dropped += 1
        stream.line, stream.step, stream.metrics, stream.counters = 0, None, {}, {}


def _is_accumulator(block: _Block, text: str) -> bool:
    """Whether a ``Counter:`` line is what releases of 2019 called the accumulator of a metric."""
    return (
        block.kind == "Metric" and "Accumulator" not in block.figures and _quantity(text) is not None
    )


def _is_whole(block: _Block, stream: _Stream, at_end: bool) -> bool:
    """Whether all lines came; a report without percentiles has none in its other metrics."""
    if block.kind == "Counter":
        return "Value" in block.figures
    if not {"TotalSamples", "Accumulator"} <= block.figures.keys():
        return False
    others = stream.metrics.values()
    return not at_end or block.percentiles is not None or any(not m.percentiles for m in others)


def _take_figure(block: _Block, key: str, text: str) -> bool:
    figure: tuple[float | None, str] | None = None
    if key in ("Value", "TotalSamples"):
        if _COUNT.fullmatch(text) and (key == "Value") == (block.kind == "Counter"):
            figure = int(text), "none"
    elif block.kind == "Metric":
        figure = _quantity(text.removesuffix(" / second"))
    if figure is not None:
        block.figures[key] = figure
    return figure is not None


def _figures(section: ReportSection) -> int:
    """Number of figures, which is what the memory of a section goes by."""
    return 1 + len(section.counters) + sum(7 + len(m.percentiles) for m in section.metrics)
