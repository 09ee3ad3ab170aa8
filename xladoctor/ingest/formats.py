"""The formats of the frontends: what only programs of one framework write, and who reads it.

``ingest/`` of a frontend's folder holds ``FORMATS``; nothing else names its readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from xladoctor.frontends import part
from xladoctor.ingest.compiler_log import CompilerLog
from xladoctor.ingest.graph_log import GraphLog
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.text_reader import TextReader
from xladoctor.recording.bootstrap._xladoctor.frontend import FRONTENDS


class CompilerFile(NamedTuple):
    """A file that a framework's compiler keeps of one process.

    Attributes:
        frontend: the name of the framework's frontend.
        is_one: whether a file that begins with these bytes is one.
        process_id: of the process that wrote it, by the file's name; None if it does not say.
        read: fills the tables of a process, which has this number.
    """

    frontend: str
    is_one: Callable[[bytes], bool]
    process_id: Callable[[Path], int | None]
    read: Callable[[Path, int, Ingested], None]


class OtherFormat(NamedTuple):
    """A format that is known and not read, as it holds no evidence of what costs time.

    Attributes:
        pattern: what no other text has, in the first 64 KiB.
        what: what it is, and what it does not tell.
        instead: what to give.
    """

    pattern: re.Pattern[str]
    what: str
    instead: str


def other_format(pattern: str, what: str, instead: str) -> OtherFormat:
    """A format that is not read, by a regular expression of which ``^`` and ``$`` mean lines."""
    return OtherFormat(re.compile(pattern, re.MULTILINE), what, instead)


@dataclass(frozen=True)
class Formats:
    """What a frontend's programs write.

    Attributes:
        expected: what people can give of it, for messages; each with how to get it.
        logs: of its compilers, in text, by their marks.
        text: reads what else its programs print, of a text with this name.
        compiler_files: files that its compiler writes.
        graph_log: reads the log of graphs that the capture had it write into a process's folder.
        report: adds the metrics report that the capture had it write to this file, of the process
            with this number.
        not_read: other formats of it, the surest first.
    """

    expected: tuple[str, ...] = ()
    logs: tuple[type[CompilerLog], ...] = ()
    text: Callable[[str], TextReader] | None = None
    compiler_files: tuple[CompilerFile, ...] = ()
    graph_log: Callable[[Path, Ingested], GraphLog] | None = None
    report: Callable[[Path, int, Ingested], None] | None = None
    not_read: tuple[OtherFormat, ...] = ()


_NONE = Formats()


def formats_of(frontend: str) -> Formats:
    """Those of a frontend, by its name; none if it is unknown."""
    known = part(frontend, "ingest") if frontend in FRONTENDS else None
    formats: Formats = _NONE if known is None else known.FORMATS
    return formats


def all_formats() -> list[Formats]:
    """Those of every frontend."""
    return [formats_of(name) for name in FRONTENDS]


def compiler_file(head: bytes) -> CompilerFile | None:
    """Which kind of compiler's file begins with these bytes, if any."""
    return next(
        (file for each in all_formats() for file in each.compiler_files if file.is_one(head)), None
    )
