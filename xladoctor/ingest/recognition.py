"""Which kind of evidence a file is, by what it holds; by its name only where that is part of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path

from xladoctor.ingest.compressed import PACKED, head_of
from xladoctor.ingest.hlo.dump import is_dumped
from xladoctor.ingest.torch.structured_log import is_structured_log

SUFFIX = ".xplane.pb"
_MOST_FILES = 10_000  # in a directory
_OF_TEXTS = frozenset({"", ".txt", ".log", ".out", ".err", ".dump"})
_OF_TRACES = (".json", f".json{PACKED}")
_PLANES = b"\n"  # field 1 of an XSpace; texts that begin so have no zero byte
_EVENTS = b'"traceEvents"'


class Kind(Enum):
    """Kinds of evidence."""

    TIMELINE = "timeline"
    TEXT = "text"
    MODULE = "module"
    COMPILER = "compiler's log"
    TRACE = "trace"  # for viewers; the same in less detail


#: Files by what they are, in order of their names.
ByKind = dict[Kind, list[Path]]


def is_timeline(file: Path) -> bool:
    """Whether a file is named as a timeline, packed or not."""
    return file.name.endswith((SUFFIX, SUFFIX + PACKED))


def kind_of(file: Path) -> Kind:
    """What a file is that somebody named: text, if nothing else. Raises OSError."""
    if is_dumped(file):
        return Kind.MODULE
    if is_timeline(file):
        return Kind.TIMELINE
    head = head_of(file)
    if b"\x00" in head and head.startswith(_PLANES):
        return Kind.TIMELINE
    if is_structured_log(head):
        return Kind.COMPILER
    return Kind.TRACE if _is_trace(head) else Kind.TEXT


def files_in(directory: Path) -> ByKind:
    """What may be evidence among the files below a directory."""
    held: ByKind = {kind: [] for kind in Kind}
    files = (file for file in sorted(directory.rglob("*")) if file.is_file())
    for _, file in zip(range(_MOST_FILES), files, strict=False):
        if kind := _kind_by_name(file):
            held[kind].append(file)
    return held


def _kind_by_name(file: Path) -> Kind | None:
    """A directory has files of any kind, too many to look into each."""
    if is_dumped(file):
        return Kind.MODULE
    if is_timeline(file):
        return Kind.TIMELINE
    if file.name.endswith(_OF_TRACES):
        return Kind.TRACE if _looks(file, _is_trace) else None
    name = Path(file.name.removesuffix(PACKED))
    if name.suffix == ".log" and _looks(file, is_structured_log):
        return Kind.COMPILER
    numbered = name.suffix[1:].isdigit() and Path(name.stem).suffix in _OF_TEXTS  # of processes
    return Kind.TEXT if name.suffix in _OF_TEXTS or numbered else None


def _looks(file: Path, like: Callable[[bytes], bool]) -> bool:
    try:
        return like(head_of(file))
    except OSError:
        return False


def _is_trace(head: bytes) -> bool:
    """A Chrome trace: an object with events somewhere behind its beginning, or a list of them."""
    start = head.lstrip()
    return (start.startswith(b"{") and (_EVENTS in head or b'"displayTimeUnit"' in head)) or (
        start.startswith(b"[") and b'"ph"' in head
    )
