"""A program with torch.compile alone: it stays the same, and is told of as it was."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import LIVE, ROOT, Captured, capture, python, run, write
from xladoctor.doctor import load_evidence

pytestmark = LIVE
OURS = {"PYTHONPATH": str(ROOT)}


def rows(captured: Captured, query: str) -> list[Any]:
    return load_evidence(str(captured.directory)).database.table(query)[1]


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
for number in range(16):
    loss = model(torch.randn(4 + number % 2, 8)).square().mean() + broken(torch.ones(2)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item().hex())
print({name: dict(found) for name, found in counters.items()})
print([(metrics.compile_id, metrics.co_name) for metrics in get_compilation_metrics()])
"""


@pytest.mark.thorough
def test_frames_graphs_and_results_are_the_same(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", PROGRAM)
    alone = python(program)
    captured = capture(tmp_path / "out", program)

    assert alone.status == captured.finished.status == 0
    assert captured.finished.stdout == alone.stdout
    assert not captured.findings("XD902")
    broken = {
        finding["locations"][0]["line"]: finding["count"] for finding in captured.findings("XD314")
    }
    assert broken == {17: 16, 18: 16}
    # By the optimizer, whose first update is not known before: layers are compiled one by one.
    assert 16 <= captured.report["steps"]["count"] <= 18
    assert rows(
        captured,
        "SELECT steps_from, count(*) > 3, bool_and(joined) FROM timeline"
        " JOIN timeline_step USING (process) GROUP BY ALL",
    ) == [("xladoctor.step", True, True)]
    assert rows(captured, "SELECT DISTINCT place FROM eager_op WHERE name = 'aten::addcdiv_'") == [
        ("optimizer",)
    ]

    # The same records of a GPU, which no machine of these tests has: this timeline shows no reads.
    record = captured.process / "process.json"
    record.write_text(record.read_text("utf-8").replace('"CPU:0"', '"CUDA:0"'), "utf-8")
    again = python("-m", "xladoctor", "analyze", captured.directory, "--format", "json")
    on_gpu = json.loads(again.stdout)
    assert "XD201" in captured.report["rules"]["clear"]
    assert "XD201" in on_gpu["rules"]["not_evaluated"]


PROFILED = """
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

torch.manual_seed(0)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = torch.compile(model, backend="eager")
events = []
plan = schedule(wait=12, warmup=1, active=3, repeat=2)
with record_function("all of it"), profile(
    activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=lambda p: events.append(p)
) as profiler:
    for number in range(48):
        with record_function("a label"):
            step(torch.randn(4, 8)).sum().backward()
        optimizer.step()
        profiler.step()
assert torch._C._autograd._profiler_enabled() is False
print([sorted({e.name for e in p.events() if e.name.startswith("a")}) for p in events])
"""


@pytest.mark.thorough
def test_profiles_of_the_program_go_first(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", PROFILED)
    alone = python(program)
    captured = capture(tmp_path / "out", program)

    assert (captured.finished.status, captured.finished.stdout) == (0, alone.stdout)
    assert alone.stdout.count("a label") == 2
    windows = rows(captured, "SELECT of_program, ended_by FROM capture_window ORDER BY begin_ns")
    assert windows == [(False, "the program's own profile"), (True, "the program")]
    assert not captured.findings("XD902")


FORKED = """
import os, torch

model = torch.compile(torch.nn.Linear(8, 8), backend="eager")
for number in range(30):
    model(torch.randn(4, 8)).sum()
    if number == 20:
        if not os.fork():
            model(torch.randn(4, 8))
            os._exit(0)
        os.wait()
"""


def test_window_ends_before_a_fork(tmp_path: Path) -> None:
    captured = capture(tmp_path / "out", write(tmp_path, "train.py", FORKED))

    assert captured.finished.status == 0
    assert rows(captured, "SELECT ended_by FROM capture_window") == [("a fork of the process",)]


def test_no_window_is_asked_for(tmp_path: Path) -> None:
    captured = capture(tmp_path / "out", write(tmp_path, "train.py", FORKED), trace_steps=0)

    assert captured.finished.status == 0
    assert not [*captured.directory.glob("plugins/profile/*/*")]


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


@pytest.mark.thorough
def test_break_is_counted_in_the_calls_that_have_it(tmp_path: Path) -> None:
    captured = capture(tmp_path / "out", write(tmp_path, "train.py", SELDOM))

    assert captured.finished.status == 0
    assert [line["whole"] for line in captured.log_lines("break")] == [False, True]
    assert [line["function"] for line in captured.log_lines("unbroken")] == ["step"]
    # The exception leaves the function to Python from then on.
    (finding,) = captured.findings("XD314")
    assert (finding["locations"][0]["line"], finding["count"]) == (10, 25)


WARMED_UP = """
import torch

@torch.compile(backend="eager", dynamic=False)
def step(weights, inputs):
    weights = weights * 0.9
    torch._dynamo.graph_break()
    return weights + torch.tanh(inputs @ weights).mean()

@torch.compile(backend="eager", dynamic=False)
def whole(weights):
    return weights * 0.9

weights = step(whole(torch.ones(8, 8)), torch.ones(4, 8))
for number in range(12):
    weights = step(weights, torch.ones(4, 8))
for number in range(15):
    weights = whole(weights)
"""


def test_break_counts_wherever_the_function_is_called(tmp_path: Path) -> None:
    captured = capture(tmp_path / "out", write(tmp_path, "train.py", WARMED_UP))

    assert captured.finished.status == 0
    (finding,) = captured.findings("XD314")
    assert (finding["locations"][0]["line"], finding["count"]) == (7, 13)


SCHEDULED = """
import torch

model = torch.nn.Linear(4, 4)
model(torch.ones(4)).sum().backward()
optimizer = torch.optim.SGD(model.parameters(), lr=torch.tensor(0.1))
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=4)

@torch.compile(backend="eager")
def update():
    optimizer.step()
    scheduler.step()

for number in range(12):
    update()
"""


def test_break_that_pytorch_itself_asks_for_is_none_of_the_programs(tmp_path: Path) -> None:
    captured = capture(tmp_path / "out", write(tmp_path, "train.py", SCHEDULED))

    assert captured.finished.status == 0
    assert not [line for line in captured.log_lines("break") if "graph_break()" in line["reason"]]
    assert {finding["locations"][0]["line"] for finding in captured.findings("XD314")} == {11}


PART = """
import torch, xladoctor

step = torch.compile(lambda x: (x * 2).sum(), backend="eager", dynamic=False)
step(torch.ones(2))
with xladoctor.capture("out"):
    for number in range(24):
        step(torch.ones(4 + number % 3))
print(step(torch.ones(4)).item())
"""


@pytest.mark.thorough
def test_part_of_a_program_is_captured_and_read_by_other_commands(tmp_path: Path) -> None:
    done = python(write(tmp_path, "train.py", PART), cwd=tmp_path, env=OURS)

    assert (done.status, done.stdout.splitlines()[-1]) == (0, "8.0"), done.stderr

    def said(status: int, *words: str) -> str:
        told = run(sys.executable, "-m", "xladoctor", *words, cwd=tmp_path, env=OURS)
        assert told.status == status, told.stderr
        return " ".join(told.stdout.split())

    assert "input shape f32[4] → f32[5]" in said(0, "compilations", "out")
    assert "3" in said(0, "query", "out", "SELECT count(*) AS n FROM compilation")
    compared = said(0, "compare", "out", "out")
    assert "unknown: host reads a step (A and B: no record of reads)" in compared
    budget = "--budget", "max_host_syncs_per_step=0"
    assert "host reads not known" in said(3, "gate", "out", *budget)
