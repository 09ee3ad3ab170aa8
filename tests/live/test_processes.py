"""Programs of many processes: each that uses a device is captured, and no other is touched."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import LIVE, Captured, command, line_of, run, write

pytestmark = LIVE

#: Eight steps, the last three of them with a new shape each.
WORK = """
import os
import torch

def work(rank=0):
    import torch_xla
    device = torch_xla.device()
    weights = torch.ones(8, 8).to(device)
    for step in range(8):
        inputs = torch.ones(max(1, step - 3), 8).to(device)
        weights = weights * 0.9 + inputs.sum()
        torch_xla.sync()
    print(f"{rank} {weights.sum().item():.9g}", flush=True)

if __name__ == "__main__":
    work(os.environ.get("RANK", "0"))
"""
CHILDREN = """
import multiprocessing
from work import work

if __name__ == "__main__":
    methods = ("fork", "spawn", "forkserver")
    children = [multiprocessing.get_context(m).Process(target=work, args=(m,)) for m in methods]
    for child in children:
        child.start()
    for child in children:
        child.join()
    print(*(child.exitcode for child in children))
"""
FORKED_BY_LAUNCH = """
import torch_xla
from work import work

if __name__ == "__main__":
    torch_xla.launch(work, start_method="fork")
"""
#: Prints what of the capture is in the workers of a loader: threads, wrappers, a folder.
LOADERS = """
import os, threading
import torch, torch_xla
from torch.utils.data import DataLoader, Dataset

class Look(Dataset):
    def __len__(self):
        return 16
    def __getitem__(self, index):
        item = getattr(torch.Tensor.item, "__code__", None)
        run = os.environ.get("XLADOCTOR_RUN_DIRECTORY", "")
        return torch.tensor([
            sum(thread.name.startswith("xladoctor") for thread in threading.enumerate()),
            item is not None, os.path.exists(f"{run}/process-{os.getpid()}"),
        ], dtype=torch.float32)

if __name__ == "__main__":
    device = torch_xla.device()
    total = torch.zeros(3).to(device)
    for method in ("fork", "spawn"):
        for batch in DataLoader(Look(), batch_size=4, num_workers=2,
                                multiprocessing_context=method):
            total = total + batch.to(device).sum(0)
            torch_xla.sync()
        print(method, batch[-1].tolist())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the programs."""
    write(tmp_path, "work.py", WORK)
    return tmp_path


def processes(of: Captured) -> list[dict[str, Any]]:
    """The record of each captured process."""
    return [json.loads(file.read_text()) for file in of.directory.glob("process-*/process.json")]


def assert_causes_are_known(of: Captured, folder: Path, count: int) -> None:
    """Each process recompiled because of the shape that one line sends."""
    (finding,) = of.findings("XD101")
    assert finding["count"] == 3
    assert len(finding["processes"]) == count
    assert finding["cause"]["parameter"] is not None
    (place, *_) = finding["locations"]
    line = line_of(folder / "work.py", "inputs = torch.ones")
    assert (place["file"], place["line"]) == ("work.py", line)


@pytest.mark.thorough
def test_children_of_every_start_method_are_captured(folder: Path) -> None:
    program = write(folder, "children.py", CHILDREN)

    captured = command(folder / "out", program, cwd=folder)

    assert captured.finished.status == 0, captured.finished.stderr
    lines = captured.finished.stdout.splitlines()
    assert {line.split()[0] for line in lines[:3]} == {"fork", "spawn", "forkserver"}
    assert lines[3] == "0 0 0"
    assert all(record["ended"] for record in processes(captured))
    assert captured.notes == []
    assert_causes_are_known(captured, folder, 3)


@pytest.mark.thorough
def test_launch_by_fork_is_captured_in_the_child_alone(folder: Path) -> None:
    program = write(folder, "launch.py", FORKED_BY_LAUNCH)

    captured = command(folder / "out", program, cwd=folder)

    assert captured.finished.status == 0, captured.finished.stderr
    assert_causes_are_known(captured, folder, 1)


@pytest.mark.parametrize(
    "launcher", ["torchrun", pytest.param("accelerate", marks=pytest.mark.thorough)]
)
@pytest.mark.thorough
def test_distributed_launchers(folder: Path, launcher: str) -> None:
    beside = Path(sys.executable).parent
    words: dict[str, tuple[str | Path, ...]] = {
        "torchrun": (beside / "torchrun", "--nproc-per-node", "2", "work.py"),
        "accelerate": (
            beside / "accelerate",
            "launch",
            "--cpu",
            "--num_processes",
            "1",
            "--num_machines",
            "1",
            "--mixed_precision",
            "no",
            "--dynamo_backend",
            "no",
            "work.py",
        ),
    }

    done = run(
        sys.executable,
        "-m",
        "xladoctor",
        "run",
        "-o",
        "out",
        "--format",
        "terminal=out.report",
        "--",
        *words[launcher],
        cwd=folder,
    )

    assert done.status == 0, done.stderr
    captured = Captured(folder / "work.py", folder / "out", done)
    count = 2 if launcher == "torchrun" else 1
    if launcher == "torchrun":
        assert {record["rank"] for record in processes(captured)} == {0, 1}
    assert_causes_are_known(captured, folder, count)  # torch_xla writes a log for rank 0 alone


@pytest.mark.thorough
def test_workers_of_loaders_are_as_without_us(folder: Path) -> None:
    program = write(folder, "loaders.py", LOADERS)

    captured = command(folder / "out", program, cwd=folder)

    assert captured.finished.stdout == "fork [0.0, 0.0, 0.0]\nspawn [0.0, 0.0, 0.0]\n"
    assert len(processes(captured)) == 1
    assert captured.notes == []


@pytest.mark.thorough
def test_two_programs_in_a_shell_script_are_two_runs(folder: Path) -> None:
    write(folder, "both.sh", f"{sys.executable} work.py --token=secret\n{sys.executable} work.py\n")

    done = run(
        sys.executable, "-m", "xladoctor", "run", "-o", "out", "--", "sh", "both.sh", cwd=folder
    )

    assert done.status == 0, done.stderr
    assert re.findall(r"xladoctor analyze (\S+) -v", done.stdout) == ["out/1-work", "out/2-work"]
    for name in ("1-work", "2-work"):
        captured = Captured(folder / "work.py", folder / "out" / name, done)
        assert_causes_are_known(captured, folder, 1)
        assert captured.report["time"]["loop_s"] > 0
        assert len(list(captured.directory.glob("plugins/profile/*/*.xplane.pb"))) == 1
    (first,) = (folder / "out/1-work").glob("process-*/process.json")
    assert "secret" not in first.read_text()
    again = run(sys.executable, "-m", "xladoctor", "analyze", "out", cwd=folder)
    assert again.status == 2
    assert "out/1-work, out/2-work" in again.stderr
