"""Keeps what hosts were reduced to, so that the same evidence is read once.

``pods/<key>.parquet`` below the user's cache, where the key is of the evidence's content and place,
of the rules and of this version; and ``pods/seen/<hash>``, which has the key of a file by its path,
size and date, so that a second analysis needs not read it at all.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from xladoctor.cache_folder import cache_folder
from xladoctor.evidence.places import brought
from xladoctor.pods.kept import made_by
from xladoctor.pods.members import Member, files_of
from xladoctor.regular_files import LOG, open_regular
from xladoctor.whole_files import replacing

#: Bytes beyond which the oldest are removed.
_MOST_BYTES = 4 << 30
_PART = 1 << 20
_IN_USE_S, _OLD_S = 3600.0, 90 * 86_400.0
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
    folder = _folder()
    file = folder and folder / f"{key}.parquet"
    if file is None or not file.is_file():
        return None
    with suppress(OSError):
        os.utime(file)
    return file


def keep(key: str, content: bytes) -> Path | None:
    """Keep a reduced host; None where the cache cannot be written."""
    folder = _folder()
    if folder is None:
        return None
    file = folder / f"{key}.parquet"
    try:
        with replacing(file) as new:
            new.write(content)
    except OSError:
        return None
    return file


def kept_unread(member: Member, judged_by: str) -> Path | None:
    """What is kept of a member that has not changed since."""
    note = _note(member, judged_by)
    if note is None:
        return None
    try:
        return kept_file(note.read_text(encoding="ascii"))
    except (OSError, UnicodeError):
        return None


def note_seen(member: Member, judged_by: str, key: str) -> None:
    """Note the key of a member's content."""
    note = _note(member, judged_by)
    if note is not None:
        with suppress(OSError), replacing(note) as new:
            new.write(key.encode("ascii"))


def remove_oldest() -> None:
    """Remove what was not used for longest, if there is too much, but nothing of the last hour:
    another command may read it.
    """
    folder = _folder()
    if folder is None:
        return
    with suppress(OSError):
        for note in (folder / "seen").iterdir():
            if time.time() - note.stat().st_mtime > _OLD_S:
                note.unlink()
        files = sorted(folder.glob("*.parquet"), key=lambda file: file.stat().st_mtime)
        total = sum(file.stat().st_size for file in files)
        for file in files:
            if total <= _MOST_BYTES or time.time() - file.stat().st_mtime < _IN_USE_S:
                break
            total -= file.stat().st_size
            file.unlink()


def _folder() -> Path | None:
    folder = cache_folder("pods")
    if folder is not None and _PATTERNS & {*str(folder)}:
        return None
    if folder is not None:
        with suppress(OSError):
            folder.chmod(0o700)
            (folder / "seen").mkdir(exist_ok=True)
    return folder


def _note(member: Member, judged_by: str) -> Path | None:
    folder = _folder()
    if folder is None or not member.identity:
        return None
    digest = _digest(judged_by)
    digest.update(os.fsencode(f"{member.shown}\0{member.identity}"))
    return folder / "seen" / digest.hexdigest()


def _digest(judged_by: str) -> hashlib.blake2b:
    return hashlib.blake2b(
        f"{made_by()}\0{judged_by}\0".encode("utf-8", "surrogateescape"), digest_size=20
    )


def _parts(file: Path) -> Iterator[bytes]:
    with open_regular(file, LOG) as opened:
        while part := opened.read(_PART):
            yield part
