"""How a program on eight virtual devices divides its arrays, captured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.live.harness import LIVE, doctor, line_of, python, write

pytestmark = LIVE

TRAINED = """
import os
os.environ |= {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "NPROC": "16"}
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

MESH = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))

def placed(shape, *spec):
    return jax.device_put(np.full(shape, 0.01, np.float32), NamedSharding(MESH, P(*spec)))

def loss(params, x):
    for layer in params["layers"]:
        x = jnp.tanh(x @ layer["w"])
    return x.mean()

@jax.jit
def train_step(params, x):
    value, gradients = jax.value_and_grad(loss)(params, x)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

params = {"layers": [{"w": placed((512, 512), "data", None)} for _ in range(4)]}
x = placed((64, 512), "data", None)
for _ in range(12):
    params, value = train_step(params, x)
print(float(value))
"""


def shardings(folder: Path) -> list[dict[str, Any]]:
    asked = python("-m", "xladoctor", "shardings", "out", "--format", "json", cwd=folder)
    assert asked.status == 0, asked.stderr
    found: list[dict[str, Any]] = json.loads(asked.stdout)
    return found


def test_arguments_and_gathers_are_what_the_program_says(tmp_path: Path) -> None:
    path = write(tmp_path, "train.py", TRAINED)
    doctor("-o", "out", path, cwd=tmp_path)
    step = shardings(tmp_path)[0]
    assert (step["name"], step["mesh"], step["runs_a_step"]) == ("train_step", "data=4, model=2", 1)
    weights = next(each for each in step["arrays"] if "layers" in each["path"])
    assert (weights["path"], weights["arrays"]) == ("params['layers'][*]['w']", 4)
    assert (weights["spec"], weights["copies"]) == ("('data', None)", 2)
    gathered = [each for each in step["moved"] if each["reason"] == "argument"]
    assert sum(each["bytes"] for each in gathered) == 4 * 512 * 512 * 4 * 3 // 4
    assert {each["location"]["line"] for each in gathered} == {
        line_of(path, "x = jnp.tanh(x @ layer")
    }


def test_the_gate_finds_what_moves_more_than_in_the_baseline(tmp_path: Path) -> None:
    path = write(tmp_path, "train.py", TRAINED)
    for run, status in (("out", 0), ("again", 0)):  # identical runs have no changes
        doctor("-o", run, path, cwd=tmp_path)
        update = ["--update-baseline"] if run == "out" else []
        asked = python("-m", "xladoctor", "gate", *update, run, cwd=tmp_path)
        assert asked.status == status, asked.stdout
    assert "changes of shardings since the baseline 0" in asked.stdout

    source = TRAINED.replace('512), "data", None)}', '512), "data", "model")}')
    doctor("-o", "more", write(tmp_path, "train.py", f"# changed\n{source}"), cwd=tmp_path)
    asked = python("-m", "xladoctor", "gate", "more", cwd=tmp_path)
    assert asked.status == 1
    assert "params['layers'][*]['w'] in train_step: was ('data', None)" in " ".join(
        asked.stdout.split()
    )
    assert ", now ('data', 'model')" in " ".join(asked.stdout.split())
    told = python("-m", "xladoctor", "compare", "again", "more", cwd=tmp_path).stdout
    assert "Shardings, in a run" in told
