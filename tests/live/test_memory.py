"""What programs hold at their peaks: captured, and held against what the sizes have to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.live.harness import LIVE, doctor, line_of, python, write

pytestmark = LIVE

LAYERS, WIDTH, BATCH = 8, 256, 1024
SCANNED = f"""
import jax, jax.numpy as jnp
from jax import lax

def layer(hidden, weight):
    hidden = jnp.tanh(hidden @ weight)
    return hidden, None

def loss(params, batch):
    hidden, _ = lax.scan(layer, batch, params["w"])
    return (hidden ** 2).mean()

@jax.jit
def step(state, batch):
    value, gradients = jax.value_and_grad(loss)(state["params"], batch)
    moved = jax.tree.map(lambda mu, gradient: 0.9 * mu + gradient, state["mu"], gradients)
    params = jax.tree.map(lambda old, mu: old - 0.1 * mu, state["params"], moved)
    return {{"params": params, "mu": moved}}, value

params = {{"w": jnp.full(({LAYERS}, {WIDTH}, {WIDTH}), 0.01)}}
state = {{"params": params, "mu": jax.tree.map(jnp.zeros_like, params)}}
batch = jnp.ones(({BATCH}, {WIDTH}))
for _ in range(6):
    state, value = step(state, batch)
print(float(value))
"""
TRAINED = """
import torch, torch_xla
from torch import nn

device = torch_xla.device()
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batch = torch.ones(512, 256, device=device)
for _ in range(6):
    optimizer.zero_grad()
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    torch_xla.sync()
print(float(loss.cpu()))
"""


def memory(folder: Path, run: str = "out") -> dict[str, Any]:
    asked = python("-m", "xladoctor", "memory", run, "--format", "json", cwd=folder)
    assert asked.status == 0, asked.stderr
    found: dict[str, Any] = json.loads(asked.stdout)["programs"][0]
    return found


def of_role(program: dict[str, Any], role: str) -> dict[int | None, int]:
    """Bytes by line."""
    return {
        each["location"] and each["location"]["line"]: each["bytes"]
        for each in program["held"]
        if each["role"] == role
    }


def test_a_scanned_step_of_jax(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", SCANNED)
    doctor("-o", "out", program, cwd=tmp_path)
    step = memory(tmp_path)
    weights, stacked = LAYERS * WIDTH * WIDTH * 4, LAYERS * BATCH * WIDTH * 4
    assert step["name"] == "step"
    assert step["location"]["line"] == line_of(program, "state, value = step(")
    assert of_role(step, "parameters") == of_role(step, "optimizer state") == {None: weights}
    kept = of_role(step, "activation")
    assert kept[line_of(program, "hidden = jnp.tanh")] >= stacked
    assert set(kept) <= {
        line_of(program, "hidden = jnp.tanh"),
        line_of(program, "hidden, _ = lax.scan"),
    }
    assert sum(each["bytes"] for each in step["held"]) == step["bytes"]

    healed = write(
        tmp_path, "healed.py", SCANNED.replace("scan(layer", "scan(jax.checkpoint(layer)")
    )
    doctor("-o", "less", healed, cwd=tmp_path)
    less = memory(tmp_path, "less")
    assert less["bytes"] <= step["bytes"] - stacked / 2
    told = python("-m", "xladoctor", "compare", "out", "less", cwd=tmp_path).stdout
    assert "Memory of step at its peak" in told


def test_a_step_of_torch_xla(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", TRAINED)
    doctor("-o", "out", program, cwd=tmp_path)
    step = memory(tmp_path)
    assert step["location"]["line"] == line_of(program, "torch_xla.sync()")
    weights = 2 * 256 * 1024 * 4
    hidden = 512 * 1024 * 4
    forward = of_role(step, "temporary")
    assert forward[line_of(program, "loss = model(batch)")] >= hidden
    assert sum(of_role(step, "argument").values()) >= weights
    assert sum(each["bytes"] for each in step["held"]) == step["bytes"]


def test_what_came_from_a_cache_on_disk_says_as_much(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", SCANNED)
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    for run in ("first", "second"):
        doctor("-o", run, program, cwd=tmp_path, env=cache)
    first, second = memory(tmp_path, "first"), memory(tmp_path, "second")
    assert second["bytes"] == first["bytes"]
    assert of_role(second, "activation") == of_role(first, "activation")
