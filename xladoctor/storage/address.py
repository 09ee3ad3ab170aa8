"""Addresses of evidence that is not on this machine: what is shown of them, and what is secret.

A URL may hold credentials: ``s3://KEY:SECRET@bucket/run``, or a signature in the query of an https
URL. Messages, logs, caches, reports and run directories get :attr:`Address.shown`, which has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote

from xladoctor.errors import XladoctorError

_URL = re.compile(r"([a-z][a-z0-9+.-]+)://(.*)", re.IGNORECASE | re.DOTALL)
#: What stands between ``://`` and the path, without user and password.
_HOST = re.compile(r"(?:[\w.-]*|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?", re.ASCII)
_BUCKET = re.compile(r"[\w.-]+", re.ASCII)
_QUERY = re.compile(r"\?[^\s'\"]+")  # in whatever form a library writes it
_BUCKETS = ("s3", "gs")
_LOCAL = ("file", "local")
_SAME = {"gcs": "gs", "s3a": "s3"}
#: Schemes whose URLs have a query; in others, ``?`` and ``#`` are part of a name.
_QUERIED = ("http", "https")


class StorageError(XladoctorError):
    """A URL that cannot be read or written: why, and what to do about it.

    Attributes:
        certain: whether nothing else can be expected later, or of another request.
        absent: whether all that is wrong is that nothing is there.
    """

    def __init__(
        self, what: str, hint: str = "", *, certain: bool = True, absent: bool = False
    ) -> None:
        super().__init__(what, hint)
        self.certain, self.absent = certain, absent


@dataclass(frozen=True, slots=True)
class Address:
    """A URL of evidence, or of a place for it.

    Attributes:
        scheme: in lower case: ``gs``, ``s3``, ``http``.
        host: the bucket, or the host and its port.
        path: without a slash in front.
        query: with its question mark, or empty.
        user, password: credentials in front of the host, as they are meant.
    """

    scheme: str
    host: str
    path: str
    query: str = field(default="", repr=False)
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def shown(self) -> str:
        """The URL without what may be secret: user, password, and all of the query."""
        return f"{self.scheme}://{self.host}{'/' * bool(self.path)}{self.path}"

    @property
    def complete(self) -> str:
        """The URL with its user and password, for the client of the store alone."""
        who = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}@" if self.user else ""
        return self.shown.replace("://", f"://{who}", 1)

    @property
    def name(self) -> str:
        """The last part of the path, or the host."""
        return self.path.rstrip("/").rpartition("/")[2] or self.host

    @property
    def is_bucket(self) -> bool:
        """Whether its host is a bucket of an object store that has a client of its own."""
        return self.scheme in _BUCKETS

    def without_secrets(self, text: str) -> str:
        """A text of a library, in which no secret of the URL is left."""
        for secret in sorted(set(self._secrets()), key=len, reverse=True):
            text = text.replace(secret, "…")
        return _QUERY.sub("?…", text) if self.query else text

    def _secrets(self) -> Iterator[str]:
        for value in (self.user, self.password, self.query):
            if value:
                yield value
                yield quote(value, safe="")
        for _, value in parse_qsl(self.query.removeprefix("?")):
            if len(value) > 3:
                yield value
                yield unquote(value)


def is_url(word: str) -> bool:
    """Whether a word is a URL; no file has such a name, because ``//`` is ``/`` in a path."""
    return _URL.match(word) is not None


def local_path(word: str) -> str | None:
    """The path that a ``file://`` URL stands for; None for other words.

    Raises:
        StorageError: it names a file of another host.
    """
    url = _URL.fullmatch(word)
    if url is None or url[1].lower() not in _LOCAL:
        return None
    host, slash, path = url[2].partition("/")
    if host not in ("", "localhost") or not slash:
        raise StorageError(
            f"{word}: a file of another machine", "name a file of this one as file:///a/path"
        )
    return unquote(f"/{path}")


def parse_address(word: str) -> Address:
    """A URL, taken apart.

    Raises:
        StorageError: it is not one that can be read. Its text is not in the message, as it may hold
            a secret.
    """
    url = _URL.fullmatch(word)
    if url is None:
        raise StorageError("not a URL", "expected something like gs://bucket/run")
    scheme, rest = _SAME.get(url[1].lower(), url[1].lower()), url[2]
    if "::" in rest or "\x00" in rest:
        raise StorageError(
            f"{scheme}://…: a chain of URLs, or not a URL", "name the files themselves"
        )
    query = ""
    if scheme in _QUERIED:
        rest, mark, query = rest.partition("#")[0].partition("?")
        query = mark + query
    authority, _, path = rest.partition("/")
    who, at, host = authority.rpartition("@")
    user, _, password = who.partition(":")
    if not (_BUCKET if scheme in _BUCKETS else _HOST).fullmatch(host):
        raise StorageError(
            f"{scheme}://…: what follows :// is neither a host nor a bucket",
            f"expected {scheme}://{'BUCKET' if scheme in _BUCKETS else 'HOST'}/PATH; in a password,"
            " / is written as %2F and @ as %40",
        )
    if at and scheme == "gs":
        raise StorageError(
            f"gs://{host}/…: credentials in the URL, which Google Cloud Storage does not have",
            "leave them out; gcloud auth application-default login makes them known",
        )
    return Address(scheme, host, path, query, unquote(user), unquote(password))
