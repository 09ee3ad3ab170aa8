"""A text made elsewhere, from a file or standard input: metrics reports, an analysis log, what
torch_xla said of its metrics, what JAX or Dynamo logged of their compilations, or all of them
between a program's other output.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from xladoctor.ingest import compilations
from xladoctor.ingest.compiler_log import CompilerLog
from xladoctor.ingest.compressed import SPOILT, Unpacked, is_spoilt
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.hlo.slow_alarm import SlowAlarm
from xladoctor.ingest.interface import Columns, Ingested, IngestError
from xladoctor.ingest.jax.compile_log import CompileLog
from xladoctor.ingest.jax.transfer_log import TransferLog
from xladoctor.ingest.plain_text import as_utf8, plain_lines
from xladoctor.ingest.torch.break_report import BreakReport
from xladoctor.ingest.torch.text_log import TextLog
from xladoctor.ingest.torch_xla.analysis_log import AnalysisLog, AnalysisReader
from xladoctor.ingest.torch_xla.console import Console
from xladoctor.ingest.torch_xla.graph_dump import GraphDump
from xladoctor.ingest.torch_xla.metrics_figures import printed_duration_ns
from xladoctor.ingest.torch_xla.metrics_report import (
    NotAMetricsReport,
    read_metrics_report,
    source_of,
)
from xladoctor.ingest.torch_xla.metrics_types import ReportSection
from xladoctor.ingest.torch_xla.other_formats import described
from xladoctor.ingest.torch_xla.report_tables import add_section
from xladoctor.quantities import duration

_HEAD = 1 << 16
_MISPRINT_NS = 5e8  # what a report prints too much, from where readers would wonder
_RETAINED = 1024  # samples that percentiles are of
_LEAST = 0.8  # of what a sum must be: durations are printed with a misrounding that is undone
_UNDER_WAY = 2  # graphs that are counted already
_COMPILED = frozenset({"XrtCompile", "CompileTime"})  # the first until 1.13
_ANALYSIS = " Analysis: "
_EXPECTED = (
    "expected a metrics report (torch_xla.debug.metrics.metrics_report(), XLA_METRICS_FILE), an"
    " analysis log (PT_XLA_DEBUG_FILE), a console log with either, a timeline (.xplane.pb, or a"
    " Chrome trace with a list of traceEvents), a compiler's log (TORCH_TRACE, or"
    ' TORCH_LOGS="recompiles,graph_breaks"), or what JAX logs of its compilations'
    " (JAX_LOG_COMPILES=1) or of transfers (jax.transfer_guard)"
)
_COMPILERS: tuple[type[CompilerLog], ...] = (
    CompileLog,
    TextLog,
    BreakReport,
    TransferLog,
    SlowAlarm,
)
_Compilers = dict[type[CompilerLog], CompilerLog]


@dataclass(slots=True)
class Told:
    """What one process says in a text.

    Attributes:
        report: its newest metrics report, None without one.
        before: the report before that, if there are several.
        console: what torch_xla said of its metrics.
        log: the blocks of its analysis log, or those of the graphs that it wrote down.
        dumped: whether the log is made of graphs.
        compilers: the logs of the frameworks' own compilers, by kind.
    """

    report: ReportSection | None
    console: Console
    log: AnalysisLog
    dumped: bool = False
    before: ReportSection | None = None
    compilers: _Compilers = field(default_factory=dict)

    @property
    def compiled(self) -> dict[str, int]:
        """How many compilations each kind of evidence in it counts."""
        counts: dict[str, int] = {}
        metrics = self.report.metrics if self.report else ()
        for metric in metrics:
            if metric.name in _COMPILED and metric.total_samples is not None:
                counts["the metrics report"] = metric.total_samples
        if self.log.blocks:
            kind = "the dump of graphs" if self.dumped else "the analysis log"
            counts[kind] = sum(block.kind == "compilation" for block in self.log.blocks)
        if isinstance(log := self.compilers.get(CompileLog), CompileLog):
            counts["JAX's log"] = len(log.compilations)
        return counts


@dataclass(frozen=True, slots=True)
class Text:
    """What a text holds.

    Attributes:
        name: what messages call it.
        processes: by what the lines name as their process; empty for those that name none.
        notes: what is to be said of it.
    """

    name: str
    processes: dict[str, Told]
    notes: tuple[str, ...] = ()

    @property
    def kinds(self) -> list[str]:
        """What is in it, in words."""
        told = self.processes.values()
        held = {
            "a metrics report": any(each.report for each in told),
            "an analysis log": any(each.log.blocks and not each.dumped for each in told),
            "a dump of graphs": any(each.dumped for each in told),
            "metrics on the console": any(each.console for each in told),
            **{kind.NAME: any(kind in each.compilers for each in told) for kind in _COMPILERS},
        }
        of_several = f" of {len(told)} processes" if len(told) > 1 else ""
        return [kind + of_several for kind, is_held in held.items() if is_held]


def read_text_file(path: Path) -> Text:
    """Read a text file. Raises IngestError if nothing that can be judged is in it."""
    try:
        with Unpacked(path) as file:
            text = read_text(file, str(path))
        damage = file.damage
        notes = [f"{path}: {damage}; what could be read is used"] if damage else []
        return replace(text, notes=(*text.notes, *notes))
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_text(file: BinaryIO | Unpacked, name: str) -> Text:
    """Read a binary stream of text; ``name`` is what errors call it."""
    head, rest = as_utf8(file.read(_HEAD) or b"", file)
    if not head:
        raise IngestError(f"{name}: is empty", _EXPECTED)
    if b"\x00" in head:
        if is_spoilt(head):
            raise IngestError(f"{name}: {SPOILT}", _EXPECTED)
        offset = head.index(b"\x00")
        raise _refused(name, head, f"byte {offset} is zero: not a text file")
    consoles: dict[str, Console] = {}
    analysis: dict[str, AnalysisReader] = defaultdict(partial(AnalysisReader, excerpt=True))
    graphs = GraphDump()
    compilers: dict[str, _Compilers] = defaultdict(dict)
    reports, before = _newest(())
    notes: list[str] = []
    try:
        report = read_metrics_report(
            _without(plain_lines(head, rest), consoles, analysis, graphs, compilers)
        )
        reports, before = _newest(report.sections)
        notes = _report_notes(name, report.sections, reports, before)
        said = (*report.notes, *_overstated(reports.values()), *contradictions(reports.values()))
        notes += [f"{name}: {note}" for note in said]
    except NotAMetricsReport as error:
        begun = any(log.begun for logs in compilers.values() for log in logs.values())
        if not consoles and not analysis and not graphs.blocks and not begun:
            what = f"none of the formats that xladoctor reads, in {error.line} lines"
            raise _refused(name, head, what) from error
    logs = {source: reader.log for source, reader in analysis.items()}
    if torn := sum(log.torn for log in logs.values()):
        notes.append(f"{name}: {torn} blocks torn or cut off; left out")
    told = {
        source: Told(
            reports.get(source),
            consoles.get(source, Console()),
            logs.get(source, AnalysisLog((), 0)),
            before=before.get(source),
            compilers={kind: log for kind, log in compilers.get(source, {}).items() if log.tells},
        )
        for source in {**reports, **consoles, **logs, **compilers}
    }
    if graphs.blocks and not any(each.log.blocks for each in told.values()):
        nameless = told.setdefault(_ordinal(name), Told(None, Console(), AnalysisLog((), 0)))
        nameless.log, nameless.dumped = AnalysisLog(tuple(graphs.blocks), 0), True
    told = {
        source: each
        for source, each in told.items()
        if each.report or each.console or each.log.blocks or each.compilers
    }
    if not told:
        lacking = (log.LACKING for logs in compilers.values() for log in logs.values() if log.begun)
        lacks = next(lacking, "no complete block of an analysis log in it")
        raise IngestError(f"{name}: {lacks}", _EXPECTED)
    return Text(name, _joined(told), tuple(notes))


def add_logs(logs: list[AnalysisLog], times: Columns, process: int, ingested: Ingested) -> None:
    """Fill ``compilation`` and ``execution`` of a process from its logs and its timeline.

    Args:
        times: of the compilations in the timeline, as a step log gives them.
    """
    blocks = tuple(block for log in logs for block in log.blocks)
    ingested.table("compilation")
    if blocks:
        ingested.table("execution")
    compilations.join(AnalysisLog(blocks, 0), times, (), process, Folders(), ingested)


def add_figures(told: Told, process: int, ingested: Ingested) -> None:
    """Fill ``metric`` and ``counter`` from what a process says."""
    if told.report:
        add_section(told.report, process, ingested, told.before)
    if told.console:
        told.console.add(process, ingested)
    for log in told.compilers.values():
        log.add(process, ingested)


def _joined(told: dict[str, Told]) -> dict[str, Told]:
    """Lines that name no process are of the first that others name, unless it said the same."""
    if "" not in told or len(told) == 1:
        return told
    rest = {source: each for source, each in told.items() if source}
    nameless, first = told[""], next(iter(rest.values()))
    if (nameless.report and first.report) or (nameless.log.blocks and first.log.blocks):
        return told
    if nameless.compilers.keys() & first.compilers.keys():
        return told
    first.compilers |= nameless.compilers
    if not first.report:
        first.report, first.before = nameless.report, nameless.before
    if not first.log.blocks:
        first.log, first.dumped = nameless.log, nameless.dumped
    first.console = first.console or nameless.console
    return rest


def _ordinal(name: str) -> str:
    """Of the process that a dump of graphs is of, which its name ends in; the first has no name."""
    ordinal = name.rpartition(".")[2]
    return ordinal if ordinal.isdigit() and int(ordinal) else ""


def _refused(name: str, head: bytes, what: str) -> IngestError:
    """The error for what no reader takes: in words about what it is, if that is known."""
    what, instead = described(head) or (what, _EXPECTED)
    return IngestError(f"{name}: {what}", instead)


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


def _report_notes(
    name: str,
    sections: tuple[ReportSection, ...],
    newest: dict[str, ReportSection],
    before: dict[str, ReportSection],
) -> list[str]:
    if not before:
        return []
    lines = ", ".join(str(section.line) for section in newest.values())
    notes = [f"{name}: {len(sections)} reports in it; the newest is used (line {lines})"]
    if any(_cleared(earlier, newest[source]) for source, earlier in before.items()):
        notes.append(
            f"{name}: counts fall from one report to the next: they were cleared between,"
            " and what came before the newest is not in it"
        )
    return notes


def _cleared(earlier: ReportSection, later: ReportSection) -> bool:
    """Whether counts fell between two reports, as those of a process cannot by themselves."""
    now = {metric.name: metric.total_samples for metric in later.metrics}
    counts = ((metric.total_samples, now.get(metric.name)) for metric in earlier.metrics)
    return any(was is not None and new is not None and new < was for was, new in counts)


def _overstated(reports: Iterable[ReportSection]) -> list[str]:
    """That a report's durations are not what it prints, shown with the one that is most off."""
    off = [
        (
            printed_duration_ns(metric.printed) - metric.accumulator,
            metric.name,
            metric.printed,
            metric.accumulator,
        )
        for report in reports
        for metric in report.metrics
        if metric.unit == "ns" and metric.accumulator
    ]
    most, name, printed, truth = max(off, default=(0.0, "", "", 0.0))
    if most < _MISPRINT_NS:
        return []
    return [
        f"torch_xla rounds the units of a duration where it should cut them off: {name}"
        f" {printed} is {duration(truth / 1e9)}"
    ]


def contradictions(reports: Iterable[ReportSection]) -> Iterator[str]:
    """What reports say twice and differently, as where somebody has edited them."""
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


def _offered(
    line: str, opened: CompilerLog | None, compilers: dict[str, _Compilers]
) -> tuple[CompilerLog | None, bool]:
    """Offer a line to the log whose record is open, or else to that whose mark it has, of the
    process that it names.

    Returns:
        the log whose record is open from now on, and whether one has taken the line.
    """
    if opened and not opened.mark(line) and opened.take(line):
        return (opened if opened.inside else None), True
    for kind in _COMPILERS:
        if mark := kind.mark(line):
            logs = compilers[source_of(line[: line.index(mark)])]
            opened = logs.setdefault(kind, kind())
            if opened.take(line):
                opened.begun = True
                return (opened if opened.inside else None), True
    return (opened if opened and opened.inside else None), False


def _without(
    lines: Iterable[str],
    consoles: dict[str, Console],
    analysis: dict[str, AnalysisReader],
    graphs: GraphDump,
    compilers: dict[str, _Compilers],
) -> Iterator[str]:
    """The lines that belong neither to the console's judgements nor to an analysis log nor to a
    dumped graph nor to a compiler's log, which are taken on the way, by process where lines name
    it.
    """
    summary = False  # inside of one without marks, as PT_XLA_DEBUG_FILE has it
    opened: CompilerLog | None = None  # whose further lines have no mark
    for line in lines:
        opened, taken = _offered(line, opened, compilers)
        if taken:
            continue
        if (graphs.inside or line.endswith(("]\n", "]"))) and graphs.take(line):
            continue
        if _ANALYSIS in line:
            analysis[source_of(line[: line.index(_ANALYSIS)])].take(line)
            continue
        summary = (summary or Console.SUMMARY in line) and Console.END not in line
        if Console.MARK not in line and not summary:
            yield line
            continue
        begin = max(line.find(Console.MARK), 0)
        console = consoles.get(source := source_of(line[:begin])) or Console()
        if console.take(line[begin:]):
            consoles[source] = console
        elif not summary:
            yield line
