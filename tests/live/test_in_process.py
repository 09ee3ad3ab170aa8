"""``with xladoctor.capture("out"):`` in a program, and in a notebook."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.live.harness import LIVE, ON_DEVICE, line_of, run, write

pytestmark = LIVE

PROGRAM = f"""{ON_DEVICE}
import xladoctor
plain = torch.Tensor.item, torch.Tensor.to, torch.save, torch_xla._XLAC._xla_step_marker
environment = dict(os.environ)

def train(steps):
    total = torch.zeros(1).to(device)
    for step in range(steps):
        inputs = torch.ones(2 + step % 7, 8).to(device)
        total = total + (inputs @ weights).sum()
        torch_xla.sync()
    return total.item()

train(3)
with xladoctor.capture("first"):
    train(30)
train(3)
with xladoctor.capture("second", report=False, trace_steps=5) as captured:
    train(30)
try:
    with xladoctor.capture("third", report=False) as broken:
        train(12)
        raise ValueError("broken")
except ValueError:
    pass
print("steps", [captured.diagnosis.steps.count, broken.diagnosis.steps.count])
now = torch.Tensor.item, torch.Tensor.to, torch.save, torch_xla._XLAC._xla_step_marker
assert now == plain
assert os.environ == environment, set(os.environ.items()) ^ set(environment.items())
"""
CELLS = """
import xladoctor
with xladoctor.capture("out"):
    %run train.py
"""
SCRIPT = f"""{ON_DEVICE}
for step in range(20):
    weights = weights * 0.9
    print(weights.sum().item())
    torch_xla.sync()
"""


@pytest.mark.thorough
def test_part_of_a_program_again_and_again(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", PROGRAM)

    done = run(sys.executable, program, cwd=tmp_path)

    assert done.status == 0, done.stderr
    assert done.stdout.count("  in full: ") == 1  # the report of the first, and no other
    assert done.stdout.endswith("steps [30, 12]\n")
    report = json.loads((tmp_path / "first/diagnosis.json").read_text())
    findings = {finding["rule"]: finding for finding in report["findings"]}
    assert findings["XD101"]["locations"][0]["line"] == line_of(program, "inputs = torch.ones")
    assert any("before the capture began" in note for note in report["warnings"])


@pytest.mark.thorough
def test_notebook_that_runs_a_script(tmp_path: Path) -> None:
    script = write(tmp_path, "train.py", SCRIPT)
    write(tmp_path, "cells.ipy", CELLS)

    done = run(
        sys.executable,
        "-m",
        "IPython",
        "--no-banner",
        "cells.ipy",
        cwd=tmp_path,
        env={"IPYTHONDIR": str(tmp_path / "ipython")},
    )

    assert done.status == 0, done.stderr
    report = json.loads((tmp_path / "out/diagnosis.json").read_text())
    (read,) = [finding for finding in report["findings"] if finding["rule"] == "XD210"]
    (place,) = read["locations"]
    assert (place["file"], place["line"]) == ("train.py", line_of(script, "print(weights"))
    assert read["count"] == 20
