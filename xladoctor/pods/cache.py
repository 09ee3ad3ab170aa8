"""Keeps what hosts were reduced to, so that the same evidence is read once.

``pods/<key>.parquet`` below the user's cache, where the key is of the evidence's content and place,
of the rules and of this version; and ``pods/seen/<hash>``, which has the key of a file by its path,
size and date, so that a second analysis needs not read it at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from xladoctor.cache_folder import FileCache
from xladoctor.evidence.places import brought
from xladoctor.pods.kept import made_by
from xladoctor.pods.members import Member, files_of
from xladoctor.regular_files import LOG, open_regular

_HOSTS, _SEEN = FileCache("pods", 4 << 30), FileCache("pods/seen", 1 << 20)
_PART = 1 << 20
#: What DuckDB takes for a pattern in the name of a file.
_PATTERNS = frozenset("*?[")


def key_of(member: Member, judged_by: str) -> str:
    """The key of a member's content, and of its place, which reports name; reads all of it. Raises
    OSError and StorageError.
    """
    digest = _digest(judged_by)
    (place,) = brought([member.path])
    digest.update(os.fsencode(member.shown))
    for file in files_of(place.path):
        digest.update(b"\0" + os.fsencode(file.relative_to(place.path)) + b"\0")
        for part in _parts(file):
            digest.update(part)
    return digest.hexdigest()


def kept_file(key: str) -> Path | None:
    """The file of a key, if it is kept."""
    return _readable(_HOSTS.get(f"{key}.parquet"))


def keep(key: str, content: bytes) -> Path | None:
    """Keep a reduced host; None where the cache cannot be written."""
    return _readable(_HOSTS.put(f"{key}.parquet", content))


def kept_unread(member: Member, judged_by: str) -> Path | None:
    """What is kept of a member that has not changed since."""
    note = _SEEN.get(_name(member, judged_by)) if member.identity else None
    try:
        return note and kept_file(note.read_text(encoding="ascii"))
    except (OSError, UnicodeError):
        return None


def note_seen(member: Member, judged_by: str, key: str) -> None:
    """Note the key of a member's content."""
    if member.identity:
        _SEEN.put(_name(member, judged_by), key.encode("ascii"))


def remove_oldest() -> None:
    """Remove what was not used for longest, if there is too much."""
    _SEEN.remove_oldest()
    _HOSTS.remove_oldest()


def _readable(file: Path | None) -> Path | None:
    """The file, unless DuckDB takes its name for a pattern."""
    return None if file is None or _PATTERNS & {*str(file)} else file


def _name(member: Member, judged_by: str) -> str:
    digest = _digest(judged_by)
    digest.update(os.fsencode(f"{member.shown}\0{member.identity}"))
    return digest.hexdigest()


def _digest(judged_by: str) -> hashlib.blake2b:
    return hashlib.blake2b(
        f"{made_by()}\0{judged_by}\0".encode("utf-8", "surrogateescape"), digest_size=20
    )


def _parts(file: Path) -> Iterator[bytes]:
    with open_regular(file, LOG) as opened:
        while part := opened.read(_PART):
            yield part
