"""From the words of a command to places on this machine: paths, runs by name, and copies of what is
behind URLs. Whatever people see names the URL and not the copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from xladoctor.evidence.runs import locate
from xladoctor.ingest.interface import Ingested, IngestError, Progress
from xladoctor.storage.address import is_url, local_path


@dataclass(frozen=True, slots=True)
class Place:
    """Where evidence is.

    Attributes:
        path: on this machine.
        shown: the same as people know it: the path, or its URL without secrets.
        is_copy: whether it is the copy of something behind a URL.
        notes: on what of it was not brought here.
    """

    path: Path
    shown: str
    is_copy: bool = False
    notes: tuple[str, ...] = ()

    @contextmanager
    def shown_in_errors(self) -> Iterator[None]:
        """Errors in this block name the URL."""
        try:
            yield
        except IngestError as error:
            if not self.is_copy:
                raise
            what, hint = self._shown(error.what), self._shown(error.hint)
            raise IngestError([*what.splitlines(), *self.notes], hint) from error

    def show_in(self, ingested: Ingested) -> None:
        """Name the URL in notes and tables."""
        if not self.is_copy:
            return
        ingested.notes[:] = [*map(self._shown, ingested.notes), *self.notes]
        ingested.lost[:] = map(self._shown, ingested.lost)
        ingested.cut = {table: self._shown(note) for table, note in ingested.cut.items()}
        timeline = ingested.tables.get("timeline", {})
        if "file" in timeline:
            timeline["file"] = [file and self._shown(file) for file in timeline["file"]]

    def _shown(self, text: str) -> str:
        return text.replace(str(self.path), self.shown)


def brought(
    words: Sequence[str], session: str | None = None, progress: Progress | None = None
) -> list[Place]:
    """The place for each word; what is behind URLs is fetched.

    Args:
        session, progress: as for :func:`xladoctor.storage.fetch.fetch`.

    Raises:
        IngestError: there is no such file and no such run.
        StorageError: a URL cannot be read.
    """
    return [_place(word, session, progress) for word in words]


def _place(word: str, session: str | None, progress: Progress | None) -> Place:
    if not is_url(word):
        path = locate(word)
        return Place(Path(path), path)
    if local := local_path(word):
        return Place(Path(locate(local)), local)
    from xladoctor.storage.fetch import fetch

    fetched = fetch(word, session, progress)
    return Place(fetched.place, fetched.shown, True, fetched.notes)
