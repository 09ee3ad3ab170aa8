"""Runs of a job's processes that were each started by itself, and lie beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from xladoctor.evidence.pod_runs import job_of, of_one_job


def run(folder: Path, rank: Any, began_s: float = 100.0, world_size: int = 3, **own: Any) -> Path:
    """A run of 10 seconds of one process."""
    command = ["python", "train.py", "--rank", str(rank)]
    manifest = {"command": command, "began_ns": int(began_s * 1e9), "ended": {"seconds": 10.0}}
    place = folder / f"{began_s}-{rank}"
    (place / "process-1").mkdir(parents=True)
    (place / "run.json").write_text(json.dumps(manifest | own))
    process = {"rank": rank, "world_size": world_size}
    (place / "process-1" / "process.json").write_text(json.dumps(process))
    return place


def test_processes_of_a_job_are_found_by_rank(tmp_path: Path) -> None:
    runs = [run(tmp_path, rank, 100.0 - rank) for rank in (0, 1, 2)]
    run(tmp_path, 1, 200.0)  # of a later job
    assert job_of(runs[2]) == runs
    assert of_one_job(runs)


@pytest.mark.parametrize(
    "other",
    [
        {"rank": 0, "began_s": 101.0},
        {"rank": 1, "began_s": 110.0},
        {"rank": 1, "world_size": 2},
        {"rank": None},
        {"rank": 1, "command": ["python", "other.py"]},
        {"rank": 1, "command": 7},
        {"rank": 1, "began_ns": "soon"},
    ],
    ids=["the same rank", "later", "another job", "no rank", "another program", "text", "time"],
)
def test_others_are_of_another_job(tmp_path: Path, other: dict[str, Any]) -> None:
    first, second = run(tmp_path, 0), run(tmp_path / "", **other)
    assert job_of(first) == []
    assert not of_one_job([first, second])


def test_two_runs_of_one_rank_are_not_joined(tmp_path: Path) -> None:
    first = run(tmp_path, 0)
    run(tmp_path, 1)
    run(tmp_path, 1, 101.0)
    assert job_of(first) == []


def test_damaged_records_are_of_no_job(tmp_path: Path) -> None:
    first, second = run(tmp_path, 0), run(tmp_path, 1)
    (second / "process-1" / "process.json").write_text("[")
    assert job_of(first) == []
    assert job_of(second) == []
