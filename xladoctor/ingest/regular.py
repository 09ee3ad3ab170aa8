"""Files of a run directory, which somebody else may have made: plain ones inside of it, never what
a link leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from xladoctor import regular_files
from xladoctor.ingest.interface import Ingested
from xladoctor.regular_files import LISTING, lines_of


def open_text(path: Path) -> TextIO:
    """A plain file as UTF-8 text, whatever is in it. Raises OSError, also for links."""
    return regular_files.open_text(path, links=False)


def read_text(path: Path, errors: str = "strict") -> str:
    """All of it. Raises OSError as above, and UnicodeDecodeError."""
    return regular_files.read_text(path, LISTING, errors=errors, links=False)


def defect(error: Exception) -> str:
    """What is wrong with a file, without its path, which messages begin with."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def lies_in(path: Path, folder: Path) -> bool:
    """Whether a path is a plain file or a folder below this folder, with no link on the way."""
    try:
        below = path.absolute().relative_to(folder.absolute())
    except ValueError:
        return False
    return (path.is_dir() or path.is_file()) and path.resolve() == folder.resolve() / below


def own_files(folder: Path, paths: Iterable[Path], ingested: Ingested) -> list[Path]:
    """Those that lie in the folder; links, which may lead out of it, are lost."""
    inside = []
    for path in paths:
        if lies_in(path, folder):
            inside.append(path)
        else:
            ingested.lose(f"{path}: a link or not a plain file; not read")
    return inside


@contextmanager
def lines_in(path: Path, ingested: Ingested) -> Iterator[Iterator[str] | None]:
    """The lines of a text file, or None with a note where it cannot be opened."""
    try:
        file = open_text(path)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        ingested.lose(f"{path}: cannot be read ({error.strerror})")
        yield None
        return
    with file:
        yield lines_of(file)
