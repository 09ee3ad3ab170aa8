"""What a program has computed is kept for trials of patches, and only for these."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from xladoctor.fixes.proof.arrays import arrays
from xladoctor.recording.bootstrap._xladoctor.jax.results import begin
from xladoctor.recording.bootstrap._xladoctor.pytorch.results import watch
from xladoctor.recording.bootstrap._xladoctor.results import VARIABLE

TORCH = """
import logging
import random
import numpy
import torch

def train():
    model = torch.nn.Linear(2, 1)
    torch.nn.init.constant_(model.weight, 0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step = torch.compile(lambda x: model(x).sum(), backend="eager")
    for _ in range(3):
        step(torch.ones(1, 2)).backward()
        optimizer.step()
        optimizer.zero_grad()
        logging.getLogger("train").warning("step")

train()
weight = torch.ones(3, requires_grad=True)
print(round(random.random(), 4), round(numpy.random.rand(), 4), torch.initial_seed())
"""
JAX = """
import jax
import jax.numpy as jnp

@jax.jit
def step(x):
    return x + 1, {"twice": 2 * x}

x = jnp.zeros(3)
for _ in range(5):
    x, _ = step(x)
print(x * 7)
"""


def ran(folder: Path, script: str) -> str:
    """What a program printed under capture; its results are in ``folder``."""
    folder.mkdir()
    program = folder / "train.py"
    program.write_text(script)
    command = [sys.executable, "-m", "xladoctor", "run", "--quiet", "-o", str(folder / "run")]
    done = subprocess.run(
        [*command, "--format", f"json={folder / 'run.json'}", str(program)],
        env={**os.environ, VARIABLE: str(folder), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_parameters_outlive_the_function_that_made_them(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    printed = ran(tmp_path / "one", TORCH)
    found = arrays(tmp_path / "one" / "final parameters.pt")
    assert found is not None
    assert found[".SGD 0.parameters.0.0"] == pytest.approx([0.5 - 0.1 * (1 + 1.9 + 2.71)] * 2)
    assert found[".SGD 0.state.0.momentum_buffer.1"] == pytest.approx(2 * 2.71)
    assert found[".weight.1"] == 3
    (logged,) = (tmp_path / "one").glob("log-records-*.json")
    assert logged.read_text() == '{"WARNING": 3}'
    assert printed == "0.8444 0.5488 0\n"


def test_without_a_folder_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    watch(object())  # which has no optimizers to be wrapped
    assert begin(list) is None


def test_the_last_results_of_compiled_functions_are_kept(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    ran(tmp_path / "one", JAX)
    found = arrays(tmp_path / "one" / "final results of compiled functions.npz")
    assert found is not None
    assert [*found["step.0"]] == [5, 5, 5, 15]
    assert [*found["step.1"]] == [8, 8, 8, 24]
