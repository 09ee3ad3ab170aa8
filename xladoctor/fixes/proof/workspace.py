"""Copies of a project, in which its program runs with and without patches.

The user's tree is only read. With git, a copy is what git knows of: tracked files as they are now,
uncommitted changes included, and untracked files that are not ignored. Otherwise it is the whole
folder, without virtual environments and caches.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from xladoctor.fixes.interface import FixError
from xladoctor.repository import from_here
from xladoctor.whole_files import write_text

_LARGEST = 500_000_000  # bytes of a copy
_CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
_LEFT_OUT = {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".mypy_cache"}


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where copies of a project are made, each in the place of the one before.

    Attributes:
        root: the project itself.
        files: what a copy has, relative to the project.
        copy: where it is.
        runs: a folder for run directories.
    """

    root: Path
    files: frozenset[str]
    copy: Path
    runs: Path

    def within(self, path: Path) -> Path:
        """A path of the project as it is in the copy; other paths stay as they are."""
        return self.copy / path.relative_to(self.root) if path.is_relative_to(self.root) else path

    def word(self, word: str) -> str:
        """A word of a command, as it is in the copy: the path of a file that was copied changes,
        that of an interpreter in the project's virtual environment stays.
        """
        path = Path(word)
        inside = path.is_relative_to(self.root) and str(path.relative_to(self.root)) in self.files
        return str(self.within(path)) if inside else word

    def environment(self, caches: Path) -> dict[str, str]:
        """This process's environment, with the copy in place of the project in PYTHONPATH.

        Args:
            caches: an empty folder for what torch.compile keeps from run to run: otherwise each run
                would spare the next one compiling.
        """
        places = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        path = os.pathsep.join(str(self.within(Path(each))) if each else "" for each in places)
        own = {"PYTHONPATH": path} if "PYTHONPATH" in os.environ else {}
        kept = {name: str(caches) for name in _CACHES}
        return {**os.environ, **own, **kept}

    def fresh(self, texts: Mapping[Path, str]) -> None:
        """Copy the project anew, so that nothing is left of earlier runs.

        Args:
            texts: new texts of its files, by their own paths.

        Raises:
            FixError: there is no room, or something cannot be read.
        """
        try:
            if self.copy.exists():
                shutil.rmtree(self.copy)
            _copy(self.root, self.files, self.copy)
            for path, text in texts.items():
                write_text(self.within(path), text)
        except OSError as error:
            what = f"cannot copy {from_here(self.root)}: {error.strerror or error}"
            raise FixError(what) from error


@contextmanager
def workspace(root: Path, include: Sequence[Path] = ()) -> Iterator[Workspace]:
    """A folder for copies of a project, which is deleted at the end.

    Args:
        include: files and folders of the project that are copied although git ignores them.

    Raises:
        FixError: it is too large to be copied.
    """
    root = root.resolve()
    files = frozenset((*_files(root), *(file for path in include for file in _below(root, path))))
    size = sum(os.lstat(root / file).st_size for file in files)
    if size > _LARGEST:
        raise FixError(
            f"{from_here(root)} has {size / 1e6:,.0f} MB, too much to copy for each run",
            "name its data in .gitignore, or a smaller project with --root",
        )
    with tempfile.TemporaryDirectory(prefix="xladoctor-fix-", ignore_cleanup_errors=True) as folder:
        made = Workspace(root, files, Path(folder, root.name or "project"), Path(folder, "runs"))
        made.runs.mkdir()
        yield made


def _below(root: Path, path: Path) -> Iterator[str]:
    """The files at a path, relative to the project.

    Raises:
        FixError: it is not in the project.
    """
    whole = path.resolve()
    if not whole.is_relative_to(root) or not whole.exists():
        raise FixError(f"{path} is not in the project {from_here(root)}")
    yield from (
        str(each.relative_to(root))
        for each in ([whole] if whole.is_file() else whole.rglob("*"))
        if not each.is_dir() or each.is_symlink()
    )


def _files(root: Path) -> list[str]:
    """The files of a project, relative to it; links are files."""
    command = [
        "git",
        "-C",
        str(root),
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    try:
        listed = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        listed = None
    if listed is not None and listed.returncode == 0:
        names = {os.fsdecode(name) for name in listed.stdout.split(b"\0") if name}
        return sorted(name for name in names if os.path.lexists(root / name))
    return sorted(_walked(root, root))


def _walked(folder: Path, root: Path) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            if entry.name not in _LEFT_OUT:
                yield from _walked(entry, root)
        else:
            yield str(entry.relative_to(root))


def _copy(root: Path, files: frozenset[str], target: Path) -> None:
    target.mkdir()
    for name in sorted(files):
        source, copy = root / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            copy.symlink_to(_target(source, root))
        elif source.is_file():
            shutil.copy2(source, copy)


def _target(link: Path, root: Path) -> Path:
    """Where the copy of a link leads: inside the copy, if it leads to the project."""
    there = link.resolve()
    if there.is_relative_to(root):
        return Path(os.path.relpath(there, link.parent.resolve()))
    return there
