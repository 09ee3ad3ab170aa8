"""Copies of what is behind URLs, in the user's cache, until there is too much.

``storage/<URL>/<content>/files/<name>``: hashes of the URL without secrets and of the names and
versions of the objects, then the evidence as a file or folder. A copy never changes: if an object
does, the next copy is another one, which shares the files that are the same. Whoever reads a copy
holds a lock on it, so it is not removed meanwhile.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from xladoctor.cache_folder import cache_folder, oldest_beyond
from xladoctor.storage.address import Address, StorageError
from xladoctor.storage.needed import Needed
from xladoctor.whole_files import alone_in, lock, opened_folder, write_text

#: Bytes of copies that nobody reads, beyond which the oldest are removed.
MOST_BYTES = 20 << 30
_LEAST_FREE = 1 << 28
_NEW, _FILES, _PARTS, _VERSIONS = ".new", "files", "parts", "versions.json"

#: Locks of the copies that this process reads, until it ends.
_held: list[int] = []
#: Folders in place of the cache, where it cannot be written.
_temporary: list[tempfile.TemporaryDirectory[str]] = []


class Copies:
    """The copies of one URL. Use it in :meth:`alone`."""

    def __init__(self, address: Address) -> None:
        """Raises StorageError if no folder for it can be written."""
        self._root = cache_folder("storage") or _temporary_folder()
        self._folder = self._root / _hash(address.shown.rstrip("/"))
        self._name = address.name if address.name not in ("", ".", "..") else "evidence"

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until no other process fetches the same URL."""
        with alone_in(self._folder):
            yield

    def kept(self, content: Needed) -> Path | None:
        """The copy of just these objects, which is held from now on; None if there is none."""
        if not all(each.version for each in content.fetched):
            return None
        copy = self._folder / _content(content)
        try:
            _hold(copy)
            os.utime(copy)
        except OSError:
            return None
        return copy / _FILES / self._name

    def begun(self, content: Needed) -> Path:
        """A place for a new copy, with what an interrupted process, or an older copy, has of it."""
        new = self._folder / f"{_content(content)}{_NEW}"
        for other in self._folder.glob(f"*{_NEW}"):
            if other != new:
                shutil.rmtree(other, ignore_errors=True)
        place = new / _FILES / self._name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(new / _PARTS, ignore_errors=True)
        (new / _PARTS).mkdir()
        versions = _versions(content)
        for old in sorted(self._folder.glob(f"*/{_VERSIONS}")):
            known = json.loads(old.read_text(encoding="utf-8"))
            for name in versions.keys() & known.keys():
                target = place / name
                if versions[name] == known[name] and not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with contextlib.suppress(OSError):
                        os.link(old.parent / _FILES / self._name / name, target)
        return place

    def parts(self, content: Needed) -> Path:
        """The folder for files of a new copy that are not whole yet."""
        return self._folder / f"{_content(content)}{_NEW}" / _PARTS

    def finished(self, content: Needed) -> Path:
        """Make the new copy one that is kept, and held from now on. Raises OSError."""
        new = self._folder / f"{_content(content)}{_NEW}"
        copy = new.with_name(_content(content))
        write_text(new / _VERSIONS, json.dumps(_versions(content)))
        shutil.rmtree(new / _PARTS)
        if copy.exists():  # of objects without versions, which may have changed
            copy.rename(copy.with_name(f"{copy.name}-{secrets.token_hex(4)}"))
        new.rename(copy)
        _hold(copy)
        return copy / _FILES / self._name

    def require_room(self, count: int) -> None:
        """Raise StorageError if the disk has no room for so many bytes."""
        free = shutil.disk_usage(self._root).free
        if count + _LEAST_FREE > free:
            raise StorageError(
                f"{count / 1e9:,.1f} GB to fetch, and {free / 1e9:,.1f} GB free in {self._root}",
                "name a cache on another disk with XDG_CACHE_HOME, or one session with --session",
            )

    def remove_oldest(self) -> None:
        """Remove the copies that were not read for longest, if there is too much."""
        copies = [copy for copy in self._root.glob("*/*") if copy.is_dir()]
        for copy in oldest_beyond(copies, MOST_BYTES):
            _remove_unread(copy)


def _hold(copy: Path) -> None:
    """Keep others from removing a copy until this process ends. Raises OSError if it is gone."""
    descriptor = opened_folder(copy)
    if descriptor is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            lock(descriptor, shared=True)
        _held.append(descriptor)
    copy.stat()


def _remove_unread(copy: Path) -> None:
    """Remove a copy, unless a process reads it or fetches the same URL, or that is not known."""
    with contextlib.ExitStack() as stack:
        for folder in (copy.parent, copy):
            try:
                descriptor = opened_folder(folder)
                if descriptor is None:
                    return
                stack.callback(os.close, descriptor)
                lock(descriptor, waits=False)
            except OSError:
                return
        gone = copy.rename(copy.with_name(f"{copy.name}-{secrets.token_hex(4)}{_NEW}"))
        shutil.rmtree(gone, ignore_errors=True)


def _temporary_folder() -> Path:
    try:
        _temporary.append(tempfile.TemporaryDirectory(prefix="xladoctor-"))
    except OSError as error:
        raise StorageError(
            f"no folder for copies can be written: {error.strerror}",
            "name one with XDG_CACHE_HOME or TMPDIR",
        ) from error
    return Path(_temporary[-1].name)


def _versions(content: Needed) -> dict[str, list[str | int | None]]:
    """What each object is, by name, if that is known."""
    return {each.name: [each.version, each.size] for each in content.fetched if each.version}


def _content(content: Needed) -> str:
    named = ([*each[:1], *each[2:4]] for each in sorted(content.fetched))
    return _hash(json.dumps([*named, sorted(each.name for each in content.empty)]))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
