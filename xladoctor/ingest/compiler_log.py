"""Common parts of the readers of compilers' own logs. Such logs contain little about a process, and
neither a compilation's inputs nor how often it was launched.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from xladoctor.ingest.frames import CallSite
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.text_reader import TextPart

_UNTOLD = dict.fromkeys(
    (
        "thread",
        "step",
        "launches",
        "graph_hash",
        "inputs",
        "outputs",
        "memory_bytes",
        "callbacks",
        "cached",
        "compile_id",
        "end_ns",
        "duration_ns",
        "callers",
    )
)

_MANY = 30  # compilations; a paste with fewer is taken as part of a log
_FEW = "the log shows too few compilations to say that nothing else is compiled again"


class CompilerLog(TextPart):
    """Takes lines of one process's output, and collects the compilations in them.

    Attributes:
        LACKING: what messages say about a log without a compilation.
        MARKS: texts, one of which is in each line that begins a record, and in few other lines.
        begun: whether any line belonged to the log.
    """

    begun = False

    LACKING: ClassVar[str]
    MARKS: ClassVar[tuple[str, ...]]

    @classmethod
    def mark(cls, line: str) -> str | None:
        """The mark in a line that may belong to the log; None without one."""
        return next((mark for mark in cls.MARKS if mark in line), None)

    @property
    @abstractmethod
    def inside(self) -> bool:
        """Whether a record is open, whose further lines may have no mark."""

    @property
    @abstractmethod
    def has_records(self) -> bool:
        """Whether the log has any record."""

    @abstractmethod
    def take(self, line: str) -> bool:
        """Take a line; False if it is not part of the log."""


def add_process(
    number: int, frontend: str, ingested: Ingested, pid: int | None = None, rank: int | None = None
) -> None:
    """Add a process that is known only from a log.

    Args:
        frontend: the framework whose compiler wrote the log.
    """
    ingested.add(
        "process",
        process=number,
        pid=pid,
        rank=rank,
        host=None,
        frontend=frontend,
        device_kind=None,
        devices=None,
        ended=True,
    )


def compilation(
    process: int, index: int, function: str, ordinal: int, site: CallSite, **columns: Any
) -> dict[str, Any]:
    """A row of ``compilation``.

    Args:
        index: number of the compilation in its process.
        ordinal: number of earlier compilations from the same place.
        columns: other columns that the log has.
    """
    return {
        "process": process,
        "index": index,
        "ordinal": ordinal,
        "cause": f"jit({function})",
        **_UNTOLD,
        **site.columns(),
        **columns,
    }


def note_few(compilations: int, ingested: Ingested) -> None:
    """Note that a short log may lack compilations, if it is the only evidence."""
    if compilations < _MANY:
        for table in ("compilation", "key_change"):
            ingested.cut.setdefault(table, _FEW)
