"""What the installed PyTorch logs of its compilations is read, with the lines that need guards."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.live.harness import line_of, python, write
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
]
PROGRAM = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def forward(self, x):
        self.seen += 1
        return x * self.seen

def chosen(x, mode):
    if mode == "mode 0":
        return x + 1
    return x - 1

@torch.compile(backend="eager")
def work(x, mode):
    return chosen(x.cos(), mode)

@torch.compile(backend="eager")
def read(x):
    y = x.sin()
    return y * y.max().item()

@torch.compile(backend="eager", dynamic=False)
def sized(x):
    return x * x.shape[0]

@torch.compile(backend="eager", dynamic=False, fullgraph=True)
def whole(x):
    return x + x.shape[0]

model = torch.compile(Model(), backend="eager")
for step in range(5):
    model(torch.ones(3))
    work(torch.ones(3), f"mode {step}")
    read(torch.ones(3))
    sized(torch.ones(step + 3))
for size in range(20):
    whole(torch.ones(size + 3))
"""
#: The lines that are guilty.
LINES = {
    "XD104": ("self.seen += 1", 'if mode == "mode 0"'),
    "XD314": ("return y * y.max()",),
    "XD116": ('@torch.compile(backend="eager", dynamic=False, fullgraph=True)',),
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """The program, the folder of its structured log, and what it printed, with its text log."""
    folder = tmp_path_factory.mktemp("dynamo")
    program = write(folder, "train.py", PROGRAM)
    traces, printed = folder / "traces", folder / "printed.log"
    logging = {"TORCH_TRACE": str(traces), "TORCH_LOGS": "recompiles,graph_breaks"}
    done = python(program, env=logging)
    assert "FailOnRecompileLimitHit" in done.stderr
    printed.write_text(done.stdout + done.stderr, encoding="utf-8")
    return program, traces, printed


@pytest.mark.parametrize("of", [pytest.param("structured", marks=pytest.mark.thorough), "text"])
def test_logs_name_the_lines_that_need_the_guards(logs: tuple[Path, Path, Path], of: str) -> None:
    program, traces, printed = logs
    evidence = load_evidence(str(traces if of == "structured" else printed))
    findings = diagnose(evidence, load_rules()).findings

    for rule, lines in LINES.items():
        named = {finding.locations[0].line for finding in findings if finding.rule == rule}
        assert named == {line_of(program, line) for line in lines}, rule
    (limit,) = [finding for finding in findings if finding.rule == "XD116"]
    assert "ended the run with an error" in limit.message
    assert not any("skipped" in note for note in evidence.notes)
    assert ("self.seen", "0", "1") in evidence.database.table(
        "SELECT argument, was, now FROM key_change WHERE what = 'static'"
    )[1]
