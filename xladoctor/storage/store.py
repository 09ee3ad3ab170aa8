"""A place behind a URL: what is in it, and its bytes."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar
from urllib.parse import unquote

from xladoctor.regular_files import LOG, too_large
from xladoctor.storage.address import Address, StorageError
from xladoctor.storage.client import close_client, open_client
from xladoctor.storage.faults import Fault, explained, fault_of

Result = TypeVar("Result")
#: Bytes of a request for a part of an object.
PART = 1 << 23
#: Requests at the same time.
AT_A_TIME = 8
#: How often a request is made before it is given up, and the first pause, which doubles.
TRIES, PAUSE_S = 4, 0.5
MOST_OBJECTS = 100_000
_LATEST_S = 1 << 32  # the year 2106
_MOST_PAGES, _DEEPEST = 500, 8  # of listings by web servers
#: What changes with an object's content; of these, what two objects with other content never share,
#: as the cache does not know the query of a URL.
_OF_CONTENT = ("ETag", "etag", "md5Hash", "Content-MD5", "Digest")
_VERSIONS = (
    *("generation", "VersionId", *_OF_CONTENT),
    *("Last-Modified", "LastModified", "updated", "mtime", "created"),
)
_TIMES = ("mtime", "LastModified", "updated", "Last-Modified", "created")


class Object(NamedTuple):
    """An object below a URL.

    Attributes:
        name: its path below the URL, parts separated by ``/``; of the URL itself, its last part.
        key: its path for the library.
        size: in bytes; None if the store does not say.
        version: changes with its content; empty if the store does not say.
        modified_s: seconds since 1970; 0 if unknown.
        ranges: whether a part of it can be read.
    """

    name: str
    key: str
    size: int | None
    version: str
    modified_s: float
    ranges: bool = True


class Store:
    """What is behind a URL, until it is closed."""

    def __init__(self, address: Address) -> None:
        """
        Raises:
            StorageError: nothing can be read there, as its client is not installed.
        """
        self.address = address
        self._files = open_client(address)
        self._web = address.scheme in ("http", "https")
        if self._web:
            self._root = address.shown + address.query
        else:
            self._root = self._files._strip_protocol(address.shown).rstrip("/")
        self._tries = 1 if address.is_bucket else TRIES  # their clients try again by themselves

    def close(self) -> None:
        """Close its connections."""
        close_client(self._files)

    def objects(self) -> tuple[list[Object], bool]:
        """What is there, by name, and whether it is a folder.

        Raises:
            StorageError: nothing is there, or it cannot be looked at.
        """
        if self._web:
            return self._pages()
        about = self._asked(lambda: self._about(self._root))
        if about.get("type") != "directory":
            return [self._object(self.address.name, self._root, about)], False
        found = self._asked(lambda: self._files.find(self._root, detail=True))
        if len(found) > MOST_OBJECTS:
            raise StorageError(
                f"{self.address.shown}: {len(found):,} objects", "name the folder of one run"
            )
        below = self._root + "/"
        objects = [
            self._object(key.removeprefix(below), key, about)
            for key, about in found.items()
            if about.get("type") != "directory" and key.startswith(below)
        ]
        return sorted(objects), True

    def described(self, found: Object) -> Object:
        """An object with its size and version, where the listing did not have them."""
        if found.size is not None and found.version:
            return found
        return self._object(found.name, found.key, self._asked(lambda: self._about(found.key)))

    def all_described(self, objects: Sequence[Object]) -> list[Object]:
        """The same for many, several at a time. Raises StorageError."""
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            return list(pool.map(self.described, objects))

    def head(self, found: Object, count: int) -> bytes:
        """The first bytes of an object. Raises StorageError."""
        return self.part(found, 0, count)

    def part(self, found: Object, begin: int, end: int) -> bytes:
        """A part of an object that allows it. Raises StorageError."""
        return self._asked(lambda: bytes(self._files.cat_file(found.key, start=begin, end=end)))

    def copy(self, found: Object, file: BinaryIO, tell: Callable[[int], None]) -> None:
        """Write a whole object into an empty file. Raises StorageError, and OSError of the file."""

        def attempt() -> None:
            file.seek(0)
            file.truncate()
            limited = _Limited(file, tell)
            try:
                if self._web:  # as it comes, whatever the server says about its size
                    self._files.get_file(found.key, limited)
                else:
                    limited.write(self._files.cat_file(found.key))
                limited.require(found.size)
            except BaseException:
                tell(-limited.count)
                raise

        self._asked(attempt)

    def put(self, name: str, source: bytes | Path) -> None:
        """Write an object, whole or not at all. Raises StorageError.

        Args:
            name: its path below the URL; empty for the URL itself.
        """
        key = f"{self._root}/{name}" if name else self._root

        def attempt() -> None:
            self._make_folder(key)
            if isinstance(source, bytes):
                self._files.pipe_file(key, source)
            else:
                self._files.put_file(str(source), key)

        self._asked(attempt)

    def create(self, name: str, content: bytes) -> bool:
        """Write an object if there is none of that name; returns whether there was none. Raises
        StorageError. Of two at the same moment one is first, as far as the store can promise that.
        """

        key = f"{self._root}/{name}"

        def attempt() -> bool:
            self._make_folder(key)
            try:
                self._files.pipe_file(key, content, mode="create")
            except FileExistsError:
                return False
            return True

        return self._asked(attempt)

    def _make_folder(self, key: str) -> None:
        """Make the folder of an object, where there are folders."""
        if not self.address.is_bucket:
            self._files.makedirs(key.rpartition("/")[0], exist_ok=True)

    def remove(self, name: str) -> None:
        """Remove an object. Raises StorageError."""
        self._asked(lambda: self._files.rm_file(f"{self._root}/{name}"))

    def contents(self) -> list[Object]:
        """What is where something is to be written; empty if nothing is there.

        Raises:
            StorageError: nothing can be written there, or it cannot be looked at.
        """
        if self._web:
            raise StorageError(
                f"{self.address.shown}: a web server, to which nothing can be written",
                "name a bucket, such as gs://bucket/run or s3://bucket/run",
            )
        try:
            return self.objects()[0]
        except StorageError as error:
            if error.absent:
                return []
            raise

    def not_empty(self) -> StorageError:
        """The error for a place that should be empty."""
        return StorageError(
            f"{self.address.shown} exists and is not empty", "name another one with --output"
        )

    def _about(self, key: str) -> dict[str, Any]:
        try:
            about: dict[str, Any] = self._files.info(key)
        except FileNotFoundError as error:
            if self.address.is_bucket and fault_of(error) is Fault.ABSENT and "/" in key:
                self._require_bucket()
            raise
        return about

    def _require_bucket(self) -> None:
        """Raise StorageError if the bucket itself is not there, as far as that can be seen."""
        try:
            self._files.info(self.address.host)
        except FileNotFoundError:
            where = f"{self.address.scheme}://{self.address.host}"
            raise StorageError(f"{where}: {Fault.NO_BUCKET.value}") from None
        except Exception:  # noqa: S110 - not everybody may ask
            pass

    def _asked(self, request: Callable[[], Result]) -> Result:
        """The answer to a request, which is made again after faults that may pass."""
        pause = PAUSE_S
        for left in reversed(range(self._tries)):
            try:
                return request()
            except Exception as error:
                if _is_of_this_machine(error):
                    raise
                if not left or not fault_of(error).may_pass:
                    raise explained(error, self.address) from None  # its text may have secrets
            time.sleep(pause)
            pause *= 2
        raise AssertionError

    def _object(self, name: str, key: str, about: dict[str, Any]) -> Object:
        certain = _OF_CONTENT if self.address.query else _VERSIONS
        size = about.get("size")
        return Object(
            name,
            key,
            size if isinstance(size, int) else None,
            next((str(about[each]) for each in certain if about.get(each)), ""),
            _seconds(next((about[each] for each in _TIMES if about.get(each)), None)),
            ranges=not self._web,  # not every web server sends a part when it is asked for one
        )

    def _pages(self) -> tuple[list[Object], bool]:
        """A file of a web server, or what its pages list, if they do."""
        root = self._root
        if not self.address.path.endswith("/") and self.address.path:
            about = self._asked(lambda: self._about(root))
            is_page = about.get("mimetype") == "text/html"
            if not is_page or self.address.path.endswith((".html", ".htm")):
                return [self._object(unquote(self.address.name), root, about)], False
            root = f"{self.address.shown}/"
        return sorted(self._linked(root)), True

    def _linked(self, root: str) -> Iterator[Object]:
        """The files that pages link to, below the root: a page can name anything."""
        pending, seen = [root if root.endswith("/") else f"{root}/"], set[str]()
        root = pending[0]
        while pending and len(seen) < _MOST_PAGES:
            page = pending.pop(0)
            for entry in self._asked(lambda page=page: self._files.ls(page, detail=True)):  # type: ignore[misc]
                key = str(entry["name"])
                below = key.removeprefix(root)
                if not key.startswith(root) or below in ("", "/") or set("?#") & set(below):
                    continue
                if ".." in unquote(below).split("/") or below.count("/") > _DEEPEST:
                    continue
                if key.endswith("/"):
                    pending += [key] if key not in seen else []
                    seen.add(key)
                else:
                    yield Object(unquote(below), key, None, "", 0.0, ranges=False)


class _Limited:
    """A file that takes no more than any real one has, and says how much it got."""

    def __init__(self, file: BinaryIO, tell: Callable[[int], None]) -> None:
        self._file, self._tell = file, tell
        self.count = 0

    def write(self, data: bytes) -> int:
        """As of a file. Raises OSError."""
        if self.count + len(data) > LOG:
            raise too_large(LOG)
        self._file.write(data)
        self.count += len(data)
        self._tell(len(data))
        return len(data)

    def require(self, size: int | None) -> None:
        """Raise ConnectionError if it got less than that."""
        if size is not None and self.count < size:
            raise ConnectionError(f"ended after {self.count} of {size} bytes")

    def read(self) -> bytes:
        """Nothing; fsspec takes what has this, and the next two, for a file."""
        return b""

    def tell(self) -> int:
        """How much it got."""
        return self.count

    def close(self) -> None:
        """Nothing: whoever opened the file closes it."""


def _is_of_this_machine(error: BaseException) -> bool:
    """Whether our own disk is full, or a file too large: not a fault of the store."""
    return isinstance(error, OSError) and error.errno in (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)


def _seconds(when: object) -> float:
    """An instant in one of the forms of stores: seconds since 1970; 0 if unknown."""
    try:
        if isinstance(when, datetime):
            seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        elif isinstance(when, (int, float)):
            seconds = float(when)
        else:
            seconds = _parsed(str(when)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return seconds if 0 <= seconds < _LATEST_S else 0.0


def _parsed(when: str) -> datetime:
    try:
        return datetime.fromisoformat(when)
    except ValueError:
        return parsedate_to_datetime(when)
