"""What readers of text that others kept implement: logs and reports between a program's output."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from xladoctor.ingest.graph_log import GraphLog
from xladoctor.ingest.interface import Ingested

#: What tells processes apart before a line: a rank, a worker, a pod, an address.
_SOURCE = re.compile(
    r"\[\d+\]|\b(?:rank|worker|host|process|replica|device|core|pid|default)[ _:=-]*\d+"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b|\[pod/[^\]\s]+",
    re.IGNORECASE | re.ASCII,
)


class TextPart(ABC):
    """What one process says in a text in one format.

    Attributes:
        NAME: what messages call it.
        supplements: it adds only what the other parts of its process do not say, after them, and
            may be said more than once.
        cumulative: it counts from the process's beginning, so a second one is another process's.
        graphs: the graphs that it lists, if it is a log of them.
    """

    NAME: ClassVar[str]
    supplements: ClassVar[bool] = False
    cumulative: ClassVar[bool] = False
    graphs: GraphLog | None = None

    @property
    def kind(self) -> str:
        """The same for two parts of which a process has one at most."""
        return self.NAME

    @property
    def compiled(self) -> int | None:
        """How many compilations it counts; None if it does not."""
        return None

    @abstractmethod
    def add(self, process: int, ingested: Ingested) -> None:
        """Fill the tables of a process, but for those of ``graphs``."""


class TextReader(ABC):
    """Takes the lines of one text that may be of one of a frontend's own formats."""

    @abstractmethod
    def take(self, line: str, number: int) -> bool:
        """Take a line, which is the ``number``-th of the text; False if it is of no such format."""

    @abstractmethod
    def finish(self) -> None:
        """There are no more lines."""

    @property
    @abstractmethod
    def begun(self) -> bool:
        """Whether anything of such a format is in the text, whole or not."""

    @property
    @abstractmethod
    def lacking(self) -> str:
        """What messages say of a text with only the beginnings of it."""

    @abstractmethod
    def parts(self) -> Iterator[tuple[str, TextPart]]:
        """What the processes say, by what the lines name as their process."""

    @abstractmethod
    def notes(self) -> list[str]:
        """What is to be said of it."""


def source_of(prefix: str) -> str:
    """Which process a line is of, by what was put before it; empty if unknown."""
    return "" if not prefix or prefix.isspace() else " ".join(_SOURCE.findall(prefix))
