"""Reads what torch_xla prints between a program's other output: metrics reports, analysis logs,
dumps of graphs, and its own analysis of its metrics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial

from xladoctor.frontends.torch_xla.ingest.analysis_log import AnalysisReader
from xladoctor.frontends.torch_xla.ingest.console import Console
from xladoctor.frontends.torch_xla.ingest.graph_dump import GraphDump
from xladoctor.frontends.torch_xla.ingest.metrics_block import Metric
from xladoctor.frontends.torch_xla.ingest.metrics_figures import printed_duration_ns
from xladoctor.frontends.torch_xla.ingest.metrics_report import (
    MetricsReader,
    NotAMetricsReport,
    ReportSection,
)
from xladoctor.frontends.torch_xla.ingest.report_tables import add_metrics
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.graph_log import GraphLog
from xladoctor.ingest.interface import ProcessRows
from xladoctor.ingest.text_reader import TextPart, TextReader, source_of
from xladoctor.quantities import duration, whole_number

_MISPRINT_NS = 5e8  # overstatement of a report's durations that is worth a note
_RETAINED = 1024  # samples that percentiles are computed from
_LEAST = 0.8  # share of a sum's lower bound: undoing the misrounding of durations is inexact
_UNDER_WAY = 2  # graphs that may be counted before they are timed
_COMPILED = frozenset({"XrtCompile", "CompileTime"})  # the first until 1.13
_ANALYSIS = " Analysis: "


class _Report(TextPart):
    """The newest metrics report of a process, and the one before it, if there are several."""

    NAME = "a metrics report"
    cumulative = True

    def __init__(self, newest: ReportSection, before: ReportSection | None) -> None:
        self._newest = newest
        self._before = before

    @property
    def compiled(self) -> int | None:
        """The number of compilations: samples of their metric."""
        metrics = (metric for metric in self._newest.metrics if metric.name in _COMPILED)
        counts = [metric.total_samples for metric in metrics if metric.total_samples is not None]
        return counts[-1] if counts else None

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        counters = add_metrics(self._newest, rows, self._before)
        rows.table("counter")
        for name, value in counters.items():
            rows.add("counter", name=name, value=value)
        return None


class _Graphs(TextPart):
    """An analysis log."""

    NAME = "an analysis log"

    def __init__(self, graphs: GraphLog) -> None:
        self.graphs: GraphLog = graphs

    @property
    def kind(self) -> str:
        """The kind of log; a dump of graphs counts as an analysis log."""
        return _Graphs.NAME

    @property
    def compiled(self) -> int | None:
        """The number of compilations: their blocks."""
        return sum(block.kind == "compilation" for block in self.graphs.blocks)

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Nothing: its graphs are added with those of other logs."""
        return None


class _Dump(_Graphs):
    """A dump of the graphs that were handed over."""

    NAME = "a dump of graphs"


class TorchXlaText(TextReader):
    """See :class:`TextReader`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._consoles: dict[str, Console] = {}
        self._analysis: dict[str, AnalysisReader] = defaultdict(
            partial(AnalysisReader, excerpt=True)
        )
        self._graphs = GraphDump()
        self._metrics = MetricsReader()
        self._sections: tuple[ReportSection, ...] = ()
        self._said: list[str] = []
        self._in_summary = False  # a summary without marks, as in PT_XLA_DEBUG_FILE

    def take(self, line: str, number: int) -> bool:
        """Offer a line to dumps and logs first, whose lines are the most distinctive."""
        if (self._graphs.inside or line.endswith(("]\n", "]"))) and self._graphs.take(line):
            return True
        if _ANALYSIS in line:
            self._analysis[source_of(line[: line.index(_ANALYSIS)])].take(line)
            return True
        self._in_summary = (self._in_summary or Console.SUMMARY in line) and Console.END not in line
        if Console.MARK in line or self._in_summary:
            begin = max(line.find(Console.MARK), 0)
            console = self._consoles.get(source := source_of(line[:begin])) or Console()
            if console.take(line[begin:]):
                self._consoles[source] = console
                return True
            if self._in_summary:
                return True
        return self._metrics.take(line, number)

    def finish(self) -> None:
        """Finish the metrics report, and take its sections."""
        try:
            report = self._metrics.finish()
        except NotAMetricsReport:
            return
        self._sections, self._said = report.sections, list(report.notes)

    @property
    def begun(self) -> bool:
        """Whether there is a section, an analysis line, a block or a graph."""
        return bool(self._sections or self._consoles or self._analysis or self._graphs.blocks)

    @property
    def lacking(self) -> str:
        """What is missing: only blocks can have begun without yielding anything."""
        return "no complete block of an analysis log in it"

    def parts(self) -> Iterator[tuple[str, TextPart]]:
        """The parts, by source; a dump of graphs counts if there is no analysis log."""
        newest, before = _newest(self._sections)
        for source, section in newest.items():
            yield source, _Report(section, before.get(source))
        logs = {source: reader.log for source, reader in self._analysis.items()}
        logs = {source: log for source, log in logs.items() if log.blocks}
        for source, log in logs.items():
            yield source, _Graphs(log)
        if self._graphs.blocks and not logs:
            yield _ordinal(self._name), _Dump(GraphLog(tuple(self._graphs.blocks)))
        for source, console in self._consoles.items():
            if console:
                yield source, console

    def notes(self) -> list[str]:
        """Notes on several reports, misprints, contradictions and torn blocks."""
        newest, before = _newest(self._sections)
        notes = [
            *_of_several(self._sections, newest, before),
            *self._said,
            *_overstated(newest.values()),
            *contradictions(newest.values()),
        ]
        if torn := sum(reader.log.torn for reader in self._analysis.values()):
            notes.append(f"{torn} blocks torn or cut off; left out")
        return notes


def _ordinal(name: str) -> str:
    """The process number at the end of a graph dump's file name; the first process has none."""
    ordinal = name.rpartition(".")[2]
    return ordinal if whole_number(ordinal) else ""


def _newest(
    sections: Iterable[ReportSection],
) -> tuple[dict[str, ReportSection], dict[str, ReportSection]]:
    """The newest report of each process, and the one before it, if there are several."""
    newest: dict[str, ReportSection] = {}
    before: dict[str, ReportSection] = {}
    for section in sections:
        if earlier := newest.get(section.source):
            before[section.source] = earlier
        newest[section.source] = section
    return newest, before


def _of_several(
    sections: tuple[ReportSection, ...],
    newest: dict[str, ReportSection],
    before: dict[str, ReportSection],
) -> list[str]:
    if not before:
        return []
    lines = ", ".join(str(section.line) for section in newest.values())
    notes = [f"{len(sections)} reports in it; the newest is used (line {lines})"]
    if any(_cleared(earlier, newest[source]) for source, earlier in before.items()):
        notes.append(
            "counts fall from one report to the next: they were cleared between,"
            " and what came before the newest is not in it"
        )
    return notes


def _cleared(earlier: ReportSection, later: ReportSection) -> bool:
    """Whether counts fell between two reports, so that the program must have cleared them."""
    now = {metric.name: metric.total_samples for metric in later.metrics}
    counts = ((metric.total_samples, now.get(metric.name)) for metric in earlier.metrics)
    return any(was is not None and new is not None and new < was for was, new in counts)


def _overstated(reports: Iterable[ReportSection]) -> list[str]:
    """Notes that a report overstates its durations, with the worst one as an example."""
    timed = [m for report in reports for m in report.metrics if m.unit == "ns" and m.accumulator]
    worst = max(timed, key=_excess, default=None)
    if worst is None or _excess(worst) < _MISPRINT_NS:
        return []
    return [
        f"torch_xla rounds the units of a duration where it should cut them off: {worst.name}"
        f" {worst.printed} is {duration((worst.accumulator or 0) / 1e9)}"
    ]


def _excess(metric: Metric) -> float:
    return printed_duration_ns(metric.printed) - (metric.accumulator or 0)


def contradictions(reports: Iterable[ReportSection]) -> Iterator[str]:
    """Notes on contradictions within reports, as if somebody had edited them."""
    for report in reports:
        metrics = {metric.name: metric for metric in report.metrics}
        for metric in metrics.values():
            samples, median = metric.total_samples or 0, dict(metric.percentiles).get(50)
            if median is None or metric.accumulator is None or samples > _RETAINED:
                continue
            if metric.accumulator < _LEAST * samples / 2 * median:
                yield (
                    f"line {metric.line}: {metric.name} contradicts itself: half of its {samples}"
                    " samples are longer or larger than their sum allows"
                )
        counted = {counter.name: counter.value for counter in report.counters}
        compiled, timed = counted.get("UncachedCompile", 0), metrics.get("CompileTime")
        if timed is None or timed.total_samples is None or "PersistentCacheHit" in counted:
            continue
        if compiled > timed.total_samples + _UNDER_WAY:
            yield (
                f"line {timed.line}: the report contradicts itself: {timed.total_samples}"
                f" samples of CompileTime, and {compiled} in UncachedCompile"
            )
