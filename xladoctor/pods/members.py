"""Finds the hosts of a pod: timelines of one session, or run directories of one job."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from xladoctor.errors import XladoctorError
from xladoctor.evidence.pod_runs import is_run, job_of, members, of_one_job
from xladoctor.evidence.runs import locate
from xladoctor.foreign import quoted
from xladoctor.ingest.interface import IngestError, Losses, Notes
from xladoctor.ingest.regular import lies_in
from xladoctor.recording.interface import HOST
from xladoctor.regular_files import files_below
from xladoctor.storage.address import Address, is_url, local_path, parse_address

if TYPE_CHECKING:
    from xladoctor.pods.where import Where
    from xladoctor.storage.store import Object

_OF_PROCESS = re.compile(r"process-[^/]+/")
_DIGITS = re.compile(r"(\d{1,18})")
#: More timelines than this, or more bytes of several, are not read together in one process.
_TOGETHER, _TOGETHER_BYTES = 8, 1 << 30


class MemberError(XladoctorError):
    """A host's evidence that must not be read."""


@dataclass(frozen=True, slots=True)
class Member:
    """The evidence of a host, or of a process.

    Attributes:
        path: a file, a run directory, or a URL, which may have credentials.
        shown: the same as people know it.
        root: the folder that was named, which the path must not lead out of; empty for URLs.
        identity: changes if the content does; empty if that is not known.
        bytes: its size.
    """

    path: str = field(repr=False)  # clusters log what workers are given
    shown: str
    root: str
    identity: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Pod:
    """The hosts of a job.

    Attributes:
        shown: what was named, as people know it.
        notes: on what is left out.
        of_runs: whether these are run directories, each of which is read by itself.
    """

    shown: str
    members: Sequence[Member]
    notes: Sequence[str] = ()
    of_runs: bool = False

    @property
    def is_large(self) -> bool:
        """Whether it is too much to be read in one process."""
        count, size = len(self.members), sum(member.bytes for member in self.members)
        return self.of_runs or count > _TOGETHER or (count > 1 and size > _TOGETHER_BYTES)


def find_pod(words: Sequence[str], session: str | None = None) -> Pod | None:
    """The hosts that have evidence at a path or URL, or in these files; None if it is that of a
    single program's run, or of something else.

    Args:
        words: paths, runs by name and URLs.
        session: the session of timelines to read; by default the newest.

    Raises:
        IngestError: there is no such session, or nothing at all.
        StorageError: a URL cannot be looked at.
    """
    if len(words) > 1:
        return _of_files(words)
    word = words[0]
    if is_url(word) and not local_path(word):
        return _behind(word, session)
    path = Path(locate(local_path(word) or word)) if word != "-" else None
    if path is None or not path.is_dir():
        return None
    named = not Path(local_path(word) or word).is_dir()  # last, which is that of a job
    if named and (runs := job_of(path)):
        return _of_runs(runs)
    return _below(path, session)


def find_large_pod(
    path: str | Sequence[str], session: str | None = None, where: Where | None = None
) -> Pod | None:
    """The hosts at a path, if there are too many for one process, or if ``where`` is named.

    Raises:
        IngestError: as :func:`find_pod`; or a cluster is named, and it is not of several hosts.
        StorageError: a URL cannot be looked at.
    """
    words = [path] if isinstance(path, str) else list(path)
    pod = find_pod(words, session)
    if pod is not None and len(pod.members) > 1 and (pod.is_large or (where and where.is_named)):
        return pod
    if where and where.cluster is not None:
        raise IngestError(
            f"{' '.join(words)}: not of several hosts, so there is nothing for a cluster to do",
            "leave out --cluster",
        )
    return None


def _of_runs(runs: Sequence[Path]) -> Pod:
    return Pod(quoted(*map(str, runs)), [_run(run, run) for run in runs], of_runs=True)


def _of_files(words: Sequence[str]) -> Pod | None:
    """The timelines, or runs of a job's processes, that were named one by one; None if anything
    else was.
    """
    if any(map(is_url, words)) or "-" in words:
        return None
    places = [Path(locate(word)) for word in words]
    runs = [run for place in places for run in members(place) or [place]]
    if of_one_job(runs):
        return _of_runs(runs)
    from xladoctor.ingest.recognition import is_timeline

    files = [Path(word) for word in words]
    if not all(is_timeline(file) and file.is_file() for file in files):
        return None
    # what the user named may be a link to anywhere
    own = [replace(_file(file, file.parent), root="") for file in dict.fromkeys(files)]
    twice = len(files) - len(own)
    notes = [f"{twice} of the files were named twice; read once"] if twice else []
    return Pod(quoted(*words), own, notes)


def _below(path: Path, session: str | None) -> Pod | None:
    """The runs of a job's hosts, or the timelines of a session, in a folder."""
    if runs := members(path):
        return Pod(str(path), [_run(run, path) for run in runs], of_runs=True)
    if is_run(path):
        return None
    from xladoctor.ingest.recognition import Kind, files_in, newest_traces  # loads the readers
    from xladoctor.ingest.sessions import of_one_session

    noted = Losses()
    below = files_in(path)
    files = of_one_session(path, below[Kind.TIMELINE], session, noted)
    files = files or newest_traces(below[Kind.TRACE], noted)
    if others := [*below[Kind.TEXT], *below[Kind.COMPILER], *below[Kind.MODULE]]:
        noted.notes.append(
            f"{path}: of many hosts only timelines are read, not logs such as"
            f" {others[0].relative_to(path)}"
        )
    files = sorted(files, key=lambda file: _natural(str(file)))
    return Pod(str(path), list(_files(files, path, noted)), noted.notes)


def require_inside(member: Member) -> None:
    """Refuse a member that leads out of the folder that was named, as a stranger's link may.

    Raises:
        MemberError: it does.
    """
    if member.root and not lies_in(Path(member.path), Path(member.root)):
        raise MemberError(f"{member.shown}: a link or not a plain file; not read")


def _files(files: Sequence[Path], root: Path, noted: Notes) -> Iterator[Member]:
    for file in files:
        if lies_in(file, root):
            yield _file(file, root)
        else:
            noted.lose(f"{file}: a link or not a plain file; not read")


def _file(file: Path, root: Path) -> Member:
    about = file.stat()
    identity = f"{file.absolute()} {about.st_size} {about.st_mtime_ns} {about.st_ino}"
    return Member(str(file), str(file), str(root), identity, about.st_size)


def _run(run: Path, root: Path) -> Member:
    files = [_file(file, run) for file in files_of(run)]
    identity = "\n".join(file.identity for file in files)
    return Member(str(run), str(run), str(root), identity, sum(file.bytes for file in files))


def files_of(place: Path) -> list[Path]:
    """The plain files of a member, in order: of a run directory, without those of other hosts that
    are in it, and without links, which may lead out of it.
    """
    if not place.is_dir():
        return [place]
    return [
        file
        for file in sorted(files_below(place))
        if not file.relative_to(place).parts[0].startswith(HOST)
        and stat.S_ISREG(file.lstat().st_mode)
    ]


def _behind(url: str, session: str | None) -> Pod | None:
    """The timelines behind a URL, or the runs of a job's hosts."""
    from xladoctor.ingest.recognition import is_timeline
    from xladoctor.storage.needed import needed
    from xladoctor.storage.store import Store

    address = parse_address(url)
    with closing(Store(address)) as store:
        objects, is_folder = store.objects()
        if not is_folder:
            return None
        if runs := _runs_of(objects):
            hosts = [_object(address, *run) for run in sorted(runs.items())]
            return Pod(address.shown, hosts, of_runs=True)
        chosen = needed(store, objects, session)
    timelines = [each for each in chosen.fetched if is_timeline(PurePosixPath(each.name))]
    hosts = [
        _object(address, each.name, [each])
        for each in sorted(timelines, key=lambda each: _natural(each.name))
    ]
    return Pod(address.shown, hosts, [f"{address.shown}: {note}" for note in chosen.notes])


def _runs_of(objects: Sequence[Object]) -> dict[str, list[Object]]:
    """The objects of each run of a job's hosts, by its folder; empty for one beside the others'."""
    runs: dict[str, list[Object]] = {"": []}
    for each in objects:
        folder = each.name.partition("/")[0] if each.name.startswith(HOST) else ""
        runs.setdefault(folder, []).append(each)
    kept = {folder: run for folder, run in runs.items() if _is_run(folder, run)}
    return kept if any(kept) else {}


def _is_run(folder: str, objects: Sequence[Object]) -> bool:
    """Whether these objects are a run directory, which has no manifest until it is whole."""
    below = [each.name.removeprefix(f"{folder}/") for each in objects]
    return "run.json" in below or any(_OF_PROCESS.match(name) for name in below)


def _object(address: Address, name: str, objects: Sequence[Object]) -> Member:
    """A member behind a URL: what is below it by this name, in these objects."""
    name = quote(name) if address.scheme in ("http", "https") else name
    own = replace(address, path=f"{address.path.rstrip('/')}/{name}".strip("/"))
    versions = "\n".join(f"{each.name} {each.version} {each.size}" for each in objects)
    identity = f"{own.shown}\n{versions}" if all(each.version for each in objects) else ""
    size = sum(each.size or 0 for each in objects)
    return Member(own.complete + own.query, own.shown, "", identity, size)


def _natural(name: str) -> list[tuple[int, str]]:
    """A key by which host-9 comes before host-10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _DIGITS.split(name)]
