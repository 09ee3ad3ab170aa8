"""Reads console text from a file or standard input: logs and reports in the frontends' own formats,
or several of them between a program's other output.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from xladoctor.ingest.compiler_log import CompilerLog
from xladoctor.ingest.compressed import SPOILT, Unpacked, is_spoilt
from xladoctor.ingest.formats import all_formats
from xladoctor.ingest.full_copies import FullCopies
from xladoctor.ingest.interface import IngestError
from xladoctor.ingest.memory_errors import MemoryErrors
from xladoctor.ingest.other_formats import described
from xladoctor.ingest.plain_text import as_utf8, plain_lines
from xladoctor.ingest.text_reader import TextPart, source_of

_HEAD = 1 << 16
_A_TIMELINE = "a timeline (.xplane.pb, or a Chrome trace with a list of traceEvents)"


@dataclass(frozen=True, slots=True)
class Text:
    """The contents of a text.

    Attributes:
        name: its name in messages.
        processes: the parts of each process, by the process's name in the lines, which is empty for
            lines without one.
        notes: notes for the report.
    """

    name: str
    processes: dict[str, list[TextPart]]
    notes: tuple[str, ...] = ()

    @property
    def kinds(self) -> list[str]:
        """The kinds of its parts, in words."""
        names = dict.fromkeys(part.NAME for parts in self.processes.values() for part in parts)
        several = f" of {len(self.processes)} processes" if len(self.processes) > 1 else ""
        return [name + several for name in names]


def read_text_file(path: Path) -> Text:
    """Read a text file. Raises IngestError if it contains no evidence."""
    try:
        with Unpacked(path) as file:
            text = read_text(file, str(path))
        damage = file.damage
        notes = [f"{path}: {damage}; what could be read is used"] if damage else []
        return replace(text, notes=(*text.notes, *notes))
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_text(file: BinaryIO | Unpacked, name: str) -> Text:
    """Read a binary stream of text; ``name`` is its name in errors."""
    head, rest = as_utf8(file.read(_HEAD) or b"", file)
    if not head:
        raise IngestError(f"{name}: is empty", _expected())
    if b"\x00" in head:
        if is_spoilt(head):
            raise IngestError(f"{name}: {SPOILT}", _expected())
        offset = head.index(b"\x00")
        raise _refused(name, head, f"byte {offset} is zero: not a text file")
    logs = _CompilerLogs()
    readers = [each.text(name) for each in all_formats() if each.text is not None]
    number = 0
    for number, line in enumerate(plain_lines(head, rest), 1):
        if not logs.take(line):
            any(reader.take(line, number) for reader in readers)
    for reader in readers:
        reader.finish()
    begun = [reader for reader in readers if reader.begun]
    if not begun and not logs.begun:
        raise _refused(name, head, f"none of the formats that xladoctor reads, in {number} lines")
    processes: dict[str, list[TextPart]] = {}
    for source, part in (*(pair for reader in readers for pair in reader.parts()), *logs.parts()):
        processes.setdefault(source, []).append(part)
    if not processes:
        lacking = next((log.LACKING for log in logs.begun), "") or begun[0].lacking
        raise IngestError(f"{name}: {lacking}", _expected())
    notes = tuple(f"{name}: {note}" for reader in readers for note in reader.notes())
    return Text(name, _joined(processes), notes)


def _joined(processes: dict[str, list[TextPart]]) -> dict[str, list[TextPart]]:
    """Assign lines without a process to the first named one, unless that has the same parts."""
    if "" not in processes or len(processes) == 1:
        return processes
    rest = {source: parts for source, parts in processes.items() if source}
    first = next(iter(rest.values()))
    kinds = {part.kind for part in first}
    again = [part for part in processes[""] if part.kind in kinds]
    if not all(part.supplements for part in again):
        return processes
    first += [part for part in processes[""] if part not in again]
    return rest


def _expected() -> str:
    """A list of the supported formats, for messages."""
    given = ", ".join(text for each in all_formats() for text in each.expected)
    return f"expected {given}, or {_A_TIMELINE}"


def _refused(name: str, head: bytes, what: str) -> IngestError:
    """The error for a text that no reader takes; it says what the text is, if that is known."""
    what, instead = described(head) or (what, _expected())
    return IngestError(f"{name}: {what}", instead)


class _CompilerLogs:
    """Passes lines to the compilers' logs of the process that they name."""

    def __init__(self) -> None:
        logs = [kind for each in all_formats() for kind in each.logs]
        self._kinds: tuple[type[CompilerLog], ...] = (*logs, MemoryErrors, FullCopies)
        self._logs: dict[str, dict[type[CompilerLog], CompilerLog]] = defaultdict(dict)
        self._opened: CompilerLog | None = None  # the log with an open record

    def take(self, line: str) -> bool:
        """Offer a line to the log with an open record, or else to the log whose mark it has."""
        opened = self._opened
        if opened and not opened.mark(line) and opened.take(line):
            self._opened = opened if opened.inside else None
            return True
        for kind in self._kinds:
            if mark := kind.mark(line):
                opened = self._logs[source_of(line[: line.index(mark)])].setdefault(kind, kind())
                if opened.take(line):
                    opened.begun = True
                    self._opened = opened if opened.inside else None
                    return True
        self._opened = opened if opened and opened.inside else None
        return False

    @property
    def begun(self) -> list[CompilerLog]:
        """The logs that have taken any line."""
        return [log for logs in self._logs.values() for log in logs.values() if log.begun]

    def parts(self) -> list[tuple[str, TextPart]]:
        """The logs that have any record, with their process."""
        return [
            (source, log)
            for source, logs in self._logs.items()
            for log in logs.values()
            if log.has_records
        ]
