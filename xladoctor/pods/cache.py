"""Keeps what hosts were reduced to, so that the same evidence is read once.

``pods/<key>.parquet`` below the user's cache, where the key is of the evidence's content, of the
rules and of this version; and ``pods/seen/<hash>``, which has the key of a file by its path, size
and date, so that a second analysis needs not read it at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from xladoctor import __version__
from xladoctor.cache_folder import cache_folder
from xladoctor.evidence.places import brought
from xladoctor.pods.kept import form
from xladoctor.pods.members import Member
from xladoctor.regular_files import files_below
from xladoctor.whole_files import replacing

#: Bytes beyond which the oldest are removed.
_MOST_BYTES = 4 << 30
_PART = 1 << 20


def key_of(member: Member, judged_by: str) -> str:
    """The key of a member's content; reads all of it. Raises OSError and StorageError."""
    digest = _digest(judged_by)
    (place,) = brought([member.path])
    files = sorted(files_below(place.path)) if place.path.is_dir() else [place.path]
    for file in files:
        digest.update(os.fsencode(file.relative_to(place.path)))
        for part in _parts(file):
            digest.update(part)
        digest.update(b"\0")
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


def seen(member: Member, judged_by: str) -> Path | None:
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
    """Remove what was not used for longest, if there is too much."""
    folder = _folder()
    if folder is None:
        return
    with suppress(OSError):
        files = sorted(folder.glob("*.parquet"), key=lambda file: file.stat().st_mtime)
        total = sum(file.stat().st_size for file in files)
        for file in files:
            if total <= _MOST_BYTES:
                break
            total -= file.stat().st_size
            file.unlink()


def _folder() -> Path | None:
    folder = cache_folder("pods")
    if folder is not None:
        with suppress(OSError):
            folder.chmod(0o700)
            (folder / "seen").mkdir(exist_ok=True)
    return folder


def _note(member: Member, judged_by: str) -> Path | None:
    folder = _folder()
    if folder is None:
        return None
    digest = _digest(judged_by)
    digest.update(member.identity.encode("utf-8", "surrogateescape"))
    return folder / "seen" / digest.hexdigest()


def _digest(judged_by: str) -> hashlib.blake2b:
    return hashlib.blake2b(
        f"{__version__}\0{form()}\0{judged_by}\0".encode("utf-8", "surrogateescape"), digest_size=20
    )


def _parts(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while part := opened.read(_PART):
            yield part
