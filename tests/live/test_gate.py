"""The gate on running programs: statuses, and findings that stay the same when lines move."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.live.forked import Finished
from tests.live.harness import LIVE, ON_DEVICE, doctor, line_of, run, write

pytestmark = LIVE

SICK = f"""{ON_DEVICE}
def train(weights):
    for step in range(12):
        weights = weights * 0.9
        log('loss', weights.sum().item())
        first = weights[0].tolist()
        torch_xla.sync()

def log(name, value):
    pass

train(weights)
"""
#: The same by another formatter and with more above it; the second defect is gone.
MOVED = (
    SICK.replace("import os, signal", "# A comment,\n# and another\nimport json\nimport os, signal")
    .replace("log('loss', weights.sum().item())", 'log("loss",  weights.sum().item())  # logged')
    .replace("        first = weights[0].tolist()\n", "")
)
STOPS = f"""{ON_DEVICE}
for step in range(8):
    weights = weights * 0.9
    torch_xla.sync()
sys.exit(7)
"""
RAISES = f"{ON_DEVICE}\nraise ValueError('no data')\n"


def gate(*words: str | Path, cwd: Path) -> Finished:
    return run(sys.executable, "-m", "xladoctor", "gate", *words, cwd=cwd)


@pytest.mark.thorough
def test_known_finding_stays_known_when_it_moves_and_the_healed_one_is_named(
    tmp_path: Path,
) -> None:
    program = write(tmp_path, "train.py", SICK)
    done = doctor("--gate", "-q", "-o", "sick", "train.py", cwd=tmp_path)
    assert done.status == 1, done.stderr
    assert f"train.py:{line_of(program, 'log(')}  in train\n" in done.stdout
    assert f"train.py:{line_of(program, 'first')}  in train\n" in done.stdout
    assert "Gate failed: 2 new findings" in done.stdout
    assert gate("sick", cwd=tmp_path).status == 1
    assert gate("sick", "--update-baseline", cwd=tmp_path).status == 0

    write(tmp_path, "train.py", MOVED)
    moved = line_of(program, "log(")
    done = gate("-q", "--", "train.py", cwd=tmp_path)
    assert done.status == 0, done.stdout + done.stderr
    assert f"known  XD201 at train.py:{moved}: in the baseline\n" in done.stdout
    assert "gone  XD203  train.py: first = weights[0].tolist()  no longer occurs" in done.stdout


@pytest.mark.thorough
def test_program_s_own_status_goes_before_the_gate_s(tmp_path: Path) -> None:
    write(tmp_path, "train.py", STOPS)
    done = doctor("--gate", "-q", "-o", "out", "train.py", cwd=tmp_path)
    assert done.status == 7
    assert "Gate passed" not in done.stdout
    done = gate("out", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert "the program failed (exit status 7) after 8 steps: not judged" in done.stderr


@pytest.mark.thorough
def test_program_that_fails_before_its_first_step_is_status_2(tmp_path: Path) -> None:
    write(tmp_path, "train.py", RAISES)
    done = gate("-q", "-o", "out", "--", "train.py", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert "ValueError: no data" in done.stderr
    assert "the command ended with status 1: not judged" in done.stderr
    assert "to see what was captured: xladoctor analyze" in done.stderr
