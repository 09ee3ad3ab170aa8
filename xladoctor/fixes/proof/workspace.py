"""Copies of a project, in which its program runs with and without patches.

The user's tree is read once and never written. With git, a copy is what git knows of: tracked files
as they are now, uncommitted changes included, and untracked files that are not ignored. Otherwise
it is the whole folder, without virtual environments and caches. Where the system allows it, the
program sees the copy in the place of the project itself, so that absolute paths mean the copy, too.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from xladoctor.fixes.interface import FixError
from xladoctor.fixes.proof import enclosed
from xladoctor.repository import from_here

_LARGEST = 500_000_000  # bytes of a copy
_CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
_LEFT_OUT = {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".mypy_cache"}
_PREFIX = "xladoctor-fix-"


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where copies of a project are made, each in the place of the one before.

    Attributes:
        root: the project itself.
        files: what a copy has, relative to the project.
        folder: for everything, readable by its owner alone.
        encloses: whether the program sees the copy in the place of the project.
    """

    root: Path
    files: frozenset[str]
    folder: Path
    encloses: bool = False

    @property
    def origin(self) -> Path:
        """The project as it was at the start, whatever happens to it meanwhile."""
        return self.folder / "origin"

    @property
    def copy(self) -> Path:
        """Where the copy is."""
        return self.folder / "copy" / (self.root.name or "project")

    @property
    def runs(self) -> Path:
        """A folder for run directories."""
        return self.folder / "runs"

    def within(self, path: Path) -> Path:
        """A path of the project as it is in the copy; other paths stay as they are."""
        return self.copy / path.relative_to(self.root) if path.is_relative_to(self.root) else path

    def word(self, word: str) -> str:
        """A word of a command, as the program gets it: the path of a file that was copied changes,
        that of an interpreter in the project's virtual environment stays.
        """
        path = Path(word)
        inside = path.is_relative_to(self.root) and str(path.relative_to(self.root)) in self.files
        return str(self.within(path)) if inside and not self.encloses else word

    def environment(self, caches: Path, cwd: Path) -> dict[str, str]:
        """This process's environment, with the copy in place of the project.

        Args:
            caches: an empty folder for what torch.compile keeps from run to run: otherwise each run
                would spare the next one compiling.
            cwd: the working directory of the project.
        """
        own = {name: str(caches) for name in _CACHES} | {"TMPDIR": str(self.folder / "tmp")}
        own["PWD"] = str(cwd if self.encloses else self.within(cwd))
        if "PYTHONPATH" in os.environ and not self.encloses:
            places = os.environ["PYTHONPATH"].split(os.pathsep)
            own["PYTHONPATH"] = os.pathsep.join(
                str(self.within(Path(each))) if each else "" for each in places
            )
        return {"PYTHONHASHSEED": "0", **os.environ, **own}

    def task(self, command: Sequence[str], cwd: Path) -> list[str]:
        """The command that runs a command of the project, and ends all that it starts.

        Args:
            cwd: the folder of the project in which it runs.
        """
        task: dict[str, Any] = {
            "parent": os.getpid(),
            "folder": str(self.folder),
            "mounts": self._mounts() if self.encloses else [],
            "cwd": str(cwd if self.encloses else self.within(cwd)),
            "command": [*command],
        }
        return [sys.executable, "-I", "-S", enclosed.__file__, json.dumps(task)]

    def _mounts(self) -> list[tuple[str, str, bool]]:
        """What is seen in another place, or read-only: where links out of the project lead, and
        what is no part of the copy but needed.
        """
        outside = sorted({to for _, to in outgoing(self)})
        around = any(self.folder.is_relative_to(to) for to in outside)
        return [
            *[(str(self.folder), str(self.folder), False)] * around,
            *((str(path), str(path), True) for path in outside),
            *((str(path), str(self.within(path)), True) for path in _needed(self.root)),
            (str(self.copy), str(self.root), False),
        ]

    def fresh(self, texts: Mapping[Path, str]) -> None:
        """Copy the project anew, so that nothing is left of earlier runs.

        Args:
            texts: new texts of its files, by their own paths.

        Raises:
            FixError: there is no room, or something cannot be read.
        """
        with _copying(self.root):
            for made in (self.copy, self.folder / "tmp"):
                _remove(made)
            (self.folder / "tmp").mkdir()
            _copy(self.origin, self.files, self.copy)
            for path, text in texts.items():
                file = self.within(path)
                mode = file.stat().st_mode
                file.unlink()
                file.write_bytes(text.encode("utf-8"))
                file.chmod(mode)
            for path in _needed(self.root) if self.encloses else ():
                mounted = self.within(path)
                mounted.parent.mkdir(parents=True, exist_ok=True)
                mounted.mkdir(exist_ok=True) if path.is_dir() else mounted.touch()


@contextmanager
def workspace(root: Path, include: Sequence[Path] = ()) -> Iterator[Workspace]:
    """A folder for copies of a project, which is deleted at the end.

    Args:
        include: files and folders of the project that are copied although git ignores them.

    Raises:
        FixError: it is too large to be copied, or cannot be.
    """
    root = root.resolve()
    with _private_folder(root) as folder:
        with _copying(root):
            made = Workspace(root, _sized(root, include), folder)
            made.runs.mkdir()
            _copy(root, made.files, made.origin)
        yield replace(made, encloses=_can_enclose(made))


@contextmanager
def _copying(root: Path) -> Iterator[None]:
    """Says of a fault that the project cannot be copied."""
    try:
        yield
    except OSError as error:
        what = f"cannot copy {from_here(root)}: {error.strerror or error}"
        raise FixError(what) from error


def _sized(root: Path, include: Sequence[Path]) -> frozenset[str]:
    """The files to be copied. None are searched further once they are too large together."""
    files, size = set[str](), 0
    for name in chain(_files(root), *(_below(root, path) for path in include)):
        if name not in files:
            files.add(name)
            size += os.lstat(root / name).st_size
        if size > _LARGEST:
            raise FixError(
                f"{from_here(root)} has more than {_LARGEST / 1e6:,.0f} MB, too much to copy for"
                " each run",
                "name its data in .gitignore, or a smaller project with --root",
            )
    return frozenset(files)


@contextmanager
def _private_folder(root: Path) -> Iterator[Path]:
    """A folder outside of the project, if possible; those that killed commands left are removed."""
    places = [Path(tempfile.gettempdir()).resolve(), Path("/tmp"), Path("/var/tmp")]  # noqa: S108
    place = next((each for each in places if not each.is_relative_to(root)), places[0])
    with suppress(OSError):
        for left in place.glob(f"{_PREFIX}*"):
            if left.lstat().st_uid == os.getuid() and not _is_in_use(left):
                _remove(left)
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:
        raise FixError(f"cannot make a folder in {place}: {error.strerror}") from error
    try:
        yield folder
    finally:
        with suppress(OSError):
            _remove(folder)
        os.close(lock)


def _is_in_use(folder: Path) -> bool:
    """Whether the process that made a folder still runs, which has locked it."""
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _can_enclose(made: Workspace) -> bool:
    """Whether the system allows it: found out by doing it."""
    if made.folder.is_relative_to(made.root):
        return False
    enclosing = replace(made, encloses=True)
    enclosing.fresh({})
    task = enclosing.task([sys.executable, "-I", "-S", "-c", ""], made.root)
    return subprocess.run(task, capture_output=True, check=False).returncode == 0


def _needed(root: Path) -> list[Path]:
    """What is no part of a copy, and is seen there as it is: virtual environments, git's folder."""
    found = {root / name for name in _LEFT_OUT - {"__pycache__", ".mypy_cache"}}
    found |= {place.parent for place in root.glob("*/pyvenv.cfg")}
    found |= {Path(sys.prefix), Path(sys.base_prefix)}
    below = sorted(path for path in found if path.exists() and root in path.parents)
    return [path for path in below if not any(each in path.parents for each in below)]


def outgoing(made: Workspace) -> Iterator[tuple[str, Path]]:
    """The links that lead out of the project, each with where to."""
    for name in sorted(made.files):
        if (link := made.root / name).is_symlink():
            there = link.resolve()
            if there.exists() and not there.is_relative_to(made.root):
                yield name, there


def _remove(path: Path) -> None:
    """Remove a file or folder, even of folders that cannot be written.

    Raises:
        OSError: it cannot be removed.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    path.chmod(0o700)
    for place, folders, _ in os.walk(path):
        for each in (Path(place, name) for name in folders):
            if not each.is_symlink():
                each.chmod(0o700)
    shutil.rmtree(path)


def _below(root: Path, path: Path) -> Iterator[str]:
    """The files at a path, relative to the project.

    Raises:
        FixError: it is not in the project.
    """
    whole = path.resolve()
    if not whole.is_relative_to(root) or not whole.exists():
        raise FixError(f"{path} is not in the project {from_here(root)}")
    for each in (whole, *whole.rglob("*")):
        yield str(each.relative_to(root))


def _files(root: Path) -> Iterator[str]:
    """The files of a project, relative to it; links and empty folders are files."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        yield from _walked(root, root)
        return
    for name in filter(None, listed.split(b"\0")):
        path = root / os.fsdecode(name)
        if os.path.lexists(path):
            yield from _walked(path, root)


def _walked(path: Path, root: Path) -> Iterator[str]:
    """A file, or the files of a folder: git names repositories in the project as folders."""
    if path.is_symlink() or not path.is_dir():
        yield str(path.relative_to(root))
        return
    entries = [*path.iterdir()]
    if not entries:
        yield str(path.relative_to(root))
    for entry in entries:
        if entry.name not in _LEFT_OUT and not (entry / "pyvenv.cfg").exists():
            yield from _walked(entry, root)


def _copy(root: Path, files: frozenset[str], target: Path) -> None:
    target.mkdir(parents=True)
    for name in sorted(files):
        source, copy = root / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            copy.symlink_to(_target(source, root))
        elif source.is_dir():
            copy.mkdir(exist_ok=True)
        elif source.is_file():
            shutil.copy2(source, copy)


def _target(link: Path, root: Path) -> Path:
    """Where the copy of a link leads: inside the copy, if it leads to the project."""
    there = link.resolve()
    if there.is_relative_to(root):
        return Path(os.path.relpath(there, link.parent.resolve()))
    return there
