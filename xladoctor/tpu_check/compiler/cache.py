"""Keeps verdicts and modules: compiling is deterministic, and takes minutes.

An entry is a folder, moved into place as a whole, with the child's ``result.json``, perhaps its
``module.pb.gz`` and ``plan.pb.gz``, and checksums of all. Its name is a hash of all that the
compiler was given.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from xladoctor.cache_folder import cache_folder, oldest_beyond
from xladoctor.regular_files import checksum, read_json
from xladoctor.tpu_check.compiler.answer import MODULE, PLAN, RESULT, Result, read_result
from xladoctor.tpu_check.compiler.interpreter import FLAGS, Compiler
from xladoctor.tpu_check.compiler.topology import Topology
from xladoctor.tpu_check.graphs import Graph

_FORM = 6  # raised when entries, or what they were compiled with, change their meaning
_MOST = 1 << 30  # bytes
_WORK = "work-"
_KEPT = (RESULT, MODULE, PLAN)
_SUMS = "checksums.json"
_PAUSE_S = 0.2


def key_of(graph: Graph, topology: Topology, compiler: Compiler, *, whole: bool = False) -> str:
    """The name of the entry of a graph, a topology and a compiler, with or without its code."""
    given = [
        _FORM,
        hashlib.sha256(graph.content).hexdigest(),
        graph.form,
        graph.replicas,
        graph.partitions,
        graph.donated,
        topology.name,
        *compiler.versions.values(),
        os.environ.get(FLAGS, ""),
        whole,
    ]
    return hashlib.sha256(json.dumps(given).encode()).hexdigest()


class Cache:
    """Verdicts in a folder, of which the least recently used go if they are too many.

    Args:
        folder: by default the user's; if that cannot be written, one that ends with this object.
        most: bytes of all entries.
    """

    def __init__(self, folder: Path | None = None, most: int = _MOST) -> None:
        folder = folder or cache_folder("tpu_check")
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="xladoctor-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._folder = folder
        self._most = most

    def get(self, key: str) -> tuple[Result, Path] | None:
        """The entry's result and folder; None if there is none. A damaged one is removed."""
        entry = self._folder / key
        if not entry.is_dir():
            return None
        result = read_result(entry) if _is_as_written(entry) else None
        if result is None:
            shutil.rmtree(entry, ignore_errors=True)
            return None
        with suppress(OSError):
            os.utime(entry)
        return result, entry

    def put(self, key: str, work: Path) -> Path:
        """Make an entry of what a child left in ``work``; its folder. Raises OSError."""
        for file in work.iterdir():
            if file.name not in _KEPT:
                file.unlink() if not file.is_dir() else shutil.rmtree(file, ignore_errors=True)
        sums = {file.name: checksum(file) for file in work.iterdir()}
        (work / _SUMS).write_text(json.dumps(sums), encoding="utf-8")
        entry = self._folder / key
        shutil.rmtree(entry, ignore_errors=True)
        work.rename(entry)
        os.utime(entry)
        self._trim(entry)
        return entry

    def _trim(self, newest: Path) -> None:
        folders = (each for each in self._folder.iterdir() if each.is_dir())
        entries = [entry for entry in folders if not entry.name.startswith(_WORK)]
        for entry in oldest_beyond(entries, self._most):
            if entry != newest:
                shutil.rmtree(entry, ignore_errors=True)

    @contextmanager
    def working(self, wait: Callable[[int | None], None]) -> Iterator[Path]:
        """A new folder to compile in, once no other process compiles for this user.

        Args:
            wait: called again and again while another process does, with its id if it is known.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "lock").open("a+") as lock:
            _acquire(lock.fileno(), wait)
            for left in self._folder.glob(f"{_WORK}*"):  # of processes that were killed
                shutil.rmtree(left, ignore_errors=True)
            work = Path(tempfile.mkdtemp(prefix=_WORK, dir=self._folder))
            try:
                yield work
            finally:
                shutil.rmtree(work, ignore_errors=True)


def _is_as_written(entry: Path) -> bool:
    try:
        sums = read_json(entry / _SUMS)
        return bool(sums == {name: checksum(entry / name) for name in sums})
    except (OSError, ValueError, TypeError):
        return False


def _acquire(lock: int, wait: Callable[[int | None], None]) -> None:
    """Lock an open file, and write this process's id into it.

    File systems without locks let everybody in at once.
    """
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(lock, 20, 0)
            wait(int(holder) if holder.isdigit() else None)
            time.sleep(_PAUSE_S)
        except OSError:
            return
        else:
            break
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
