"""The registry of the frontends' formats: what one framework's programs write, with readers.

``ingest/`` in a frontend's folder holds ``FORMATS``; nothing else names its readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from xladoctor.frontends import part, parts
from xladoctor.ingest.compiled_calls import Calls
from xladoctor.ingest.compiler_log import CompilerLog
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.graph_log import GraphLog
from xladoctor.ingest.interface import Notes, ProcessRows
from xladoctor.ingest.text_reader import TextReader
from xladoctor.recording.bootstrap._xladoctor.frontend import FRONTENDS


class CompilerFile(NamedTuple):
    """A format of files that a framework's compiler writes, one per process.

    Attributes:
        frontend: the name of the framework's frontend.
        is_one: whether a file that begins with these bytes has this format.
        process_id: returns the id of the process that wrote a file; None if it is unknown.
        read: returns the tables of a process, whose calls a timeline may show, and the name of the
            frontend that the file shows, if it is another one.
    """

    frontend: str
    is_one: Callable[[bytes], bool]
    process_id: Callable[[Path], int | None]
    read: Callable[[Path, Calls, Notes], tuple[Gathered, str | None]]


#: What is raised where a record of a structured log has another form than it should.
UNREADABLE = (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError)


class LogRecord(NamedTuple):
    """A record of a structured log: its object, and the text below it."""

    fields: dict[str, Any]
    payload: str

    @property
    def id(self) -> str:
        """The id of its compilation."""
        return f"{self.fields.get('frame_id')}/{self.fields.get('frame_compile_id')}"

    @property
    def artifact(self) -> str:
        """The kind of its payload; empty if it has no name."""
        artifact = self.fields.get("artifact")
        return str(artifact.get("name", "")) if isinstance(artifact, dict) else ""


class LogRecords(Protocol):
    """Takes the records that a backend adds to the structured log of its framework.

    Attributes:
        frontend: the name of the backend's frontend, once there are such records.
    """

    frontend: str | None

    def take(self, record: LogRecord) -> bool:
        """Take a record; False if it is of another kind."""

    def finish(self, file: Path, first: int, calls: Calls, rows: Gathered, noted: Notes) -> None:
        """Add rows and notes, after the last record.

        Args:
            file: the log, for notes.
            first: the number of the next compilation.
            calls: calls in a timeline of the process.
        """


class OtherFormat(NamedTuple):
    """A format that is recognised but not read, as it has no evidence of what costs time.

    Attributes:
        pattern: matches only this format, in the first 64 KiB.
        what: what it is, and what it lacks.
        instead: what to provide instead.
    """

    pattern: re.Pattern[str]
    what: str
    instead: str


def other_format(pattern: str, what: str, instead: str) -> OtherFormat:
    """A format that is not read; in the regular expression ``^`` and ``$`` match at line ends."""
    return OtherFormat(re.compile(pattern, re.MULTILINE), what, instead)


@dataclass(frozen=True)
class Formats:
    """The formats that a frontend's programs write.

    Attributes:
        expected: what people can provide, for messages; each with how to get it.
        logs: readers of its compilers' logs in text, recognised by their marks.
        text: makes a reader of what else its programs print, for a text with this name.
        compiler_files: formats of files that its compiler writes.
        graph_log: reads the log of graphs that the capture requested, in a process's folder.
        report: adds the metrics of the report that the capture requested, from a file, for a
            process; returns its counters, None without a report.
        records: takes what it adds to the structured log of its framework.
        not_read: other formats of it, the most distinctive first.
    """

    expected: tuple[str, ...] = ()
    logs: tuple[type[CompilerLog], ...] = ()
    text: Callable[[str], TextReader] | None = None
    compiler_files: tuple[CompilerFile, ...] = ()
    graph_log: Callable[[Path, Notes], GraphLog] | None = None
    report: Callable[[Path, ProcessRows], dict[str, int | None] | None] | None = None
    records: Callable[[], LogRecords] | None = None
    not_read: tuple[OtherFormat, ...] = ()


_NONE = Formats()


def formats_of(frontend: str) -> Formats:
    """The formats of a frontend, by its name; empty if it is unknown."""
    known = part(frontend, "ingest") if frontend in FRONTENDS else None
    formats: Formats = _NONE if known is None else known.FORMATS
    return formats


def all_formats() -> list[Formats]:
    """The formats of every frontend."""
    return [module.FORMATS for module in parts("ingest")]


def compiler_file(head: bytes) -> CompilerFile | None:
    """The format of a compiler's file that begins with these bytes; None for other files."""
    return next(
        (file for each in all_formats() for file in each.compiler_files if file.is_one(head)), None
    )
