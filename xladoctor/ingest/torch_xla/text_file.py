"""A text made elsewhere: a metrics report or an analysis log, from a file or standard input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from xladoctor.ingest import compilations
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.interface import Ingested, IngestError
from xladoctor.ingest.torch_xla.analysis_log import looks_like_analysis_log, read_analysis_log
from xladoctor.ingest.torch_xla.metrics_report import (
    NotAMetricsReport,
    looks_like_metrics_report,
    read_metrics_report,
)
from xladoctor.ingest.torch_xla.report_tables import add_report

_HEAD = 1 << 16
_MAX_LINE = 1 << 20
_EXPECTED = (
    "expected a metrics report (torch_xla.debug.metrics.metrics_report(), XLA_METRICS_FILE) or an"
    " analysis log (PT_XLA_DEBUG_FILE)"
)


def read_text_file(path: Path) -> Ingested:
    """Read a text file. Raises IngestError if it holds neither kind of text."""
    try:
        with path.open("rb") as file:
            return read_text(file, str(path))
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror}") from error


def read_text(file: BinaryIO, name: str) -> Ingested:
    """Read a binary stream of text; ``name`` is what errors call it."""
    head = file.read(_HEAD)
    if not head:
        raise IngestError(f"{name}: is empty", _EXPECTED)
    if b"\x00" in head:
        offset = head.index(b"\x00")
        raise IngestError(f"{name}: byte {offset} is zero: not a text file", _EXPECTED)
    text = head.decode(errors="replace")
    lines = _lines(head, file)
    ingested = Ingested()
    if looks_like_analysis_log(text) and not looks_like_metrics_report(text):
        _analysis(lines, name, ingested)
    else:  # neither is in the head: a long log may hold a report further down
        _metrics(lines, name, ingested)
    return ingested


def _metrics(lines: Iterable[str], name: str, ingested: Ingested) -> None:
    try:
        add_report(read_metrics_report(lines), 0, ingested, name)
    except NotAMetricsReport as error:
        raise IngestError(f"{name}: {error}", _EXPECTED) from error


def _analysis(lines: Iterable[str], name: str, ingested: Ingested) -> None:
    log = read_analysis_log(lines)
    if not log.blocks:
        raise IngestError(f"{name}: no complete block of an analysis log in it", _EXPECTED)
    if log.torn:
        ingested.notes.append(f"{name}: {log.torn} blocks torn or cut off; left out")
    ingested.table("compilation")
    ingested.table("execution")
    compilations.join(log, {}, (), 0, Folders(), ingested)


def _lines(head: bytes, rest: BinaryIO) -> Iterator[str]:
    """The lines of a stream that ``head`` was already read from; an endless line is cut off."""
    pending = head
    while block := rest.read(_HEAD):
        whole, end, last = (pending + block).rpartition(b"\n")
        yield from (whole + end).decode(errors="replace").splitlines(keepends=True)
        pending = last[:_MAX_LINE]
    yield from pending.decode(errors="replace").splitlines(keepends=True)
