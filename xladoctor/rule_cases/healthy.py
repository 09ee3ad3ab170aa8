"""Evidence of healthy programs, in which no rule may find anything that has to be fixed."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

_PACKED = ".tar.xz"


def known_good() -> Path | None:
    """The folder of recordings that comes with xladoctor, in the package or a clone, if any."""
    package = Path(str(resources.files("xladoctor")))
    places = (package / "known_good", package.parent / "tests" / "known_good" / "recorded")
    return next((place for place in places if place.is_dir()), None)


def name_of(place: Path) -> str:
    """The program's name."""
    return place.name.removesuffix(_PACKED)


@contextmanager
def unpacked(place: Path) -> Iterator[Path]:
    """The run directory in an archive ``NAME.tar.xz``, for as long as it is needed; other evidence
    as it is.

    Raises:
        OSError, tarfile.TarError: it cannot be read.
    """
    if not place.name.endswith(_PACKED):
        yield place
        return
    with TemporaryDirectory(prefix="xladoctor-") as folder:
        with tarfile.open(place) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder) / name_of(place)
