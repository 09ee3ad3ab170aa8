"""Programs of JAX and torch.compile that replace functions, raise errors, or pass odd objects."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.live.harness import LIVE, doctor, line_of, python, write

pytestmark = LIVE

#: Replaces what the capture uses by functions that raise if it calls them, and trains.
REPLACED = """
import builtins, json, linecache, os, sys, threading, time, traceback
def refusing(original):
    def refuse(*args, **kwargs):
        if "_xladoctor" in sys._getframe(1).f_code.co_filename:
            raise ZeroDivisionError
        return original(*args, **kwargs)
    return refuse
names = {builtins: ["open", "max", "min", "len", "zip", "sorted", "sum", "any"],
         os: ["open", "write", "replace", "mkdir", "getpid"], os.path: ["join", "abspath"],
         time: ["sleep", "perf_counter_ns", "time_ns", "monotonic"],
         threading: ["get_ident", "current_thread", "Lock"], json: ["dumps", "JSONEncoder"],
         linecache: ["getline"], traceback: ["format_exception"]}
kept = [(module, name, getattr(module, name)) for module in names for name in names[module]]
for module, name, function in kept:
    setattr(module, name, refusing(function))
total = train()
for module, name, function in kept:
    setattr(module, name, function)
print(total)
"""
JAX = """
import jax, jax.numpy as jnp, numpy as np
@jax.jit
def step(weights, inputs):
    return weights * 0.9 + jnp.tanh(inputs @ weights).mean()
def train():
    weights, total = jnp.ones((8, 8)), 0.0
    for number in range(12):
        inputs = np.ones((4 + number // 2, 8), np.float32)
        weights = step(weights, inputs)
        total += weights.sum().item()
    return f"{total:.5g}"
"""
#: Objects whose own methods raise, as arguments; then errors of calls that the capture wraps.
ODD = """
class Odd:
    def __init__(self, number): self.number = number
    def __repr__(self): raise ValueError
    def __eq__(self, other): return self.number == other.number
    def __hash__(self): return self.number
class Unclassed:
    @property
    def __class__(self): raise ValueError
class Tree(Odd):
    pass
jax.tree_util.register_pytree_node(
    Tree, lambda tree: ((tree.number,), Odd(1)), lambda odd, leaves: Tree(leaves[0]))
unclassed = Unclassed()  # among the variables that are searched
scaled = jax.jit(lambda x, odd: x * odd.number, static_argnums=1)
of_tree = jax.jit(lambda tree: tree.number)
for number in range(3):
    scaled(jnp.ones(3), Odd(number))
    of_tree(Tree(jnp.ones(3 + number)))
def bad(x):
    raise ArithmeticError
gone = jnp.ones(3)
gone.delete()
for fails in (lambda: jax.jit(bad)(1.0), lambda: step(), lambda: step(gone, gone),
              lambda: np.asarray(gone), lambda: gone.item(), lambda: jax.device_get(gone),
              lambda: str(gone), lambda: float(jnp.ones(2)), lambda: bool(jnp.ones(2)),
              lambda: jax.device_put(unclassed),
              lambda: jax.jit(float)(1.0), lambda: np.save("/nowhere/x", jnp.ones(2)),
              lambda: jax.profiler.stop_trace(), lambda: jax.config.update("jax_nothing", 1)):
    try:
        fails()
    except Exception:
        traceback.print_exc()
jax.jit(bad)(1.0)
"""
TORCH = """
import torch
@torch.compile(backend="eager", dynamic=False)
def step(weights, inputs):
    return weights * 0.9 + torch.tanh(inputs @ weights).mean()
def train():
    weights, total = torch.ones(8, 8), 0.0
    for number in range(12):
        inputs = torch.ones(4 + number // 2, 8)
        weights = step(weights, inputs)
        total += weights.sum().item()
    return f"{total:.5g}"
"""
FAILING = """
def backend(module, inputs):
    raise ArithmeticError
for fails in (lambda: step(), lambda: step(torch.ones(8, 8), torch.ones(3)),
              lambda: torch.compile(torch.sin, backend=backend)(torch.ones(2)),
              lambda: torch.save([lambda: 1], os.devnull),
              lambda: torch.utils.data.DataLoader([1], batch_size=-1)):
    try:
        fails()
    except Exception:
        traceback.print_exc()
raise ValueError
"""


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(JAX + REPLACED + ODD, id="jax"),
        pytest.param(TORCH + REPLACED + FAILING, id="torch", marks=pytest.mark.thorough),
    ],
)
def test_program_does_as_without_us_and_is_diagnosed(tmp_path: Path, source: str) -> None:
    program = write(tmp_path, "train.py", source)
    report = tmp_path / "report.json"

    alone = python(program)
    captured = doctor("-o", tmp_path / "out", "--format", f"json={report}", program)

    assert captured.status == alone.status == 1
    assert captured.stdout == alone.stdout
    assert without_addresses(captured.stderr) == without_addresses(alone.stderr)
    found = json.loads(report.read_text())
    assert [text for text in found["warnings"] if "machine was busy" not in text] == []
    lines = {
        each["rule"]: [place["line"] for place in each["locations"]] for each in found["findings"]
    }
    assert lines["XD101"] == [line_of(program, "weights = step(")]
    assert "XD902" not in lines


def without_addresses(text: str) -> str:
    """Without what differs between two runs: addresses, instants and process numbers."""
    return re.sub(r"0x[0-9a-f]+|\b[EWI]\d{4} [\d:.]+ \d+", "", text)
