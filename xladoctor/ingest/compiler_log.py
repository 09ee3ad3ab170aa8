"""Common parts of the readers of compilers' own logs. Such logs contain little about a process, and
neither a compilation's inputs nor how often it was launched.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from xladoctor.facts import TABLES
from xladoctor.ingest.compilations import cause_of
from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.interface import ProcessRows
from xladoctor.ingest.text_reader import TextPart

_UNTOLD = {name: None for name in TABLES["compilation"].columns if name != "process"}
_MANY = 30  # compilations; a paste with fewer is taken as part of a log
_FEW = "the log shows too few compilations to say that nothing else is compiled again"
Forms = tuple[tuple[re.Pattern[str], Callable[[Any, re.Match[str]], bool | None]], ...]


class CompilerLog(TextPart):
    """Takes lines of one process's output, and collects the compilations in them.

    A subclass declares the forms of the lines that begin records. The first form that is found in a
    line takes it; a line without any may belong to the open record.

    Attributes:
        LACKING: what messages say about a log without a compilation.
        MARKS: texts, one of which is in each line that begins a record, and in few other lines.
        FORMS: regular expressions, each with the method that takes its match, unless that returns
            False.
        begun: whether any line belonged to the log.
    """

    begun = False
    _open: Any = None  # a record whose further lines may have no mark

    LACKING: ClassVar[str]
    MARKS: ClassVar[tuple[str, ...]]
    FORMS: ClassVar[Forms] = ()

    @classmethod
    def mark(cls, line: str) -> str | None:
        """The mark in a line that may belong to the log; None without one."""
        return next((mark for mark in cls.MARKS if mark in line), None)

    @property
    def inside(self) -> bool:
        """Whether a record is open, whose further lines may have no mark."""
        return self._open is not None

    @property
    @abstractmethod
    def has_records(self) -> bool:
        """Whether the log has any record."""

    def take(self, line: str) -> bool:
        """Take a line; False if it is not part of the log."""
        for pattern, take in self.FORMS:
            if (match := pattern.search(line)) and take(self, match) is not False:
                return True
        return self._further(line)

    def _further(self, line: str) -> bool:
        """Take a line that begins no record; False if it does not belong to the open one."""
        return False


def compilation(
    index: int, function: str | None, ordinal: int, site: CallSite, **columns: Any
) -> dict[str, Any]:
    """A row of ``compilation``.

    Args:
        index: number of the compilation in its process.
        ordinal: number of earlier compilations from the same place.
        columns: other columns that the log has.
    """
    return {
        **_UNTOLD,
        "index": index,
        "ordinal": ordinal,
        "cause": None if function is None else cause_of(function),
        **site.columns(),
        **columns,
    }


def key_change(
    index: int,
    against: int | None,
    change: Sequence[Any],
    site: CallSite = NOWHERE,
    role: str | None = None,
    nth: int = 0,
    hint: str | None = None,
) -> dict[str, Any]:
    """A row of ``key_change``.

    Args:
        index: number of the compilation in its process.
        against: number of the one that it is compared with.
        change: what is new, of which argument, what was there, and what is there now.
        site: the line that made it so, or uses it, by its ``role``.
        nth: number of the change among those of the compilation.
    """
    what, argument, was, now = change[:4]
    return {
        "index": index,
        "nth": nth,
        "against": against,
        "what": what,
        "argument": argument,
        "was": was,
        "now": now,
        "hint": hint or None,
        "role": role if site.file else None,
        **site.columns(),
    }


def note_few(compilations: int, rows: ProcessRows) -> None:
    """Note that a short log may lack compilations, if it is the only evidence."""
    if compilations < _MANY:
        for table in ("compilation", "key_change"):
            rows.ingested.cut.setdefault(table, _FEW)
