"""Run directories, and folders with those of all hosts of a pod."""

from __future__ import annotations

from pathlib import Path

from xladoctor.recording.interface import HOST


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
