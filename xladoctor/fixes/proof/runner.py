"""Runs a project's program with patches, in a copy of the project, and keeps what it leaves."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from xladoctor.fixes.interface import FixError, Patch
from xladoctor.fixes.plan import patched
from xladoctor.fixes.proof.interface import Run
from xladoctor.fixes.proof.workspace import Workspace, outgoing
from xladoctor.recording.bootstrap._xladoctor.results import FIRST_STEPS, LOGGED, VARIABLE
from xladoctor.recording.launcher import bootstrap_first

_HURTS = ("warning", "error")
_LARGEST = 200_000_000  # bytes of a file that is kept; of a larger one the digest is
_LARGEST_TEXT = 50_000_000  # bytes of what a program prints
_TICK_S, _ENDING_S = 0.5, 15.0
#: Variables that name the project, and are set anew.
_SET_ANEW = {"PWD", "OLDPWD", "PYTHONPATH", "PATH", "VIRTUAL_ENV", "_"}


class Runner:
    """Runs one program.

    Args:
        cwd: the folder of the project in which it runs.
        stop_after: steps after which it is ended; 0 for none.
        own: variables of its environment where this process has none of the name.
    """

    def __init__(
        self,
        copies: Workspace,
        command: Sequence[str],
        cwd: Path,
        stop_after: int,
        own: Mapping[str, str] | None = None,
    ) -> None:
        self._own = own or {}
        self._copies = copies
        self._words = [copies.word(word) for word in command]
        self._cwd = cwd
        self._stop_after = stop_after

    def refuse_paths(self) -> None:
        """Refuse what would leave the copy, where the copy is not seen in the project's place.

        Raises:
            FixError: a path that is used leads to the project itself, or a link out of it.
        """
        if self._copies.encloses:
            return
        found = next(self._ways_out(), None)
        if found is not None:
            raise FixError(
                f"in a copy, the program would still use {found}",
                "this system does not allow mount namespaces, which would lead such paths to the"
                " copy: use relative paths, or run it where `unshare --user --mount true` works",
            )

    def _ways_out(self) -> Iterator[str]:
        root = self._copies.root
        named = re.compile(re.escape(os.fsencode(root)) + rb"(?![\w.-])")
        for word in self._words:
            if named.search(os.fsencode(word)) and not _is_interpreter(word):
                yield word
        for variable, value in os.environ.items():
            if named.search(os.fsencode(value)) and variable not in _SET_ANEW:
                yield f"{root} (the variable {variable})"
        for name in sorted(self._copies.files):
            file = self._copies.origin / name
            text = file.read_bytes() if file.is_file() and not file.is_symlink() else b""
            if found := named.search(text):
                line = text.count(b"\n", 0, found.start()) + 1
                yield f"{root} ({name}:{line})"
        for name, there in outgoing(self._copies):
            if os.access(there, os.W_OK):
                yield f"{there} (the link {name})"

    def run(self, patches: Sequence[Patch], limit_s: float | None, tick: Callable[[], None]) -> Run:
        """Run the program with these patches, as :meth:`run_with` does."""
        return self.run_with(patched(patches), limit_s, tick)

    def values(
        self, texts: Mapping[Path, str], limit_s: float | None, tick: Callable[[], None]
    ) -> tuple[int | None, str, Path]:
        """Run the program for the values of its first steps, without the capture.

        Returns:
            Its exit status, None if it took too long; its standard error; and a folder with what
            its processes wrote.

        Raises:
            FixError: the copy cannot be made.
        """
        place, state = self._begin(texts)
        path = self._copies.environment(state, self._cwd).get("PYTHONPATH")
        own = {"PYTHONPATH": bootstrap_first(path), FIRST_STEPS: str(state)}
        status = self._status(place, self._words, own, limit_s, tick)
        return status, _text(Path(f"{place}.err")), state

    def _begin(self, texts: Mapping[Path, str]) -> tuple[Path, Path]:
        """Make a fresh copy; where the run directory goes, and a folder for what it computes."""
        self._copies.fresh(texts)
        done = sum(1 for _ in self._copies.runs.glob("*-state"))
        place = self._copies.runs / str(done + 1)
        state = Path(f"{place}-state")
        state.mkdir()
        return place, state

    def run_with(
        self,
        texts: Mapping[Path, str],
        limit_s: float | None,
        tick: Callable[[], None],
        look: Callable[[Path], None] = lambda directory: None,
    ) -> Run:
        """Run the program in a copy with new texts of files, under light capture: without a
        timeline, which would take most.

        Args:
            limit_s: seconds after which it is ended; ``tick``: is called twice a second.
            look: is called with the run directory of a run that has a diagnosis.

        Raises:
            FixError: the copy cannot be made, or the program uses the project itself.
        """
        place, state = self._begin(texts)
        before = dict(_files(self._copies.copy))
        try:
            own = {VARIABLE: str(state)}
            status = self._status(place, self._command(place), own, limit_s, tick)
            if not self._cwd.is_dir():
                raise FixError(f"{self._cwd} is gone")
            report = _report(place)
            if report is not None:
                look(place)
            shutil.rmtree(place, ignore_errors=True)
            self._refuse_the_original(report)
            if status is None:
                return Run(None, "")
            now = dict(_files(self._copies.copy))
            return Run(
                status,
                _text(Path(f"{place}.out")),
                errors=_text(Path(f"{place}.err")),
                logged=_logged(state),
                written=_moved(self._copies.copy, before, now, Path(f"{place}-files")),
                removed=tuple(sorted(before.keys() - now.keys())),
                state={
                    path.stem: path
                    for path in sorted(state.iterdir())
                    if path.suffix in (".pt", ".npz")
                },
                report=report or {},
                **_measured(report),
            )
        except OSError as error:
            what = f"cannot keep the program's files: {error.strerror}: {error.filename}"
            raise FixError(what) from error

    def _status(
        self,
        place: Path,
        command: Sequence[str],
        own: Mapping[str, str],
        limit_s: float | None,
        tick: Callable[[], None],
    ) -> int | None:
        """Run it without standard input; None if it takes too long. What it prints goes to files,
        so that nobody has to wait for a process that keeps them open.
        """
        until = time.monotonic() + limit_s if limit_s else float("inf")
        environment = self._copies.environment(Path(f"{place}-caches"), self._cwd)
        with Path(f"{place}.out").open("wb") as out, Path(f"{place}.err").open("wb") as err:
            process = subprocess.Popen(
                self._copies.task(command, self._cwd),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**self._own, **environment, **own},
                start_new_session=True,
            )
        try:
            while time.monotonic() < until:
                tick()
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(min(_TICK_S, max(0.01, until - time.monotonic())))
            return None
        finally:
            _end(process)

    def _refuse_the_original(self, report: dict[str, Any] | None) -> None:
        """Raise FixError if the program imports the project itself rather than the copy."""
        if self._copies.encloses or not report:
            return
        root = f"{self._copies.root}/"
        for finding in report["findings"]:
            for place in finding["locations"]:
                if place["file"].startswith(root):
                    raise FixError(
                        f"in a copy of the project the program still imports {place['file']}",
                        "the project is installed in editable mode, or sets sys.path: run it so"
                        " that it imports its modules from the folder that it runs in",
                    )

    def _command(self, directory: Path) -> list[str]:
        stop = ["--stop-after", str(self._stop_after)] if self._stop_after else []
        return [
            *(sys.executable, "-m", "xladoctor", "run", "--quiet", "--output", str(directory)),
            *("--trace-steps", "0", "--format", f"json={directory}.json", *stop, "--"),
            *self._words,
        ]


def _is_interpreter(word: str) -> bool:
    return os.access(word, os.X_OK) and Path(word).name.startswith("python")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what still runs: the process itself ends all that it has started."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING_S)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _files(folder: Path) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """The files below a folder, with what changes when they are written."""
    for place, _, names in os.walk(folder):
        for name in names:
            if "__pycache__" not in place:
                with suppress(OSError):
                    found = os.lstat(f"{place}/{name}")
                    relative = os.path.relpath(f"{place}/{name}", folder)
                    yield relative, (found.st_mtime_ns, found.st_size, found.st_ino)


def _moved(
    copy: Path, before: dict[str, Any], now: dict[str, Any], target: Path
) -> dict[str, Path]:
    """The files that a run has written, moved out of the way; of large ones there is a digest."""
    written = {}
    for name, found in now.items():
        file, kept = copy / name, target / name
        if before.get(name) == found or not (file.is_file() or file.is_symlink()):
            continue
        kept.parent.mkdir(parents=True, exist_ok=True)
        if file.is_symlink():
            kept.write_text(str(file.readlink()), "utf-8", "surrogateescape")
        elif found[1] > _LARGEST:
            with file.open("rb") as read:
                kept.write_text(hashlib.file_digest(read, "sha256").hexdigest())
        else:
            file.rename(kept)
            kept.chmod(0o600)
        written[name] = kept
    return written


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_LARGEST_TEXT).decode("utf-8", "replace")


def _logged(state: Path) -> tuple[str, ...]:
    """The number of log records of each level, of all processes."""
    counts = Counter[str]()
    for path in state.glob(f"{LOGGED}*"):
        with suppress(ValueError):
            counts.update(json.loads(path.read_text(encoding="utf-8")))
    return tuple(f"{counts[level]} {level}" for level in sorted(counts))


def _report(directory: Path) -> dict[str, Any] | None:
    """The diagnosis in a run directory."""
    try:
        report = json.loads((directory / "diagnosis.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return report if isinstance(report, dict) else None


def _measured(report: dict[str, Any] | None) -> dict[str, Any]:
    """The times, counts and findings of a run that has a diagnosis."""
    if report is None:
        return {}
    spent, findings = report["time"], report["findings"]
    counts = ((each["name"], each["value"]) for each in report["counts"])
    return {
        "loop_s": spent["loop_s"] or spent["total_s"],
        "steady_s": spent["loop_s"] and spent["loop_s"] - (spent["warmup_compile_s"] or 0.0),
        "counts": tuple((name, value) for name, value in counts if value is not None),
        "findings": frozenset(each["rule"] for each in findings if each["severity"] in _HURTS),
        "rules": tuple(each["rule"] for each in findings),
    }
