"""``xladoctor capture``: profiles a training program that is already running."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.live.forked import Finished
from tests.live.harness import LIVE, environment, run, write
from tests.recording.servers import closed_port

pytestmark = [*LIVE, pytest.mark.xdist_group("remote")]

#: Works on the host for longer than the device takes, until ``idle`` is there; then only waits.
TRAINING = """
import sys, time
from pathlib import Path
import torch, torch_xla
import torch_xla.debug.profiler as xp
server = xp.start_server(int(sys.argv[1]))
device = torch_xla.device()
weights = torch.ones(256, 256).to(device)
while True:
    while Path("idle").exists():
        time.sleep(0.01)
    weights = (weights @ weights) * 0.9
    torch_xla.sync()
    torch_xla._XLAC._xla_wait_device_ops([])
    time.sleep(0.1)  # stands for what the host does between steps
"""


@dataclass
class Training:
    """A training program with a profiler server."""

    process: subprocess.Popen[bytes]
    address: str
    folder: Path

    def captured(self, name: str, *words: str) -> tuple[Finished, Path]:
        """Run ``xladoctor capture``; also returns where the run directory should be."""
        directory = self.folder / name
        done = run(sys.executable, "-m", "xladoctor", "capture", *words, "-o", directory)
        return done, directory


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    folder = tmp_path_factory.mktemp("remote")
    port = closed_port()
    program = write(folder, "train.py", TRAINING)
    with subprocess.Popen(
        [sys.executable, program, str(port)], cwd=folder, env=environment()
    ) as process:
        try:
            yield Training(process, f"localhost:{port}", folder)
        finally:
            process.kill()


def report_of(directory: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((directory / "diagnosis.json").read_text())
    return report


def test_a_program_that_starts_and_runs_is_diagnosed(training: Training) -> None:
    """Runs first: the program is still importing torch when it is asked."""
    done, directory = training.captured("run", training.address, "--wait", "2m")

    report = report_of(directory)
    (finding,) = report["findings"]
    (note,) = report["warnings"]
    assert done.status == 0, done.stderr
    assert "connection refused: no profiler server listens there; trying again" in done.stderr
    assert report["run"]["kind"] == "remote"
    assert 10 <= report["steps"]["count"] <= 30
    assert finding["rule"] == "XD601"
    assert "need `xladoctor run`" in note
    assert f"xladoctor analyze {directory}" in " ".join(done.stdout.split())
    assert "XD601" in done.stdout
    again = run(sys.executable, "-m", "xladoctor", "analyze", directory)
    assert again.stdout == done.stdout


@pytest.mark.thorough
def test_what_came_is_analyzed_where_another_refuses(training: Training) -> None:
    closed = f"localhost:{closed_port()}"
    done, directory = training.captured(
        "two",
        training.address.replace("localhost", "127.0.0.1"),
        closed,
        "--duration",
        "1s",
        "--wait",
        "0s",
        "--quiet",
    )

    assert done.status == 0
    assert done.stderr == ""
    assert report_of(directory)["steps"]["count"] >= 3
    assert report_of(directory)["warnings"][0].startswith(f"not captured: {closed}: connection ref")


@pytest.mark.thorough
def test_a_program_that_is_idle_leaves_nothing_to_analyze(training: Training) -> None:
    (training.folder / "idle").touch()
    try:
        training.captured("settling", training.address, "--duration", "500ms")
        done, directory = training.captured("idle-run", training.address, "--duration", "500ms")
    finally:
        (training.folder / "idle").unlink()

    assert done.status == 2
    assert f"{training.address}: the program did nothing visible in 0.5 s" in done.stderr
    assert not directory.exists()


@pytest.mark.thorough
def test_a_program_that_ends_meanwhile_is_said(training: Training) -> None:
    """Runs last: the program is killed."""
    Timer(5, training.process.kill).start()
    done, directory = training.captured("ended", training.address, "--duration", "1m")

    assert done.status == 2
    assert f"{training.address}: the program ended while it was being captured" in done.stderr
    assert "Traceback" not in done.stderr
    assert not directory.exists()
