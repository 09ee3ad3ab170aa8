"""The caches of torch.compile on disk: what a second start finds, and why it does not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.live.harness import LIVE, doctor, line_of, python, write

pytestmark = LIVE

PROGRAM = """
import os, torch

offset = float(os.environ.get("OFFSET", "3"))

@torch.compile
def step(weights, inputs):
    return weights - 0.1 * (inputs.t() @ torch.tanh(inputs @ weights + offset))

weights, inputs = torch.ones(16, 16), torch.ones(4, 16)
for number in range(6):
    weights = step(weights, inputs)
print(float(weights.sum()))
"""
CONDITION = """
import torch

@torch.compile(fullgraph=True)
def step(x):
    return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))

x = torch.ones(8)
for number in range(6):
    y = step(x)
print(float(y.sum()))
"""


def started(folder: Path, program: Path, out: str, **variables: str) -> str:
    """Run a program; return what it printed."""
    variables = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), **variables}
    done = doctor("-o", out, program, cwd=folder, env={**os.environ, **variables})
    assert done.status == 0, done.stderr
    return done.stdout.splitlines()[0]


def cache(folder: Path, *runs: str, status: int) -> dict[str, Any]:
    done = python("-m", "xladoctor", "cache", *runs, "--format", "json", cwd=folder)
    assert done.status == status, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_second_start_finds_its_code_or_says_why_not(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", PROGRAM)
    assert started(tmp_path, program, "a") == started(tmp_path, program, "b")
    found = cache(tmp_path, "a", "b", status=0)
    outcomes = [[each["outcome"] for each in start["lookups"]] for start in found["starts"]]
    assert outcomes == [["kept"], ["hit"]]
    assert found["starts"][0]["lookups"][0]["name"] == "step"

    started(tmp_path, program, "c", OFFSET="4")
    (miss,) = cache(tmp_path, "a", "c", status=1)["misses"]
    (change,) = miss["changes"]
    assert (change["part"], change["kind"]) == ("computation", "operation")
    assert "3.0" in change["was"]
    assert "4.0" in change["now"]
    assert change["line"] == line_of(program, "weights = step(")

    started(tmp_path, program, "d", TORCHINDUCTOR_FREEZING="1")
    misses = cache(tmp_path, "a", "d", status=1)["misses"]
    named = [(each["part"], each["field"]) for miss in misses for each in miss["changes"]]
    assert ("inductor_config", "freezing") in named


def test_what_is_bypassed_has_its_reason(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", CONDITION)
    started(tmp_path, program, "a")
    (start,) = cache(tmp_path, "a", status=0)["starts"]
    assert {each["outcome"] for each in start["lookups"]} == {"not kept"}
    assert {each["reason"] for each in start["lookups"]} == {"bypass"}
    assert any("cond" in each["detail"] for each in start["lookups"])
