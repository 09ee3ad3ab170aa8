"""Opens files of a run directory, which may come from somebody else: only plain files inside of it,
never through a link.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from xladoctor import regular_files
from xladoctor.ingest.interface import Notes
from xladoctor.regular_files import LISTING, lines_of


def open_text(path: Path) -> TextIO:
    """Open a plain file as UTF-8 text, whatever its contents. Raises OSError, also for links."""
    return regular_files.open_text(path, links=False)


def read_text(path: Path, errors: str = "strict") -> str:
    """Read a plain file. Raises OSError, also for links, and UnicodeDecodeError."""
    return regular_files.read_text(path, LISTING, errors=errors, links=False)


def defect(error: Exception) -> str:
    """The text of an error about a file, without the path, which messages begin with."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def lies_in(path: Path, folder: Path) -> bool:
    """Whether a path is a plain file or folder below this folder, without a link on the way."""
    try:
        below = path.absolute().relative_to(folder.absolute())
    except ValueError:
        return False
    return (path.is_dir() or path.is_file()) and path.resolve() == folder.resolve() / below


def own_files(folder: Path, paths: Iterable[Path], noted: Notes) -> list[Path]:
    """The paths inside the folder; links, which may lead out of it, are noted as lost."""
    inside = []
    for path in paths:
        if lies_in(path, folder):
            inside.append(path)
        else:
            noted.lose(f"{path}: a link or not a plain file; not read")
    return inside


@contextmanager
def lines_in(path: Path, noted: Notes, *tables: str) -> Iterator[Iterator[str] | None]:
    """The lines of a text file, or None with a note if it cannot be opened; these tables then lack
    rows.
    """
    try:
        file = open_text(path)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        noted.lose(f"{path}: cannot be read ({error.strerror})", *tables)
        yield None
        return
    with file:
        yield lines_of(file)
