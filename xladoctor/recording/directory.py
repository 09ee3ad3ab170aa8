"""Makes the run directory, which launchers of one job may ask for at the same moment."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from xladoctor.recording.interface import HOST, RUNS, CaptureError, RunDirectory
from xladoctor.recording.job import Launcher
from xladoctor.regular_files import modified_s, read_json
from xladoctor.whole_files import write_text

#: Seconds until a launcher that has taken a folder has written its manifest there.
_WRITTEN_S = 5.0
_LOOK_S = 0.05


def make_directory(
    output: Path | None, script: str, launcher: Launcher | None = None
) -> RunDirectory:
    """Make the run directory: the requested one, or a new one named after the script.

    Args:
        launcher: who asks. If it is one of several that run one job, its run directory is a folder
            in the requested one.

    Raises:
        CaptureError: it exists and is not empty, or cannot be created.
    """
    path = output or _default_output(script)
    try:
        if output is None:
            path = _made(path)
            if not (ignored := path.parent / ".gitignore").exists():
                write_text(ignored, "# Runs are not for the repository.\n*\n")
        else:
            path.mkdir(parents=True, exist_ok=True)
            path = _taken(path, launcher)
    except FileExistsError:
        raise CaptureError(
            f"{path} exists and is not an empty directory",
            "name another directory with --output, or remove this one; hosts of one job share it if"
            " they run the same command, apart from arguments such as --node-rank",
        ) from None
    except OSError as error:
        raise CaptureError(
            f"cannot create the run directory {path}: {error.strerror}",
            "name a directory that you can write to with --output",
        ) from error
    return RunDirectory(path.resolve())


def _default_output(script: str) -> Path:
    stem = Path(script).stem.strip(".") or "run"
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    return Path(RUNS) / f"{stamp}-{stem}"


def _made(base: Path) -> Path:
    """A new folder of that name, or of that name and a number: runs may start at the same time."""
    base.parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        path = base.with_name(f"{base.name}-{number}") if number > 1 else base
        with contextlib.suppress(FileExistsError):
            path.mkdir()
            break
    return path


def _taken(path: Path, launcher: Launcher | None) -> Path:
    """A folder for this run: that one, or one in it if others of the job use it.

    Raises:
        FileExistsError: something else is there.
    """
    if launcher is None or not launcher.is_one_of_several:
        try:
            _take(path)
        except FileExistsError:
            if launcher is None:
                raise
        else:
            return path
    if not all(_shares_job(launcher, run) for run in _runs_in(path)):
        raise FileExistsError
    own = _made(path / launcher.folder)
    _take(own)
    return own


def _take(path: Path) -> None:
    """Claim an empty folder for this run. Raises FileExistsError if another run was first."""
    if any(path.iterdir()):
        raise FileExistsError
    RunDirectory(path).unwritten_manifest.touch(exist_ok=False)


def _runs_in(path: Path) -> Iterator[Path]:
    """The runs in a folder, which may be one of them. Raises FileExistsError for other files."""
    run, entries = RunDirectory(path), list(path.iterdir())
    hosts = [entry for entry in entries if entry.name.startswith(HOST) and entry.is_dir()]
    if run.manifest in entries or run.unwritten_manifest in entries:
        yield path
    elif len(hosts) < len(entries):
        raise FileExistsError
    yield from hosts


def _shares_job(launcher: Launcher, path: Path) -> bool:
    other = Launcher.of(_manifest(RunDirectory(path)))
    heard_s = max(map(modified_s, [path, *path.glob("*.json"), *path.glob("process-*/*")]))
    return other is not None and launcher.shares_job_of(other, heard_s)


def _manifest(run: RunDirectory) -> dict[str, Any]:
    """A manifest, which may be about to be written; empty if there is none."""
    ends = time.monotonic() + _WRITTEN_S
    while True:
        with contextlib.suppress(OSError, ValueError):
            read = read_json(run.manifest)
            return read if isinstance(read, dict) else {}
        if time.monotonic() >= ends:
            return {}
        time.sleep(_LOOK_S)
