"""Launchers of one job with one ``--output``: which of them share it, and where each writes."""

from __future__ import annotations

import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.recording.test_launcher import run
from xladoctor.evidence.pod_runs import members
from xladoctor.recording.directory import make_directory
from xladoctor.recording.interface import CaptureError, RunDirectory
from xladoctor.recording.job import Launcher

COMMAND = ("python", "train.py")
HERE = Launcher(socket.gethostname(), os.getpid(), COMMAND)


def write(path: Path, launcher: Launcher, **more: Any) -> Path:
    """A run of a launcher, as far as others look at it."""
    path.mkdir(parents=True, exist_ok=True)
    record = {"command": launcher.command, "host": launcher.host, "pid": launcher.pid}
    (path / "run.json").write_text(json.dumps({**record, "job": launcher.job, **more}))
    return path


def made(output: Path, launcher: Launcher = HERE) -> str:
    """The folder that a launcher gets, below the requested one."""
    path = make_directory(output, "train.py", launcher).path
    return path.relative_to(output.resolve()).as_posix()


@pytest.mark.parametrize(
    "variables",
    [
        {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0"},
        {"OMPI_COMM_WORLD_SIZE": "16"},
        {"PET_NNODES": "1:4"},
        {"TPU_WORKER_HOSTNAMES": "tpu-0,tpu-1", "TPU_WORKER_ID": "0"},
        {"NEURON_PJRT_PROCESSES_NUM_DEVICES": "64,64"},
        {"TPU_WORKER_ID": "3"},
        {"JAX_PROCESS_ID": "1"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_a_launcher_that_is_one_of_several_gets_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    own = f"host-{HERE.host}"
    assert made(tmp_path / "out") == own
    assert RunDirectory(tmp_path / "out" / own).unwritten_manifest.exists()


@pytest.mark.parametrize(
    ("launcher", "folder"),
    [
        (replace(HERE, command=("torchrun", "--nnodes", "2", "train.py")), "host-" + HERE.host),
        (replace(HERE, command=("torchrun", "--nnodes=1:4", "train.py")), "host-" + HERE.host),
        (replace(HERE, command=("torchrun", "--nnodes", "1", "train.py")), "."),
        (replace(HERE, host="t1v-n-0a1b2c3d-w-1"), "host-t1v-n-0a1b2c3d-w-1"),
        (replace(HERE, host="t1v-n-0a1b2c3d-w-0"), "."),
        (replace(HERE, command=("python", "train.py", "--index", "1")), "."),
    ],
)
def test_command_and_name_of_the_host_may_say_that_there_are_several(
    tmp_path: Path, launcher: Launcher, folder: str
) -> None:
    assert made(tmp_path / "out", launcher) == folder


def test_one_alone_takes_the_folder_and_those_that_come_later_get_folders_in_it(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    first = replace(HERE, host="a", command=("python", "train.py", "--process_id", "0"))
    assert made(out, first) == "."
    write(out, first)
    for number, folder in ((1, "host-b"), (2, "host-b-2")):
        command = ("python", "train.py", f"--process_id={number}")
        later = replace(HERE, host="b", command=command)
        assert made(out, later) == folder
        write(out / folder, later)
    assert members(out) == [out, out / "host-b", out / "host-b-2"]


@pytest.mark.parametrize(
    "other",
    [
        replace(HERE, host="a", command=("python", "evaluate.py")),
        replace(HERE, host="a", command=("python", "train.py", "--lr", "0.1")),
        replace(HERE, pid=2**22 + 1),
        replace(HERE, host="a", job="41"),
    ],
    ids=["other program", "other arguments", "ended on this host", "other job"],
)
def test_a_run_of_another_job_is_refused(tmp_path: Path, other: Launcher) -> None:
    out = write(tmp_path / "out", other)
    with pytest.raises(CaptureError, match="exists and is not an empty directory"):
        make_directory(out, "train.py", replace(HERE, job="42"))
    assert [path.name for path in out.iterdir()] == ["run.json"]


def test_a_run_that_wrote_nothing_lately_is_of_an_earlier_job(tmp_path: Path) -> None:
    out = write(tmp_path / "out", replace(HERE, host="a"))
    for path in (out / "run.json", out):
        os.utime(path, (1, 1))
    with pytest.raises(CaptureError):
        make_directory(out, "train.py", HERE)
    process = out / "process-1" / "steps.jsonl"
    process.parent.mkdir()
    process.touch()
    assert made(out) == f"host-{HERE.host}"


def test_other_files_are_refused_whatever_the_job(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out / "host-a", replace(HERE, host="a"))
    (out / "precious.txt").touch()
    with pytest.raises(CaptureError):
        make_directory(out, "train.py", HERE)


def _take(out: str, number: int) -> str:
    launcher = replace(HERE, host=f"h{number}", pid=os.getpid())
    run = make_directory(Path(out), "train.py", launcher)
    write(run.path, launcher)
    return run.path.name


def test_launchers_that_start_at_once_get_folders_of_their_own(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with ThreadPoolExecutor(8) as threads:
        names = list(threads.map(lambda number: _take(str(out), number), range(8)))
    assert names.count("out") == 1
    assert len(set(names)) == 8
    assert len(members(out)) == 8


def test_the_list_of_files_of_the_first_has_none_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "own"
    script = f"mkdir {path}/host-other && echo {{}} > {path}/host-other/run.json"
    outcome = run(path, "sh", "-c", script)
    manifest = json.loads(outcome.runs[0].manifest.read_text())
    assert not [name for name in manifest["files"] if name.startswith("host-")]
    assert (manifest["host"], manifest["pid"]) == (HERE.host, os.getpid())
