"""Keeps diagnoses in the user's cache, so that the same evidence is judged once.

``diagnoses/<key>``: a checksum, then JSON. The key is of what was named, of all that decides how it
is judged, and of this version. The entry lists the files that were read, with their sizes and
dates: it counts as long as these are the same.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from xladoctor import __version__
from xladoctor.cache_folder import FileCache
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pictures.interface import Pictures
from xladoctor.diagnosis.selection import Selection
from xladoctor.diagnosis.traits import Traits
from xladoctor.evidence.pod_runs import is_run
from xladoctor.evidence.runs import locate
from xladoctor.ingest.interface import IngestError
from xladoctor.recording.interface import RunDirectory
from xladoctor.regular_files import LISTING, files_below, read_bytes
from xladoctor.repository import repository
from xladoctor.storage.address import is_url

if TYPE_CHECKING:
    from xladoctor.evidence.interface import Evidence  # which loads the database

_DIAGNOSES = FileCache("diagnoses", 1 << 28)
#: The variable that keeps this cache from being used, if it is ``off``.
_SWITCH = "XLADOCTOR_CACHE"
#: Files beyond which looking at each would take too long.
_MOST_FILES = 5_000
_TICK_NS = 20_000_000  # by which the clock of files may be behind
_SUM = 40  # hexadecimal digits of a checksum
#: Size, time of the last change, time of any change, inode.
Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A kept diagnosis, with what decides whether it still counts.

    Attributes:
        evidence: the stamps of the files that were named, or are in folders that were named.
        sources: those of the program's own files whose text was asked for; None for one that is not
            there.
        frontend: of the evidence.
        pack: the ids of the rules that apply to it.
        patches: whether patches were planned for its findings.
    """

    evidence: dict[str, Stamp]
    sources: dict[str, Stamp | None]
    diagnosis: Diagnosis
    pictures: Pictures
    traits: Traits
    frontend: str
    pack: list[str]
    patches: bool


class KeptDiagnosis:
    """The place of the diagnosis of a path by these rules, made before the path is read."""

    def __init__(
        self,
        path: str | Sequence[str],
        selection: Selection,
        total_steps: int | None,
        session: str | None = None,
    ) -> None:
        words = [path] if isinstance(path, str) else list(path)
        self._selection, self._began_ns = selection, time.time_ns() - _TICK_NS
        self._places = list(_places(words))
        near = [Path.cwd(), *(place.absolute() for place in self._places)]
        self._key = _digest(
            [made_by(), socket.gethostname(), sys.prefix],
            [list(map(str, self._places)), str(near[0]), [str(repository(each)) for each in near]],
            [selection.digest, selection.notes, total_steps, session],
        )

    def read(self, *, patches: bool = False) -> Diagnosis | None:
        """The diagnosis, if it is kept and nothing changed since. It may lack what pages draw.

        Args:
            patches: whether it is to have patches; else it has none.
        """
        file = _DIAGNOSES.get(self._key) if self._places else None
        if file is None:
            return None
        try:
            content = read_bytes(file, LISTING, links=False)
            if content[:_SUM].decode("ascii") != _sum(content[_SUM:]):
                return None
            entry = _decoder().decode(content[_SUM:])
        except (OSError, ValueError, msgspec.MsgspecError):
            return None
        changed = entry.evidence != self._stamps() or entry.sources != _stamps_of(entry.sources)
        if changed or (patches and not entry.patches):
            return None
        diagnosis = self._complete(entry)
        if patches:
            return diagnosis
        findings = [replace(finding, suggestion=None) for finding in diagnosis.findings]
        return replace(diagnosis, findings=findings)

    def keep(self, diagnosis: Diagnosis, evidence: Evidence, *, patches: bool = False) -> None:
        """Keep the diagnosis, unless a file changed meanwhile, or another try may show more."""
        stamps, sources = self._stamps(), _stamps_of(evidence.consulted)
        if not stamps or diagnosis.pictures is None or _is_passing(diagnosis):
            return
        written = {str(RunDirectory(place).sources) for place in self._places}
        read = [stamp for file, stamp in stamps.items() if file not in written]
        if any(stamp and max(stamp[1:3]) >= self._began_ns for stamp in (*read, *sources.values())):
            return
        entry = _Entry(
            evidence=stamps,
            sources=sources,
            diagnosis=replace(diagnosis, pack={}, pictures=None, traits=Traits()),
            pictures=diagnosis.pictures,
            traits=diagnosis.traits,
            frontend=evidence.frontend,
            pack=list(diagnosis.pack),
            patches=patches,
        )
        try:
            content = msgspec.json.encode(entry)
            if self._complete(_decoder().decode(content)) != diagnosis:
                return
        except (TypeError, ValueError, msgspec.MsgspecError):  # such as names that are not UTF-8
            return
        if len(content) < LISTING:
            _DIAGNOSES.put(self._key, _sum(content).encode("ascii") + content)
            _DIAGNOSES.remove_oldest()

    def _complete(self, entry: _Entry) -> Diagnosis:
        """The diagnosis with what is not in its JSON."""
        rules = {rule.id: rule for rule in self._selection.rules}
        own = {name: rules[name].for_frontend(entry.frontend) for name in entry.pack}
        pack = {name: rule for name, rule in own.items() if rule}
        return replace(entry.diagnosis, pack=pack, pictures=entry.pictures, traits=entry.traits)

    def _stamps(self) -> dict[str, Stamp]:
        """The stamps of what was named; empty if that is too much."""
        stamps = dict[str, Stamp]()
        for place in self._places:
            run = RunDirectory(place)
            outputs = (run.diagnosis, run.report) if is_run(place) else ()
            for file in files_below(place) if place.is_dir() else [place]:
                if file not in outputs and (stamp := _stamp(file)):
                    stamps[str(file)] = stamp
                if len(stamps) > _MOST_FILES:
                    return {}
        return stamps


def _is_passing(diagnosis: Diagnosis) -> bool:
    """Whether a later diagnosis may be another: of a program that runs, of hosts that were reduced
    by themselves, or by third-party rules, which have a time limit.
    """
    rules = [diagnosis.pack.get(each.rule) for each in diagnosis.not_checked]
    limited = any(rule.foreign for rule in rules if rule)
    return diagnosis.run.running or diagnosis.run.kind == "pod" or limited


@cache
def made_by() -> str:
    """This version, and the state of its files: in a checkout they change, and the version not."""
    pending, digest = [Path(str(resources.files("xladoctor")))], blake2b()
    while pending:
        for entry in sorted(os.scandir(pending.pop()), key=lambda entry: entry.name):
            if entry.is_dir():
                pending += [Path(entry.path)] if entry.name != "__pycache__" else []
            else:
                about = entry.stat()
                digest.update(f"{entry.path} {about.st_size} {about.st_mtime_ns}\n".encode())
    return f"{__version__} {digest.hexdigest()[:32]}"


@cache
def _decoder() -> msgspec.json.Decoder[_Entry]:
    return msgspec.json.Decoder(_Entry)


def _places(words: Sequence[str]) -> Iterator[Path]:
    """What words stand for, if all are paths or runs of this machine, and the cache is used."""
    if os.environ.get(_SWITCH) == "off" or "-" in words or any(map(is_url, words)):
        return
    try:
        yield from [Path(locate(word)) for word in words]
    except IngestError:  # which reading it raises again
        return


def _stamps_of(files: Any) -> dict[str, Stamp | None]:
    return {file: _stamp(Path(file)) for file in sorted(files)}


def _stamp(file: Path) -> Stamp | None:
    try:
        about = file.stat()
    except (OSError, ValueError):
        return None
    return (about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)


def _digest(*values: object) -> str:
    text = json.dumps(values)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def _sum(content: bytes) -> str:
    return blake2b(content, digest_size=_SUM // 2).hexdigest()
