"""Brings what is behind a URL to this machine, as far as readers need it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO

from xladoctor.ingest.interface import Progress
from xladoctor.regular_files import LOG
from xladoctor.storage.address import StorageError, parse_address
from xladoctor.storage.cache import Copies
from xladoctor.storage.needed import Needed, make_empty, needed
from xladoctor.storage.store import AT_A_TIME, PART, Object, Store

_TICK_S = 0.2
Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Fetched:
    """Evidence that was brought here.

    Attributes:
        place: a file or folder on this machine, which stays as long as this process.
        shown: its URL, without secrets.
        notes: on what was left out.
    """

    place: Path
    shown: str
    notes: tuple[str, ...] = ()


def fetch(url: str, session: str | None = None, progress: Progress | None = None) -> Fetched:
    """Bring the evidence behind a URL here, unless it is here already.

    Args:
        session: the session of timelines to read, where there are several; by default the newest.
        progress: receives how much has been fetched.

    Raises:
        StorageError: it cannot be fetched.
        IngestError: there is no such session.
    """
    with closing(Store(parse_address(url))) as store:
        return _fetched(store, session, progress)


def _fetched(store: Store, session: str | None, progress: Progress | None) -> Fetched:
    address = store.address
    objects, is_folder = store.objects()
    if is_folder:
        chosen = needed(store, objects, session)
        chosen.fetched = store.all_described(chosen.fetched)
    else:
        chosen = Needed([store.described(objects[0])._replace(name="")])
    if not chosen.fetched:
        raise StorageError(
            f"{address.shown}: nothing in it that can be read",
            "expected a run of `xladoctor run`, or what `xladoctor analyze` reads in a folder",
        )
    copies = Copies(address)
    try:
        with copies.alone():
            place = copies.kept(chosen) or _copied(store, chosen, copies, progress)
        copies.remove_oldest()
    except OSError as error:
        raise StorageError(
            f"{address.shown}: cannot be copied into the cache: {error.strerror or error}",
            "name another cache with XDG_CACHE_HOME",
        ) from error
    notes = tuple(f"{address.shown}: {note}" for note in chosen.notes)
    return Fetched(place, address.shown, notes)


def _copied(store: Store, chosen: Needed, copies: Copies, progress: Progress | None) -> Path:
    """A new copy. Raises StorageError, and OSError of the cache."""
    place, parts = copies.begun(chosen), copies.parts(chosen)
    missing = [each for each in chosen.fetched if not (place / each.name).is_file()]
    if too_large := next((each for each in missing if (each.size or 0) > LOG), None):
        raise StorageError(
            f"{store.address.shown}: {too_large.name} has {too_large.size:,} bytes",
            f"no file of evidence has more than {LOG >> 30} GiB",
        )
    copies.require_room(sum(each.size or 0 for each in missing))
    files = {each: place / each.name for each in missing}
    told: SimpleQueue[int] = SimpleQueue()
    pool = ThreadPoolExecutor(AT_A_TIME)
    try:
        with _shown(store, missing, progress, told) as tick:
            small = [each for each in missing if not _has_parts(each)]
            _until_done(
                [pool.submit(_copy, store, each, files[each], parts, told.put) for each in small],
                tick,
            )
            for each in missing:
                if _has_parts(each):
                    _copy_parts(store, each, files[each], parts, told.put, pool, tick)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # an interrupt does not wait for answers
    for each in chosen.empty:
        make_empty(place / each.name, each)
    return copies.finished(chosen)


def _has_parts(found: Object) -> bool:
    return found.ranges and found.size is not None and found.size > 2 * PART


def _until_done(jobs: Sequence[Future[None]], tick: Callable[[], None]) -> None:
    pending = set(jobs)
    while pending:
        done, pending = wait(pending, _TICK_S, FIRST_COMPLETED)
        for job in done:
            job.result()
        tick()


@contextmanager
def _shown(
    store: Store, objects: Sequence[Object], progress: Progress | None, told: SimpleQueue[int]
) -> Iterator[Callable[[], None]]:
    """Shows how much was fetched, whenever the function that this gives is called."""
    if progress is None:
        yield lambda: None
        return

    def tick() -> None:
        count = 0
        while not told.empty():
            count += told.get()
        progress.advance(count)

    progress.start(sum(each.size or 0 for each in objects), store.address.shown)
    try:
        yield tick
    finally:
        progress.done()


def _copy(store: Store, found: Object, target: Path, parts: Path, tell: Tell) -> None:
    """Copy an object to a file. Raises StorageError, and OSError of the file."""
    with _whole(found, target, parts) as file:
        store.copy(found, file, tell)


def _copy_parts(
    store: Store,
    found: Object,
    target: Path,
    parts: Path,
    tell: Tell,
    pool: ThreadPoolExecutor,
    tick: Callable[[], None],
) -> None:
    """Copy a large object by parts, which are fetched at the same time; raises as above."""
    size = found.size or 0
    with _whole(found, target, parts) as file:

        def bring(begin: int) -> None:
            data = store.part(found, begin, min(begin + PART, size))
            if len(data) != min(PART, size - begin):
                raise _changed(store)
            os.pwrite(file.fileno(), data, begin)
            tell(len(data))

        _until_done([pool.submit(bring, begin) for begin in range(0, size, PART)], tick)
        if found.version and store.described(found._replace(version="")).version != found.version:
            raise _changed(store)


@contextmanager
def _whole(found: Object, target: Path, parts: Path) -> Iterator[BinaryIO]:
    """A file with the object's date, which appears when it is whole. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=parts)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
        os.utime(name, (found.modified_s, found.modified_s))
        Path(name).replace(target)
    finally:
        with suppress(OSError):
            Path(name).unlink()


def _changed(store: Store) -> StorageError:
    return StorageError(f"{store.address.shown}: changes while it is read", "try again")
