"""Splits a command's run by program: a script that trains and then evaluates makes two runs.

Every Python process names its parent in ``python.log``. Processes that descend from the same Python
process, such as a launcher's workers, are one program; others are programs of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xladoctor.recording import manifest
from xladoctor.recording.interface import RunDirectory
from xladoctor.regular_files import LISTING, read_json, read_text

LOG = "python.log"
_NOBODY = 0


def split(directory: RunDirectory) -> list[RunDirectory]:
    """A run directory for each program that used XLA, in the order of their start.

    If there are several, they become folders in the run directory: ``1-train``, ``2-evaluate``.

    Raises:
        OSError: the run directory is gone, or its disk full.
    """
    records = [
        (folder, record)
        for folder in directory.processes()
        if (record := _record(folder)) is not None
    ]
    forked = {record["pid"]: record["parent"] for _, record in records}
    parents = forked | _parents(directory.path / LOG)
    groups: dict[int, list[tuple[Path, dict[str, Any]]]] = {}
    for folder, record in records:
        groups.setdefault(_root(record["pid"], parents), []).append((folder, record))
    if len(groups) < 2:
        return [directory]
    run = read_json(directory.manifest)
    ordered = sorted(groups.values(), key=lambda group: min(r["began_ns"] for _, r in group))
    return [_move(directory, run, number, group) for number, group in enumerate(ordered, 1)]


def _move(
    directory: RunDirectory,
    run: dict[str, Any],
    number: int,
    group: list[tuple[Path, dict[str, Any]]],
) -> RunDirectory:
    main = group[0][1]["main"]
    own = RunDirectory(directory.path / f"{number}-{Path(main).stem if main else 'program'}")
    own.path.mkdir()
    for folder, _ in group:
        number_of = folder.name.removeprefix("process-")
        for timeline in directory.path.glob(f"plugins/profile/*/*_{number_of}.*"):
            target = own.path / timeline.relative_to(directory.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            timeline.rename(target)
        folder.rename(own.path / folder.name)
    command = group[0][1].get("argv") or run["command"]
    manifest.write(
        own,
        {
            **run,
            "command": command,
            "script": main or run["script"],
            "part_of": directory.path.name,
            **manifest.inventory(own.path),
        },
    )
    return own


def _parents(log: Path) -> dict[int, int]:
    """The parent of each process. One that started later was a shell then, which has since become
    another program: the last command of ``bash -c 'python train.py && python evaluate.py'``.
    """
    parents: dict[int, int] = {}
    try:
        lines = read_text(log, LISTING, errors="replace").splitlines()
    except OSError:  # missing, or replaced by the program
        lines = []
    for line in lines:
        words = line.split(" ", 2)
        if len(words) == 3 and words[0].isdigit() and words[1].isdigit():
            parents.setdefault(int(words[0]), int(words[1]))
    nth = {pid: n for n, pid in enumerate(parents)}
    return {
        pid: parent if nth.get(parent, 0) <= nth[pid] else _NOBODY
        for pid, parent in parents.items()
    }


def _root(pid: int, parents: dict[int, int]) -> int:
    seen = set()
    while parents.get(pid) in parents and pid not in seen:
        seen.add(pid)
        pid = parents[pid]
    return pid


def _record(folder: Path) -> dict[str, Any] | None:
    """What a process recorded about itself; None if it did not use XLA or left nothing readable."""
    try:
        record = read_json(folder / "process.json")
        used = record["used_device"] or (folder / "steps.jsonl").stat().st_size > 0
        record["pid"], record["parent"], record["began_ns"], record["main"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if used and isinstance(record, dict) else None
