"""Common parts of the readers of what a framework, by itself, warns of about its own speed."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from xladoctor.ingest.compiler_log import CompilerLog, add_process
from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.interface import Ingested

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
    def inside(self) -> bool:
        """Whether a warning has further lines; most have one."""
        return False

    @property
    def has_records(self) -> bool:
        """Whether there is any warning."""
        return bool(self.warnings)

    def warn(self, kind: str, text: str, site: CallSite = NOWHERE) -> None:
        """Count a warning."""
        self.warnings[LoggedWarning(kind, text.strip()[:_LONGEST], site)] += 1

    def add(self, process: int, ingested: Ingested) -> None:
        """Fill ``logged_warning``."""
        if process not in ingested.tables.get("process", {}).get("process", ()):
            add_process(process, self.frontend, ingested)
        for warning, count in self.warnings.items():
            add_warning(process, warning.kind, warning.text, ingested, warning.site, count)


def add_warning(
    process: int,
    kind: str,
    text: str,
    ingested: Ingested,
    site: CallSite = NOWHERE,
    count: int = 1,
) -> None:
    """Append to ``logged_warning``."""
    ingested.add(
        "logged_warning", process=process, kind=kind, count=count, text=text, **site.columns()
    )
