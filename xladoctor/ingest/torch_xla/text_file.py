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
from xladoctor.ingest.interface import Columns, Ingested, IngestError
from xladoctor.ingest.jax.compile_log import CompileLog
from xladoctor.ingest.plain_text import plain_lines
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
from xladoctor.ingest.torch_xla.report_tables import add_section
from xladoctor.quantities import duration

_HEAD = 1 << 16
_MISPRINT_NS = 5e8  # what a report prints too much, from where readers would wonder
_COMPILED = frozenset({"XrtCompile", "CompileTime"})  # the first until 1.13
_ANALYSIS = " Analysis: "
_EXPECTED = (
    "expected a metrics report (torch_xla.debug.metrics.metrics_report(), XLA_METRICS_FILE), an"
    " analysis log (PT_XLA_DEBUG_FILE), a console log with either, a timeline (.xplane.pb, or a"
    " Chrome trace with a list of traceEvents), a compiler's log (TORCH_TRACE, or"
    ' TORCH_LOGS="recompiles,graph_breaks"), or what JAX logs of its compilations'
    " (JAX_LOG_COMPILES=1)"
)
_COMPILERS: tuple[type[CompilerLog], ...] = (CompileLog, TextLog)


@dataclass(slots=True)
class Told:
    """What one process says in a text.

    Attributes:
        report: its newest metrics report, None without one.
        console: what torch_xla said of its metrics.
        log: the blocks of its analysis log, or those of the graphs that it wrote down.
        dumped: whether the log is made of graphs.
        compilers: the logs of the frameworks' own compilers, by kind.
    """

    report: ReportSection | None
    console: Console
    log: AnalysisLog
    dumped: bool = False
    compilers: dict[type[CompilerLog], CompilerLog] = field(default_factory=dict)

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
        held = {"a metrics report": any(each.report for each in told),
                "an analysis log": any(each.log.blocks and not each.dumped for each in told),
                "a dump of graphs": any(each.dumped for each in told),
                "metrics on the console": any(each.console for each in told),
                **{kind.NAME: any(kind in each.compilers for each in told)
                   for kind in _COMPILERS}}  # fmt: skip
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
    head = file.read(_HEAD) or b""
    if not head:
        raise IngestError(f"{name}: is empty", _EXPECTED)
    if b"\x00" in head:
        if is_spoilt(head):
            raise IngestError(f"{name}: {SPOILT}", _EXPECTED)
        offset = head.index(b"\x00")
        raise IngestError(f"{name}: byte {offset} is zero: not a text file", _EXPECTED)
    consoles: dict[str, Console] = {}
    analysis: dict[str, AnalysisReader] = defaultdict(partial(AnalysisReader, excerpt=True))
    graphs = GraphDump()
    compilers: dict[str, dict[type[CompilerLog], CompilerLog]] = defaultdict(dict)
    reports: dict[str, ReportSection] = {}
    notes: list[str] = []
    try:
        report = read_metrics_report(
            _without(plain_lines(head, file), consoles, analysis, graphs, compilers)
        )
        reports = {section.source: section for section in report.sections}
        notes = _report_notes(name, report.sections, reports)
        notes += [f"{name}: {note}" for note in (*report.notes, *_overstated(reports.values()))]
    except NotAMetricsReport as error:
        if not consoles and not analysis and not graphs.blocks and not compilers:
            raise IngestError(f"{name}: {error}", _EXPECTED) from error
    logs = {source: reader.log for source, reader in analysis.items()}
    if torn := sum(log.torn for log in logs.values()):
        notes.append(f"{name}: {torn} blocks torn or cut off; left out")
    told = {
        source: Told(reports.get(source), consoles.get(source, Console()),
                     logs.get(source, AnalysisLog((), 0)),
                     compilers={kind: log for kind, log in compilers.get(source, {}).items()
                                if log.tells})
        for source in {**reports, **consoles, **logs, **compilers}
    }  # fmt: skip
    if graphs.blocks and not any(each.log.blocks for each in told.values()):
        nameless = told.setdefault(_ordinal(name), Told(None, Console(), AnalysisLog((), 0)))
        nameless.log, nameless.dumped = AnalysisLog(tuple(graphs.blocks), 0), True
    told = {source: each for source, each in told.items()
            if each.report or each.console or each.log.blocks or each.compilers}  # fmt: skip
    if not told:
        begun = (kind.LACKING for logs_of in compilers.values() for kind in logs_of)
        lacks = next(begun, "no complete block of an analysis log in it")
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
        add_section(told.report, process, ingested)
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
    first.report = first.report or nameless.report
    if not first.log.blocks:
        first.log, first.dumped = nameless.log, nameless.dumped
    first.console = first.console or nameless.console
    return rest


def _ordinal(name: str) -> str:
    """Of the process that a dump of graphs is of, which its name ends in; the first has no name."""
    ordinal = name.rpartition(".")[2]
    return ordinal if ordinal.isdigit() and int(ordinal) else ""


def _report_notes(
    name: str, sections: tuple[ReportSection, ...], newest: dict[str, ReportSection]
) -> list[str]:
    if len(sections) == len(newest):
        return []
    lines = ", ".join(str(section.line) for section in newest.values())
    return [f"{name}: {len(sections)} reports in it; the newest is used (line {lines})"]


def _overstated(reports: Iterable[ReportSection]) -> list[str]:
    """That a report's durations are not what it prints, shown with the one that is most off."""
    off = [
        (printed_duration_ns(metric.printed) - metric.accumulator, metric.name, metric.printed,
         metric.accumulator)
        for report in reports for metric in report.metrics
        if metric.unit == "ns" and metric.accumulator
    ]  # fmt: skip
    most, name, printed, truth = max(off, default=(0.0, "", "", 0.0))
    if most < _MISPRINT_NS:
        return []
    return [f"torch_xla rounds the units of a duration where it should cut them off: {name}"
            f" {printed} is {duration(truth / 1e9)}"]  # fmt: skip


def _taken(
    line: str, compilers: dict[str, dict[type[CompilerLog], CompilerLog]]
) -> CompilerLog | None:
    """The log that takes a line which has its mark, of the process that the line names."""
    for kind in _COMPILERS:
        if mark := kind.mark(line):
            source = source_of(line[: line.index(mark)])
            log = compilers.get(source, {}).get(kind) or kind()
            if log.take(line):
                compilers[source][kind] = log
                return log
    return None


def _without(
    lines: Iterable[str], consoles: dict[str, Console], analysis: dict[str, AnalysisReader],
    graphs: GraphDump, compilers: dict[str, dict[type[CompilerLog], CompilerLog]],
) -> Iterator[str]:  # fmt: skip
    """The lines that belong neither to the console's judgements nor to an analysis log nor to a
    dumped graph nor to a compiler's log, which are taken on the way, by process where lines name
    it.
    """
    summary = False  # inside of one without marks, as PT_XLA_DEBUG_FILE has it
    opened: CompilerLog | None = None  # whose further lines have no mark
    for line in lines:
        if opened and not opened.mark(line) and opened.take(line):
            opened = opened if opened.inside else None
            continue
        opened = _taken(line, compilers)
        if opened:
            opened = opened if opened.inside else None
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
