"""Recognises the kind of evidence in a file by its contents; by its name only if that is part of
the format.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path, PurePath

from xladoctor.ingest.chrome.beginning import LONGEST, is_trace, may_be_trace
from xladoctor.ingest.compressed import HEAD, PACKED, head_of
from xladoctor.ingest.formats import compiler_file
from xladoctor.ingest.hlo.dump import is_dumped
from xladoctor.ingest.interface import Notes
from xladoctor.regular_files import files_below

SUFFIX = ".xplane.pb"
#: Suffixes of timelines in a run directory; elsewhere, other files may have them too.
CAPTURED = (SUFFIX, ".pt.trace.json.gz")
_MOST_FILES = 10_000  # in a directory
_OF_TEXTS = frozenset({"", ".txt", ".log", ".out", ".err", ".dump"})
_OF_TRACES = (".json", f".json{PACKED}")
_ENDINGS = (".pt.trace.json", ".trace.json", ".json")
_PART = re.compile(r"(.+?)\.(\d{10,})\.pt\.trace\.json(?:\.gz)?")
_RANK = re.compile(r"(?<![a-z])rank[-_]?(\d{1,9})(?!\d)", re.IGNORECASE)
_COPY = "perfetto_trace."  # prefix of a copy of the trace beside it
_PLANES = b"\n"  # field 1 of an XSpace; texts that begin with it have no zero byte


class Kind(Enum):
    """Kinds of evidence."""

    TIMELINE = "timeline"
    TEXT = "text"
    MODULE = "module"
    COMPILER = "compiler's log"
    TRACE = "trace"  # a timeline for viewers; has less detail than another one of the same run


#: Files by kind, in order of their names.
ByKind = dict[Kind, list[Path]]


def is_timeline(file: PurePath) -> bool:
    """Whether a file has the name of a timeline, compressed or not."""
    return file.name.endswith((SUFFIX, SUFFIX + PACKED))


def kind_of(file: Path) -> Kind:
    """The kind of a file that the user named; text, if nothing else. Raises OSError."""
    if is_dumped(file):
        return Kind.MODULE
    if is_timeline(file):
        return Kind.TIMELINE
    head = head_of(file)
    if b"\x00" in head and head.startswith(_PLANES):
        return Kind.TIMELINE
    if compiler_file(head):
        return Kind.COMPILER
    return Kind.TRACE if may_be_trace(head) and is_trace(head_of(file, LONGEST)) else Kind.TEXT


def files_in(directory: Path) -> ByKind:
    """The files below a directory that may be evidence."""
    held: ByKind = {kind: [] for kind in Kind}
    files = (file for file in sorted(files_below(directory)) if file.is_file())
    for _, file in zip(range(_MOST_FILES), files, strict=False):
        if kind := kind_by_name(file):
            held[kind].append(file)
    return held


def unreadable_traces(directory: Path, traces: list[Path]) -> list[Path]:
    """Files below a directory that have names of traces but cannot be read as traces.

    For example, traces of a job's other ranks that were not written to their end.
    """
    if not traces:
        return []
    known = set(traces)
    named = (
        file
        for file in sorted(files_below(directory))
        if file.name.endswith(_OF_TRACES)
        and file not in known
        and file.is_file()
        and (rank_of(file) is not None or _ENDINGS[0] in file.name)
    )
    return [file for _, file in zip(range(_MOST_FILES), named, strict=False)]


def newest_traces(traces: list[Path], noted: Notes) -> list[Path]:
    """The traces below a directory, without copies for other viewers and earlier parts of a run.

    Profilers with a schedule name each part after its worker and time: ``vm.12.pt.trace.json``.
    """
    traces = [file for file in traces if not file.name.startswith(_COPY)]
    parts: dict[Path, list[tuple[int, Path]]] = {}
    for file in traces:
        part = _PART.fullmatch(file.name)
        worker = file.parent / (part[1] if part else file.name)
        parts.setdefault(worker, []).append((int(part[2]) if part else 0, file))
    earlier = len(traces) - len(parts)
    if earlier:
        noted.notes.append(
            f"{traces[0].parent}: {earlier} traces of earlier parts of the run"
            " are left out; name a file to read it"
        )
    return [max(files)[1] for files in parts.values()]


def named_after(trace: Path) -> str | None:
    """The worker that a Chrome trace is named after; None for other names."""
    name = trace.name.removesuffix(PACKED)
    if part := _PART.fullmatch(name):
        return part[1]
    ending = next((each for each in _ENDINGS if name.endswith(each)), "")
    return name.removesuffix(ending) if ending else None


def rank_of(file: Path) -> int | None:
    """The rank of a distributed job in a file's name, as profilers' scripts write it."""
    match = _RANK.search(file.name)
    return int(match[1]) if match else None


def may_be_evidence(file: PurePath) -> bool:
    """Whether :func:`kind_by_name` would look at a file of this name at all."""
    named = is_dumped(file) or is_timeline(file) or file.name.endswith(_OF_TRACES)
    return named or _is_named_as_text(file)


def kind_by_name(file: Path) -> Kind | None:
    """The kind of a file in a directory, by its name: a directory may have too many to open."""
    if is_dumped(file):
        return Kind.MODULE
    if is_timeline(file):
        return Kind.TIMELINE
    if file.name.endswith(_OF_TRACES):
        return Kind.TRACE if _looks(file, is_trace, LONGEST) else None
    name = Path(file.name.removesuffix(PACKED))
    if name.suffix == ".log" and _looks(file, lambda head: compiler_file(head) is not None):
        return Kind.COMPILER
    return Kind.TEXT if _is_named_as_text(file) else None


def _is_named_as_text(file: PurePath) -> bool:
    name = PurePath(file.name.removesuffix(PACKED))
    numbered = name.suffix[1:].isdecimal() and PurePath(name.stem).suffix in _OF_TEXTS  # by process
    return name.suffix in _OF_TEXTS or numbered


def _looks(file: Path, like: Callable[[bytes], bool], longest: int = HEAD) -> bool:
    try:
        return like(head_of(file, longest))
    except OSError:
        return False
