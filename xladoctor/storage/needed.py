"""Chooses the objects below a URL that readers need: a bucket holds checkpoints, too."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from xladoctor.ingest.chrome.beginning import LONGEST
from xladoctor.ingest.interface import Losses
from xladoctor.ingest.recognition import is_timeline, kind_by_name, may_be_evidence
from xladoctor.ingest.sessions import of_one_session
from xladoctor.recording.interface import HOST
from xladoctor.storage.store import Object, Store

_MOST_FILES = 10_000
#: Objects of at least this size are looked into before they are fetched, unless a name is enough.
_LARGE = 1 << 23
_TEXT_HEAD = 1 << 12
_LONGEST_NAME, _DEEPEST = 255, 64
#: What a run directory holds, by its path.
_OF_RUN = re.compile(
    r"[^/]+\.(?:jsonl?|txt|log)|process-[^/]+/[^/]+|plugins/profile/[^/]+/[^/]+", re.ASCII
)
_OF_HOST = re.compile(rf"{HOST}[^/]+/", re.ASCII)
#: What a run is listed by, where there are several.
_OF_LISTED = re.compile(r"(?:run|diagnosis)\.json|process-[^/]+/process\.json", re.ASCII)
_HELD_BY_RUN = re.compile(r"(?:|.*/)(?=process-[^/]+/|plugins/profile/)", re.ASCII)


@dataclass(slots=True)
class Needed:
    """What is to be fetched.

    Attributes:
        fetched: these objects.
        empty: objects of which the name is enough: timelines of sessions that are not read.
        notes: on what is left out.
    """

    fetched: list[Object]
    empty: list[Object] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def needed(store: Store, objects: Sequence[Object], session: str | None) -> Needed:
    """The objects of a folder that are needed.

    Args:
        session: the session of timelines to read; by default the newest.

    Raises:
        StorageError: an object cannot be looked at.
        IngestError: there is no such session.
    """
    named, notes = _with_names_of_files(objects)
    names = {each.name for each in named}
    if any(map(_OF_HOST.fullmatch, _runs(names))):
        return _of_pod(named, notes)
    if "run.json" in names or any(name.startswith("process-") and "/" in name for name in names):
        programs = {holder for holder in _runs(names) if holder}
        if not programs:
            return Needed([each for each in named if _OF_RUN.fullmatch(each.name)], notes=notes)
    if runs := _runs(names):
        listed = [
            each
            for each in named
            for holder in [_holder(each.name, runs)]
            if holder is not None and _OF_LISTED.fullmatch(each.name.removeprefix(holder))
        ]
        return Needed(listed, notes=notes)
    return _of_other_tools(store, named, session, notes)


def _of_pod(objects: Sequence[Object], notes: list[str]) -> Needed:
    """The run that is beside the folders of other hosts, if there is one, and what those are listed
    by: each is fetched by itself. A host that is alone is fetched here.
    """
    alone = len(_runs({each.name for each in objects})) == 1
    fetched = []
    for each in objects:
        host = _OF_HOST.match(each.name)
        name = each.name[host.end() :] if host else each.name
        if (_OF_LISTED if host and not alone else _OF_RUN).fullmatch(name):
            fetched.append(each)
    return Needed(fetched, notes=notes)


def _of_other_tools(
    store: Store, objects: Sequence[Object], session: str | None, notes: list[str]
) -> Needed:
    likely = [each for each in objects if may_be_evidence(PurePosixPath(each.name))]
    if len(likely) > _MOST_FILES:
        notes.append(
            f"{store.address.shown}: {len(likely):,} files that may be evidence; the first"
            f" {_MOST_FILES:,} are looked at"
        )
        likely = likely[:_MOST_FILES]
    likely = store.all_described(likely)
    timelines = [each for each in likely if is_timeline(PurePosixPath(each.name))]
    read = _of_session(timelines, session, store) if timelines else set()
    others = [each for each in likely if each not in timelines and _is_evidence(store, each)]
    return Needed(
        [*(each for each in timelines if each.name in read), *others],
        [each for each in timelines if each.name not in read],
        notes,
    )


def _of_session(timelines: Sequence[Object], session: str | None, store: Store) -> set[str]:
    """The names of those that the readers would choose, by names and dates alone."""
    with tempfile.TemporaryDirectory(prefix="xladoctor-") as folder:
        root = Path(folder)
        files = {root / each.name: each for each in timelines}
        for file, each in files.items():
            make_empty(file, each)
        return {files[file].name for file in of_one_session(root, sorted(files), session, Losses())}


def make_empty(file: Path, found: Object) -> None:
    """Make an empty file for an object, with its date. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    os.utime(file, (found.modified_s, found.modified_s))


def _is_evidence(store: Store, found: Object) -> bool:
    """Whether a large object may be evidence, by its beginning; smaller ones are fetched."""
    if found.size is None or found.size < _LARGE or not found.ranges:
        return True
    file = PurePosixPath(found.name)
    packed, trace = file.name.endswith(".gz"), ".json" in file.suffixes
    head = store.head(found, LONGEST if trace else _TEXT_HEAD)
    if not packed and not trace and b"\x00" in head:
        return False
    with tempfile.TemporaryDirectory(prefix="xladoctor-") as folder:
        beginning = Path(folder, file.name)
        beginning.write_bytes(head)
        return kind_by_name(beginning) is not None


def _runs(names: Iterable[str]) -> set[str]:
    """The folders with a manifest and with what a run has, each with a slash at its end."""
    holders = {found[0] for name in names if (found := _HELD_BY_RUN.match(name))}
    return {holder for holder in holders if f"{holder}run.json" in names}


def _holder(name: str, runs: set[str]) -> str | None:
    parents = (f"{parent}/".removeprefix("./") for parent in PurePosixPath(name).parents)
    return next((parent for parent in parents if parent in runs), "" if "" in runs else None)


def _with_names_of_files(objects: Sequence[Object]) -> tuple[list[Object], list[str]]:
    """The objects whose names a file here can have, without leading out of its folder; notes.

    A name may be anything in a bucket: ``../x``, ``/etc/x``, and ``a`` beside ``a/b``.
    """
    fit = [each for each in objects if is_name_of_file(each.name)]
    folders = {str(parent) for each in fit for parent in PurePosixPath(each.name).parents}
    unfit = [each for each in objects if not is_name_of_file(each.name) or each.name in folders]
    unfit = [each for each in unfit if not each.name.endswith("/")]  # made by consoles, as folders
    notes = [f"{len(unfit)} objects have names that no file can have, such as {unfit[0].name!r};"
             " left out"] if unfit else []  # fmt: skip
    return [each for each in fit if each.name not in folders], notes


def is_name_of_file(name: str) -> bool:
    """Whether a name is a relative path that stays below its folder."""
    parts = name.split("/")
    return len(parts) <= _DEEPEST and all(
        part not in ("", ".", "..") and "\x00" not in part
        and len(part.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
        for part in parts
    )  # fmt: skip
