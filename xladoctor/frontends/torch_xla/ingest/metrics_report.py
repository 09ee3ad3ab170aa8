"""Reads torch_xla's metrics report: how often, how long and how much it compiled, ran and moved.

Sources are ``torch_xla.debug.metrics.metrics_report()`` and ``short_metrics_report()``, the files
of ``XLA_METRICS_FILE``, and logs that contain either. ``CreateMetricReport`` in PyTorch's
``torch/csrc/lazy/core/metrics.cpp`` defines the format; the variants that older releases and XRT
servers wrote are read too.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from sys import intern

from xladoctor.frontends.torch_xla.ingest.metrics_block import Block, Counter, Metric
from xladoctor.frontends.torch_xla.ingest.pasted_report import (
    EMPHASIS,
    KEYS,
    cut_name,
    entries,
    without_note,
)
from xladoctor.ingest.text_reader import source_of

_LONGEST_LINE = 1 << 16  # characters; a report's own lines are below 400
_MOST_NAMES = 10_000  # in one section; a report has a few hundred
_MOST_SOURCES = 64
_MOST_NOTES = 20
_MOST_FIGURES = 500_000  # in all sections: about 50 MB, 2,000 reports
_EXPECTED = (
    "'Metric: <name>' with 'TotalSamples:' and 'Accumulator:' below it, or 'Counter: <name>' with"
    " 'Value:' below it, as torch_xla.debug.metrics.metrics_report() prints them"
)

_STEP = re.compile(r"\[MetricsData; step=(\d{1,18})\]", re.ASCII)
_KEY = re.compile(rf"({'|'.join(sorted(KEYS, reverse=True))}):(?=\s|$)", re.ASCII)
_CHANGING = re.compile(r"\d[\d.,:]*")  # times and other numbers that a log puts before a line


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


@dataclass(frozen=True)
class ReportSection:
    """One report. Its figures are parsed on demand: a log may have thousands of reports, and only
    the newest is needed.

    Attributes:
        step: the report's number in a file of ``XLA_METRICS_FILE``; None elsewhere.
        line: its first line, from 1.
        source: the writer named by the log (``[0]``, ``worker 3``); empty if there is none.
        of_metrics, of_counters: their blocks.
    """

    step: int | None
    line: int
    source: str
    of_metrics: Sequence[Block]
    of_counters: Sequence[Block]

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


def read_metrics_report(lines: Iterable[str]) -> MetricsReport:
    """Read a text of any length in bounded memory; of too many sections the newest are kept.

    Lines may have their line ends or not. If they do, a last line without one counts as cut off.

    Raises:
        NotAMetricsReport: there is no section.
    """
    reader = MetricsReader()
    for number, line in enumerate(lines, 1):
        reader.take(line, number)
    return reader.finish()


@dataclass(slots=True)
class _Stream:
    """The open section of one process, in a log that may mix several processes."""

    source: str
    line: int = 0
    step: int | None = None
    metrics: dict[str, Block] = field(default_factory=dict)
    counters: dict[str, Block] = field(default_factory=dict)
    block: Block | None = None

    def is_whole(self, block: Block, at_end: bool) -> bool:
        """Whether a block has all its lines; percentiles may be absent from the whole report."""
        if block.kind == "Counter":
            return "Value" in block.figures
        if "TotalSamples" not in block.figures or "Accumulator" not in block.figures:
            return False
        others = self.metrics.values()
        return not at_end or block.percentiles is not None or any(not m.percentiles for m in others)

    def begins_anew(self, entry: Block) -> bool:
        """Whether a metric or counter belongs to the next report: its name repeats."""
        if entry.kind == "Metric":
            return entry.name in self.metrics or len(self.metrics) >= _MOST_NAMES
        seen = self.counters.get(entry.name)
        if seen is None:
            return len(self.counters) >= _MOST_NAMES
        # A short report that was asked for a fallback (aten::nonzero) by name prints it twice.
        fallback = "::" in entry.name and not entry.name.startswith("xla::")
        return not (fallback and int(seen.figures["Value"]) == int(entry.figures["Value"]))


class MetricsReader:
    """Reads a text line by line."""

    def __init__(self) -> None:
        self._complete = True
        self._notes: list[str] = []
        self._unlisted_notes = self._foreign_lines = self._number = 0
        self._first: str | None = ""  # the first line that is not blank, until an entry begins
        self._ended = False  # a line with a line end was seen
        self._cut = False  # the newest line has no end, although others had
        self._current = _Stream("")
        self._streams = {"": self._current}
        self._blank = True  # all lines so far were blank
        self._kept: deque[tuple[ReportSection, int]] = deque()  # with the number of figures
        self._figures = self._dropped = 0

    def take(self, line: str, number: int) -> bool:
        """Take a line, the ``number``-th of the text; False if none of it belongs to a report."""
        self._number, any_taken = number, False
        for entry in entries(line):
            taken = self._take_line(entry)
            any_taken |= taken
            self._foreign_lines += not (taken or entry.isspace())
            if self._blank and not taken and self._first is not None:
                self._first = entry
            self._blank &= entry.isspace()
        return any_taken

    def finish(self) -> MetricsReport:
        """All reports, after the last line. Raises NotAMetricsReport if there is no section."""
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
            notes.append(f"lines skipped that are not part of a report: {self._foreign_lines}")
        sections = sorted((section for section, _ in self._kept), key=lambda kept: kept.line)
        return MetricsReport(tuple(sections), self._complete, tuple(notes))

    def _note(self, line: int, text: str) -> None:
        self._complete = False
        if len(self._notes) < _MOST_NOTES:
            self._notes.append(f"line {line}: {text}")
        else:
            self._unlisted_notes += 1

    def _take_line(self, line: str) -> bool:
        """Take a line; False if it is not part of a report."""
        if line.endswith("\n") and len(line) <= _LONGEST_LINE:
            key, _, text = line.lstrip(" ").partition(": ")  # the usual line, without a search
            if key in KEYS:
                self._ended, self._cut = True, False
                return self._take_key(self._current, key, text.strip(), "")
        ended = line.endswith(("\n", "\r"))
        self._cut = self._ended and not ended
        self._ended |= ended
        if len(line) > _LONGEST_LINE:
            return False
        step = _STEP.search(line) if "[MetricsData" in line else None
        match = step or _KEY.search(line)
        if match is None:
            return False
        prefix, text = line[: match.start()], line[match.end() :].strip()
        if prefix[-1:].isalpha() or prefix.endswith("_"):
            return False  # the end of another word
        before = prefix.strip(EMPHASIS)
        stream = self._stream(before) if before else self._current
        taken = (
            self._take_step(stream, int(step[1]))
            if step
            else self._take_key(stream, match[1], text, before and _CHANGING.sub("0", before))
        )
        if taken:
            self._current = stream
            if self._cut:
                self._note(self._number, "the text ends in this line; its end may be missing")
        return taken

    def _stream(self, prefix: str) -> _Stream:
        """The stream of a line; one without a source continues the last stream."""
        source = source_of(prefix)
        if not source or (source not in self._streams and len(self._streams) > _MOST_SOURCES):
            return self._current
        return self._streams.setdefault(source, _Stream(source))

    def _take_step(self, stream: _Stream, step: int) -> bool:
        self._close_block(stream)
        self._close_section(stream)
        stream.line, stream.step = self._number, step
        return True

    def _take_key(self, stream: _Stream, key: str, text: str, shape: str) -> bool:
        block = stream.block
        if key == "Counter" and block is not None and block.is_accumulator(text):
            key = "Accumulator"
        if key in ("Metric", "Counter"):
            self._close_block(stream)
            self._first = None
            if name := without_note(key, text):
                stream.block = Block(key, intern(name), self._number, shape, self._number)
            return bool(name)
        if block is None and self._first is not None:
            block = stream.block = self._beheaded(self._first, key, shape)
        self._first = None
        # A training loop's "Learning Rate: 0.1" is not a figure of the metric above it.
        if block is None or key in block.figures or not block.shape.startswith(shape):
            return False
        if key == "Percentiles" and block.kind == "Metric":
            if not block.take_percentiles(text, self._cut):
                self._note(self._number, f"unreadable percentile in metric {block.name[:80]}")
        # At the end of the text "12" may be left of "12345"; for a counter it is a lower bound.
        elif not (self._cut and key != "Value") and not block.take(key, text):
            return False
        block.last = self._number
        return True

    def _beheaded(self, first: str, key: str, shape: str) -> Block | None:
        """The entry in whose middle the text begins, if the rest of its name identifies it."""
        kind = "Counter" if key == "Value" else "Metric"
        if name := cut_name(first, key):
            return Block(kind, intern(name), self._number, shape, self._number)
        if key == "TotalSamples":
            self._note(self._number, "a metric whose name is cut off; left out")
        return None

    def _close_block(self, stream: _Stream, at_end: bool = False) -> None:
        block, stream.block = stream.block, None
        if block is None:
            return
        figures = block.figures
        has_sum = "Value" in figures or "TotalSamples" in figures or "Accumulator" in figures
        if not has_sum and not (at_end and self._number - block.last <= self._cut):
            self._foreign_lines += 1 + len(block.figures)  # "Best Metric: accuracy" in a log
            return
        if not stream.is_whole(block, at_end):
            self._note(block.last, f"cut off inside {block.kind.lower()} {block.name[:80]}")
        if not has_sum:
            return
        if stream.begins_anew(block):
            self._close_section(stream)
        stream.line = stream.line or block.line
        if block.kind == "Metric":
            stream.metrics[block.name] = block
        else:
            stream.counters.setdefault(block.name, block)

    def _close_section(self, stream: _Stream, at_end: bool = False) -> None:
        """Close the open section of a stream; only the newest sections are kept."""
        filled = bool(stream.metrics or stream.counters)
        if at_end and self._kept and stream.step is not None and not filled:
            self._note(stream.line, f"nothing below the header of step {stream.step}; left out")
        elif filled or stream.step is not None:
            section = ReportSection(
                stream.step,
                stream.line,
                stream.source,
                tuple(stream.metrics.values()),
                tuple(stream.counters.values()),
            )
            self._kept.append((section, size := _figures(stream)))
            self._figures += size
        while self._figures > _MOST_FIGURES and len(self._kept) > 1:
            self._figures -= self._kept.popleft()[1]
            self._dropped += 1
        stream.line, stream.step, stream.metrics, stream.counters = 0, None, {}, {}


def _figures(stream: _Stream) -> int:
    """The number of figures in the open section, which determines its memory."""
    texts = (block.percentiles or "" for block in stream.metrics.values())
    return 1 + len(stream.counters) + sum(8 + text.count(";") for text in texts)
