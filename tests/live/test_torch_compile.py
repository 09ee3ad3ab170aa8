"""A program with torch.compile alone: it stays the same, and is told of as it was."""

from __future__ import annotations

import json
from pathlib import Path

from tests.live.harness import LIVE, capture, python, write

pytestmark = LIVE

PROGRAM = """
import torch, warnings
from torch._dynamo.utils import counters, get_compilation_metrics

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x

def breaks(x):
    y = x * 2
    print("a graph break")
    return y + y.sum().item()

warnings.simplefilter("error")
torch.manual_seed(0)
model = Model()
for layer in model.layers:
    layer.compile(backend="aot_eager")
optimizer = torch.optim.Adam(model.parameters())
broken = torch.compile(breaks, backend="eager")
for number in range(12):
    loss = model(torch.randn(4 + number % 2, 8)).square().mean() + broken(torch.ones(2)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item().hex())
print({name: dict(found) for name, found in counters.items()})
print([(metrics.compile_id, metrics.co_name) for metrics in get_compilation_metrics()])
"""


def test_frames_graphs_and_results_are_the_same(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", PROGRAM)
    alone = python(program)
    run = capture(tmp_path / "out", program)

    assert alone.status == run.finished.status == 0
    assert run.finished.stdout == alone.stdout
    assert not run.findings("XD902")
    broken = {
        finding["locations"][0]["line"]: finding["count"] for finding in run.findings("XD314")
    }
    assert broken == {17: 12, 18: 12}
    # By the optimizer, whose first update is not known before: layers are compiled one by one.
    assert 12 <= run.report["steps"]["count"] <= 14

    # The same records of a GPU, which no machine of these tests has: reads are not recorded there.
    record = run.process / "process.json"
    record.write_text(record.read_text("utf-8").replace('"CPU:0"', '"CUDA:0"'), "utf-8")
    again = python("-m", "xladoctor", "analyze", run.directory, "--format", "json")
    on_gpu = json.loads(again.stdout)
    assert "XD201" in run.report["rules"]["clear"]
    assert "XD201" in on_gpu["rules"]["not_evaluated"]


SELDOM = """
import torch

@torch.compile(backend="eager")
def step(x, say):
    y = x * 2
    if say == 3:
        print("a graph break")
    if say == 5:
        raise ValueError("five")
    return y.sum()

total = 0
for number in range(30):
    try:
        total += step(torch.ones(4), number if number in (3, 5) else 0)
    except ValueError as error:
        print(error)
print(total.item())
"""


def test_break_is_counted_in_the_calls_that_have_it(tmp_path: Path) -> None:
    run = capture(tmp_path / "out", write(tmp_path, "train.py", SELDOM))

    assert run.finished.status == 0
    assert [line["whole"] for line in run.log_lines("break")] == [False, True]
    assert [line["function"] for line in run.log_lines("unbroken")] == ["step"]
    # The exception leaves the function to Python from then on.
    (finding,) = run.findings("XD314")
    assert (finding["locations"][0]["line"], finding["count"]) == (10, 25)
