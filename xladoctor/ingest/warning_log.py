"""Common parts of the readers of what a framework, by itself, warns of about its own speed."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from xladoctor.ingest.compiler_log import CompilerLog
from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import ProcessRows

_LONGEST = 1_000  # characters of a text


class LoggedWarning(NamedTuple):
    """A warning: what it is about, what it says, and the line that it names."""

    kind: str
    text: str
    site: CallSite = NOWHERE


class WarningLog(CompilerLog):
    """Collects the warnings of one process.

    Attributes:
        frontend: the framework that prints them, if nothing else tells.
    """

    supplements = True
    frontend: str

    def __init__(self) -> None:
        self.warnings: Counter[LoggedWarning] = Counter()

    @property
    def has_records(self) -> bool:
        """Whether there is any warning."""
        return bool(self.warnings)

    def warn(self, kind: str, text: str, site: CallSite = NOWHERE) -> None:
        """Count a warning."""
        self.warnings[LoggedWarning(kind, text.strip()[:_LONGEST], site)] += 1

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Fill ``logged_warning``."""
        for warning, count in self.warnings.items():
            add_warning(warning, rows, count)
        return self.frontend


def add_warning(warning: LoggedWarning, rows: ProcessRows, count: int = 1) -> None:
    """Append to ``logged_warning``."""
    kind, text, site = warning
    rows.add("logged_warning", kind=kind, count=count, text=text, **site.columns())
