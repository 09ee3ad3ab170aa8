"""What torch.compile compiles in a captured program is what it compiles in a bare one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.harness import LIVE, capture, python, write

pytestmark = LIVE

PROGRAM = """
import sys, warnings
import torch, torch_xla
backend, kind = sys.argv[1:]
device = torch_xla.device()
torch.ones(2).to(device)

def breaks(x):
    y = x * 2
    print("a graph break")
    z = y + y.sum().item()
    if z.sum() > 0:
        z = z * float(z.mean())
    return z + torch.Tensor.cpu(z).sum().item() + z.to("cpu").sum().item()

def whole(x):
    return (x * 2).sin()

def unbound(x):
    return torch.Tensor.cpu(x * 2) + 1

step = torch.compile(globals()[kind], backend=backend, fullgraph=kind == "whole")
given = torch.ones(4, 4).to(device if backend == "openxla" else "cpu")
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    for number in range(3):
        result = step(given + number)
        torch_xla.sync()
print(result.sum().item())
from torch._dynamo.utils import counters, get_compilation_metrics
print({name: dict(counters[name]) for name in ("frames", "stats", "graph_break")})
print([(metrics.compile_id, metrics.co_name) for metrics in get_compilation_metrics()])
print([str(warning.message) for warning in warned])
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kind",
    ["breaks", *(pytest.param(kind, marks=pytest.mark.thorough) for kind in ("whole", "unbound"))],
)
@pytest.mark.parametrize(
    "backend", [pytest.param("inductor", marks=pytest.mark.thorough), "openxla"]
)
def test_frames_compile_ids_and_warnings_are_the_same(
    tmp_path: Path, backend: str, kind: str
) -> None:
    program = write(tmp_path, "train.py", PROGRAM)
    alone = python(program, backend, kind)
    run = capture(tmp_path / "out", program, backend, kind)

    assert alone.status == run.finished.status == 0
    assert run.finished.stdout == alone.stdout
    assert not run.findings("XD902")
