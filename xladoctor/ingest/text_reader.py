"""The interfaces of readers of console text: logs and reports between a program's other output."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.graph_log import GraphLog
from xladoctor.ingest.interface import ProcessRows

#: Prefixes of lines that identify a process: a rank, a worker, a pod, an address.
_SOURCE = re.compile(
    r"\[\d+\]|\b(?:rank|worker|host|process|replica|device|core|pid|default)[ _:=-]*\d+"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b|\[pod/[^\]\s]+",
    re.IGNORECASE | re.ASCII,
)


class TextPart(ABC):
    """The part of a text that one process wrote in one format.

    Attributes:
        NAME: its name in messages.
        supplements: whether it only adds what the process's other parts lack, after them, and may
            occur more than once.
        cumulative: whether it counts from the process's start, so that a second one is another
            process's.
        decides: whether it is certain of what it says of the process's frontend.
        graphs: the log of graphs, if it is one.
    """

    NAME: ClassVar[str]
    supplements: ClassVar[bool] = False
    cumulative: ClassVar[bool] = False
    decides: ClassVar[bool] = False
    graphs: GraphLog | None = None

    @property
    def kind(self) -> str:
        """The kind of part; a process has at most one part of each kind."""
        return self.NAME

    @property
    def compiled(self) -> int | None:
        """How many compilations it counts; None if it does not."""
        return None

    @abstractmethod
    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Fill the tables of a process, except for those of ``graphs``.

        Args:
            made: has ``compilation`` as the process's other evidence shows it, which may be
                completed, or filled if that has none.
            rows: the other tables.

        Returns:
            the process's frontend, if nothing else says.
        """


class TextReader(ABC):
    """Takes the lines of one text, which may contain a frontend's own formats."""

    @abstractmethod
    def take(self, line: str, number: int) -> bool:
        """Take a line, the ``number``-th of the text; False if it is in none of the formats."""

    @abstractmethod
    def finish(self) -> None:
        """Called after the last line."""

    @property
    @abstractmethod
    def begun(self) -> bool:
        """Whether the text has anything in such a format, complete or not."""

    @property
    @abstractmethod
    def lacking(self) -> str:
        """What messages say about a text with only incomplete parts."""

    @abstractmethod
    def parts(self) -> Iterator[tuple[str, TextPart]]:
        """The parts, each with the name of its process in the lines."""

    @abstractmethod
    def notes(self) -> list[str]:
        """Notes for the report."""


def source_of(prefix: str) -> str:
    """The process of a line, from its prefix; empty if unknown."""
    return "" if not prefix or prefix.isspace() else " ".join(_SOURCE.findall(prefix))
