"""The evidence of one run, as rules and reports see it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from xladoctor.evidence.database import Database
from xladoctor.frontends.vocabulary import DEFAULT
from xladoctor.ingest.run_records import Manifest, RemoteManifest
from xladoctor.repository import portable


class Period(NamedTuple):
    """A part of a run: wall-clock instants in nanoseconds, both inclusive."""

    begin_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The origin of evidence that other tools wrote: there is no manifest.

    Attributes:
        kind: a ``timeline``, a ``text``, several ``files``, ``graphs`` that were compiled, or a
            ``pod``, of which only a part is kept.
        cwd, root: as in a manifest, if all processes of a pod had the same.
    """

    kind: Literal["timeline", "text", "files", "graphs", "pod"]
    cwd: str | None = None
    root: str | None = None


#: Where evidence is from.
Origin = Manifest | RemoteManifest | Elsewhere


@dataclass(frozen=True, slots=True)
class Evidence:
    """Tables, and how complete they are.

    Attributes:
        database: the tables of :mod:`xladoctor.evidence.schema` and the views over them.
        available: tables that were recorded and could be read, even if empty.
        notes: what was cut, skipped or unreadable.
        lost: the notes on losses that leave too much of what the program did unknown.
        path: what was analyzed, as commands need it; ``-`` is standard input. A URL is without its
            secrets.
        origin: its manifest, if it has one.
        frontend: the framework that the program is written in, as :mod:`xladoctor.frontends` names
            it.
        cut: tables that lack recorded rows, each with the note that says so.
        copies: for each URL that was read, the copy of it on this machine.
        consulted: the program's files whose text was asked for so far.
    """

    database: Database
    available: frozenset[str]
    notes: tuple[str, ...]
    path: str
    origin: Origin
    lost: tuple[str, ...] = ()
    frontend: str = DEFAULT
    cut: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, Path] = field(default_factory=dict)
    consulted: set[str] = field(default_factory=set)

    @property
    def manifest(self) -> Manifest | None:
        """The manifest of a run that was captured; None for other evidence."""
        return self.origin if isinstance(self.origin, Manifest) else None

    @property
    def began_ns(self) -> int | None:
        """When the capture began: nanoseconds of the wall clock; None if unknown."""
        return None if isinstance(self.origin, Elsewhere) else self.origin.began_ns

    @property
    def cwd(self) -> str | None:
        """The program's working directory; files below it are shown relative to it."""
        return None if isinstance(self.origin, RemoteManifest) else self.origin.cwd

    @property
    def root(self) -> str | None:
        """The repository that the program ran in, or its working directory."""
        return None if isinstance(self.origin, RemoteManifest) else self.origin.root or self.cwd

    def on_disk(self, path: str) -> Path:
        """Where a path of the evidence is on this machine: in the copy, if it is below a URL."""
        for url, copy in self.copies.items():
            if path == url or path.startswith(f"{url.rstrip('/')}/"):
                return copy / path[len(url) :].lstrip("/")
        return Path(path)

    def later_notes(self) -> list[str]:
        """Notes on tables that were made since the last call, as a query named them."""
        return [f"{self.path}: {note}" for _, note in self.database.unknown_numbers()]

    def portable(self, file: str) -> str:
        """A path in a form that is the same on any machine."""
        return portable(file, self.cwd, self.root)

    def shown(self, file: str | None) -> str | None:
        """A path as reports show it: in the project, from the working directory."""
        folders = (self.cwd, self.root) if self.cwd else ()
        inside = (file and each and file.startswith(each.rstrip("/") + "/") for each in folders)
        return posixpath.relpath(file, self.cwd) if file and any(inside) else file
