"""Run directories, and those that belong together: of a pod's hosts, or of a job's processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xladoctor.recording.interface import HOST
from xladoctor.recording.job import common_command
from xladoctor.regular_files import modified_s, read_json


def is_run(place: Path) -> bool:
    """Whether a folder is a run directory, in which runs of other hosts may be; the folder of
    several programs' runs is not.
    """
    if any(place.glob("process-*")):
        return True
    held = (file for file in place.glob("*/run.json") if not file.parent.name.startswith(HOST))
    return (place / "run.json").exists() and not any(held)


def members(place: Path) -> list[Path]:
    """The run directories of a pod's hosts, in the order of their names; empty for other folders.

    Args:
        place: the folder that all launchers were given. It is a run directory itself if a launcher
            did not know that there would be others; that one comes first.
    """
    hosts = sorted(
        (folder for folder in place.glob(f"{HOST}*") if is_run(folder)),
        key=lambda folder: (len(folder.name), folder.name),
    )
    return [*([place] if is_run(place) else []), *hosts] if hosts else []


def pod_of(run: Path) -> Path | None:
    """The folder of the pod that a run directory is in; None if it is not in one."""
    return run.parent if run.name.startswith(HOST) and is_run(run) else None


def read_object(file: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if there is none that can be read."""
    try:
        read = read_json(file)
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def of_one_job(runs: Sequence[Path]) -> bool:
    """Whether these runs are of different processes of one job, each started by itself."""
    ranked = [_ranked(run) for run in runs]
    first, *others = ranked or [None]
    if first is None or not others:
        return False
    ranks = {each.rank for each in ranked if each}
    return len(ranks) == len(runs) and all(each and each.shares_job_of(first) for each in others)


def job_of(run: Path) -> list[Path]:
    """The runs of a job's processes, by rank, that lie beside the run of one; empty if there are
    none, or if two of them are of the same rank.
    """
    own = _ranked(run)
    if own is None:
        return []
    beside = [found for folder in run.parent.iterdir() if (found := _ranked(folder))]
    of_job = [each for each in beside if each == own or each.shares_job_of(own)]
    runs = [each.path for each in sorted(of_job, key=lambda each: each.rank)]
    return runs if of_one_job(runs) else []


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The run of a single process of a job; seconds since 1970."""

    path: Path
    command: tuple[str, ...]
    rank: int
    world_size: int
    began_s: float
    ended_s: float

    def shares_job_of(self, other: _Ranked) -> bool:
        """Whether both were running at the same time, as different processes of the same job."""
        return (
            (self.command, self.world_size) == (other.command, other.world_size)
            and self.rank != other.rank
            and self.began_s < other.ended_s
            and other.began_s < self.ended_s
        )


def _ranked(run: Path) -> _Ranked | None:
    """A run, if it is of a single process that knows its rank in a job of several."""
    manifest = read_object(run / "run.json")
    processes = [read_object(file) for file in run.glob("process-*/process.json")]
    if len(processes) != 1:
        return None
    rank, world_size = (_number(processes[0].get(key)) for key in ("rank", "world_size"))
    began, command = _number(manifest.get("began_ns")), manifest.get("command")
    if rank is None or not world_size or world_size < 2 or began is None:
        return None
    ended = manifest.get("ended")
    seconds = ended.get("seconds") if isinstance(ended, dict) else None
    if isinstance(seconds, int | float):
        ended_s = began / 1e9 + seconds
    else:  # it is still going on, or was killed
        ended_s = max(modified_s(file) for file in run.glob("process-*/*"))
    words = map(str, command if isinstance(command, list) else ())
    common = tuple(common_command([*words]))
    return _Ranked(run, common, rank, world_size, began / 1e9, ended_s)


def _number(value: Any) -> int | None:
    return value if type(value) is int else None
