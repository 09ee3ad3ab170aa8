"""A program that has not ended is reported on as that, and judged when it has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.live.harness import LIVE, ON_DEVICE, doctor, write
from xladoctor.running import is_running

pytestmark = LIVE

#: Trains until a report on its steps is there.
TRAIN = f"""{ON_DEVICE}
import pathlib
report = pathlib.Path(os.environ["XLADOCTOR_RUN_DIRECTORY"], "report.txt")
for step in range(10_000):
    weights = weights * 0.9
    weights.sum().item()
    torch_xla.sync()
    time.sleep(0.01)
    if step % 20 == 0 and report.exists() and "still running" in (text := report.read_text()):
        print(text, flush=True)
        subprocess.run(["xladoctor", "gate", str(report.parent)])
        break
"""


def test_report_on_the_program_so_far_is_written_while_it_runs(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", TRAIN.replace("import ", "import subprocess, ", 1))
    run = tmp_path / "run"
    done = doctor("--report-every", "1s", "--output", run, program, cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert done.stderr.startswith("xladoctor: reports on the program so far: run/report.txt\n")
    assert "the program is still running, after" in done.stderr
    so_far, _, end = done.stdout.partition("in full:")
    assert "the process is still running" in " ".join(so_far.split())
    assert "XD201" in so_far
    assert "still running" not in end
    assert " lost" not in end  # what is written again after the end
    assert (run / "report.txt").read_text() in done.stdout


def test_a_number_that_another_program_has_by_now_is_no_running_process(tmp_path: Path) -> None:
    folder = tmp_path / f"process-{os.getpid()}"
    folder.mkdir()
    assert not is_running(folder)
    assert not is_running(tmp_path / "process-")
    environment = {**os.environ, "XLADOCTOR_RUN_DIRECTORY": str(tmp_path)}
    child = subprocess.Popen(
        [sys.executable, "-c", "input(1)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    try:
        assert child.stdout
        child.stdout.read(1)
        assert is_running(tmp_path / f"process-{child.pid}")
    finally:
        child.communicate(b"\n")
    assert not is_running(tmp_path / f"process-{child.pid}")
