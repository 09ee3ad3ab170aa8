"""``xladoctor.capture`` and ``xladoctor.expect`` in programs of JAX, and of both frameworks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.live.harness import LIVE, ROOT, line_of, run, write

pytestmark = LIVE

CAPTURED = """
import os, sys
import xladoctor
with xladoctor.capture("out", report=False) as captured:
    import jax
    @jax.jit
    def step(weights, inputs):
        return weights + inputs.sum()
    weights = jax.numpy.zeros(8)
    for number in range(30):
        weights = step(weights, jax.numpy.ones(3))
assert not [name for name in os.environ if name.startswith("XLADOCTOR")]
assert not [each for each in sys.meta_path if type(each).__module__.startswith("xladoctor")]
print(captured.diagnosis.run.frontend, captured.diagnosis.steps.count in (28, 29, 30))
"""
EXPECTED = """
import json, sys
import numpy as np
import xladoctor
from xladoctor.expectation import UnmetExpectation

def unmet(function, *arguments, **bounds):
    try:
        with xladoctor.expect(**bounds):
            return function(*arguments)
    except UnmetExpectation as error:
        return str(error)

said = {"nothing": unmet(len, "", compilations=0, host_syncs=0, fallbacks=0)}

def importing():
    import jax
    return float(jax.jit(lambda x: x + 1)(3.0))
said["imported"] = unmet(importing, compilations=0, host_syncs=5)

import jax
@jax.jit
def step(inputs):
    return inputs * 2
def call(size, read=False):
    result = step(np.ones(size, np.float32))
    return float(result[0]) if read else None
call(3), call(3, True)
said["healthy"] = unmet(call, 3, compilations=0, host_syncs=0)
said["shape"] = unmet(call, 4, compilations=0)
said["read"] = unmet(call, 3, True, compilations=0, host_syncs=0)
said["allowed"] = unmet(call, 3, True, compilations=0, host_syncs=1, fallbacks=0)

import torch, torch_xla
def both():
    call(5)
    print(torch.ones(3).to(torch_xla.device()).sum().item(), file=sys.stderr)
said["both"] = unmet(both, compilations=0, host_syncs=0)
print(json.dumps(said))
"""


@pytest.mark.thorough
def test_program_that_imports_jax_in_the_captured_part(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", CAPTURED)

    done = run(sys.executable, program, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})

    assert (done.status, done.stdout) == (0, "jax True\n"), done.stderr


@pytest.mark.thorough
def test_expectations(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", EXPECTED)

    done = run(sys.executable, program, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})

    assert done.status == 0, done.stderr
    said = json.loads(done.stdout)
    texts = {key: " ".join(str(text).split()) for key, text in said.items()}
    assert said["nothing"] == 0
    assert texts["imported"].startswith("1 compilation where none was expected")
    assert said["healthy"] is None
    assert texts["shape"].startswith("1 compilation where none was expected")
    assert "from f32[3] to f32[4]" in texts["shape"]
    assert texts["read"].startswith("1 host sync where none was expected")
    assert f"train.py:{line_of(program, 'return float(result')} in call" in texts["read"]
    assert said["allowed"] == 2.0
    counted, syncs = (
        texts["both"].index(f"{n} {what} where")
        for n, what in ((2, "compilations"), (1, "host sync"))
    )
    assert counted < syncs
    assert "in both" in texts["both"]
