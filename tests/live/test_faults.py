"""A fault of the capture, wherever it is, never reaches the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.harness import LIVE, doctor, write

pytestmark = LIVE

#: Every function that the capture calls raises, one after the other, while the program computes.
FAILING = """
import sys, types

class Injected(Exception):
    pass

def raising(*args, **kwargs):
    _raised.append(_injected)
    raise _injected("in the capture")

#: What handles faults itself, and what asks for an attribute only.
BOUNDARIES = {
    "Calls.note", "Calls.line", "Calls.outermost", "Calls.is_inside", "Calls._enter", "Calls.read",
    "Calls.upload", "Events.read_left", "Events.barrier_left", "Events.entering", "Events.saving",
    "Events.saved", "Events.annotation", "Events.annotates", "Events.awake", "Events.enough",
    "Timeline.active", "Compiling._miss", "_caller", "hide_frames", "_is_of_dynamo",
    "Adapter._optimizer_begins", "Adapter._optimizer_stepped", "Calls._record",
    "Lowering._before_barrier", "Lowering._before_read", "Lowering._look",
}

def functions():
    for name, module in sorted(sys.modules.items()):
        if name.startswith("_xladoctor") and not name.endswith("originals"):
            for value in vars(module).values():
                members = vars(value).values() if isinstance(value, type) else [value]
                for member in members:
                    member = getattr(member, "fget", None) or member
                    plain = isinstance(member, types.FunctionType) and member.__module__ == name
                    if plain and not member.__code__.co_freevars:
                        yield member

called, raised = set(), []
expected = train()
sys.setprofile(lambda frame, *_: called.add(frame.f_code))
train()
sys.setprofile(None)
from _xladoctor import session
for function in [*functions()]:
    if function.__code__ not in called or function.__qualname__ in BOUNDARIES:
        continue
    for each in session.captures:
        each._recorder.off = False
    code = function.__code__
    function.__globals__.update(_raised=raised, _injected=Injected)
    function.__code__ = raising.__code__
    try:
        if train() != expected:
            print("another result:", function.__module__, function.__qualname__)
    except Exception as error:
        print(repr(error), function.__module__, function.__qualname__)
    finally:
        function.__code__ = code
print(len(raised) > 50)
"""

PROGRAMS = {
    "jax": """
import io, pickle
import jax, jax.numpy as jnp, numpy as np
step = jax.jit(lambda w, x: w * 0.9 + (x @ w).mean())
def train():
    step.clear_cache()
    weights = jnp.ones((4, 4))
    with jax.debug_nans(False), jax.profiler.StepTraceAnnotation("step", step_num=1):
        for size in (2, 2, 3):
            weights = step(weights, np.ones((size, 4), np.float32))
            jax.block_until_ready(weights)
            total = jax.device_get(weights).sum() + weights.sum().item() + len(str(weights))
    pickle.dump(weights, io.BytesIO())
    jax.config.update("jax_debug_nans", False)
    return float(total)
""",
    "torch": """
import torch
from torch.utils.data import DataLoader
@torch.compile(backend="eager", dynamic=False)
def step(weights, inputs):
    torch._dynamo.graph_break()
    return weights * 0.9 + (inputs @ weights).mean()
layer = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(layer.parameters(), 0.0)
def train():
    torch._dynamo.reset()
    weights = torch.ones(4, 4)
    for size in (2, 2, 3):
        weights = step(weights, torch.ones(size, 4))
        layer(weights).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return weights.sum().item() + sum(map(len, DataLoader([1, 2], batch_size=1)))
""",
    "torch_xla": """
import io
import torch, torch_xla
import torch_xla.core.xla_model as xm
from torch.utils.data import DataLoader
device = torch_xla.device()
layer = torch.nn.Linear(4, 4).to(device)
optimizer = torch.optim.SGD(layer.parameters(), 0.0)
def train():
    weights = torch.ones(4, 4).to(device)
    for _ in DataLoader([1, 2], batch_size=1):
        weights = weights * 0.9
        xm.add_step_closure(lambda: None)
        layer(weights).sum().backward()
        xm.optimizer_step(optimizer)
        optimizer.zero_grad()
        torch_xla.sync()
        total = weights.sum().item() + len(str(weights)) + bool(weights.cpu().any())
    torch.save(weights, io.BytesIO())
    return total
""",
}


@pytest.mark.thorough
@pytest.mark.parametrize("framework", PROGRAMS)
def test_no_fault_of_the_capture_reaches_the_program(tmp_path: Path, framework: str) -> None:
    program = write(tmp_path, "program.py", PROGRAMS[framework] + FAILING)

    done = doctor("-o", "out", "--format", "terminal=report.txt", program, cwd=tmp_path)

    assert done.stdout == "True\n", done.stderr
