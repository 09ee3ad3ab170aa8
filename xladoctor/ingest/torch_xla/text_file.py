"""A text made elsewhere, from a file or standard input: metrics reports, an analysis log, what
torch_xla said of its metrics, or all of them between a program's other output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from xladoctor.ingest import compilations
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.interface import Columns, Ingested, IngestError
from xladoctor.ingest.torch_xla.analysis_log import AnalysisLog, read_analysis_log
from xladoctor.ingest.torch_xla.console import Console
from xladoctor.ingest.torch_xla.metrics_report import NotAMetricsReport, read_metrics_report
from xladoctor.ingest.torch_xla.metrics_types import MetricsReport
from xladoctor.ingest.torch_xla.report_tables import add_report

_HEAD = 1 << 16
_MAX_LINE = 1 << 20
_EXPECTED = (
    "expected a metrics report (torch_xla.debug.metrics.metrics_report(), XLA_METRICS_FILE), an"
    " analysis log (PT_XLA_DEBUG_FILE), or a console log with either"
)


@dataclass(frozen=True, slots=True)
class Text:
    """What a text holds.

    Attributes:
        name: what messages call it.
        report: its metrics reports, None without one.
        console: what torch_xla said of its metrics.
        log: the blocks of its analysis log.
    """

    name: str
    report: MetricsReport | None
    console: Console
    log: AnalysisLog

    @property
    def kinds(self) -> list[str]:
        """What is in it, in words."""
        held = {"a metrics report": self.report, "an analysis log": self.log.blocks,
                "metrics on the console": self.console}  # fmt: skip
        return [kind for kind, value in held.items() if value]

    def add_figures(self, process: int, ingested: Ingested) -> None:
        """Fill ``metric`` and ``counter``, and say what was torn."""
        if self.report:
            add_report(self.report, process, ingested, self.name)
        if self.console:
            self.console.add(process, ingested)
        if self.log.torn:
            ingested.notes.append(f"{self.name}: {self.log.torn} blocks torn or cut off; left out")


def read_text_file(path: Path) -> Text:
    """Read a text file. Raises IngestError if nothing that can be judged is in it."""
    try:
        with path.open("rb") as file:
            return read_text(file, str(path))
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror}") from error


def read_text(file: BinaryIO, name: str) -> Text:
    """Read a binary stream of text; ``name`` is what errors call it."""
    head = file.read(_HEAD)
    if not head:
        raise IngestError(f"{name}: is empty", _EXPECTED)
    if b"\x00" in head:
        offset = head.index(b"\x00")
        raise IngestError(f"{name}: byte {offset} is zero: not a text file", _EXPECTED)
    console, analysis = Console(), list[str]()
    report = None
    try:
        report = read_metrics_report(_without(_lines(head, file), console, analysis))
    except NotAMetricsReport as error:
        if not console and not analysis:
            raise IngestError(f"{name}: {error}", _EXPECTED) from error
    log = read_analysis_log(analysis, excerpt=True)
    if not (report or console or log.blocks):
        raise IngestError(f"{name}: no complete block of an analysis log in it", _EXPECTED)
    return Text(name, report, console, log)


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


def _without(lines: Iterable[str], console: Console, analysis: list[str]) -> Iterator[str]:
    """The lines that belong neither to the console's judgements nor to an analysis log, which are
    taken on the way.
    """
    for line in lines:
        if "Analysis: " in line:
            analysis.append(line)
        elif not console.take(line):
            yield line


def _lines(head: bytes, rest: BinaryIO) -> Iterator[str]:
    """The lines of a stream that ``head`` was already read from; an endless line is cut off."""
    pending = head
    while block := rest.read(_HEAD):
        whole, end, last = (pending + block).rpartition(b"\n")
        yield from (whole + end).decode(errors="replace").splitlines(keepends=True)
        pending = last[:_MAX_LINE]
    yield from pending.decode(errors="replace").splitlines(keepends=True)
