"""Programs that fork, compile or profile by themselves work under capture."""

from __future__ import annotations

from pathlib import Path

from tests.live.harness import LIVE, ON_DEVICE, capture, python, write

pytestmark = LIVE

FORKS = f"""{ON_DEVICE}
from torch.utils.data import DataLoader
total = torch.zeros(1).to(device)
loader = DataLoader(torch.arange(64.0), batch_size=8, num_workers=2,
                    multiprocessing_context="fork")
for epoch in range(2):
    for batch in loader:
        total += batch.to(device).sum()
        torch_xla.sync()
print(total.item())
"""
COMPILES = f"""{ON_DEVICE}
import torch._dynamo
@torch.compile(backend="openxla")
def advance(weights):
    return torch.tanh(weights @ weights) * 0.5
for step in range(12):
    weights = advance(weights)
    torch_xla.sync()
print(torch._dynamo.utils.counters["stats"]["unique_graphs"], "graphs")
print(torch_xla._XLAC._xla_counter_value("UncachedCompile"), "compilations")
"""
PROFILES = f"""{ON_DEVICE}
import torch_xla.debug.profiler as xp
for step in range(20):
    if step == 5:
        xp.start_trace(sys.argv[1])
    weights = weights * 0.9
    torch_xla.sync()
xp.stop_trace()
"""


def test_workers_that_are_forked_for_loading_leave_no_process_folder(tmp_path: Path) -> None:
    run = capture(tmp_path / "out", write(tmp_path, "train.py", FORKS), cwd=tmp_path)

    assert run.finished.status == 0
    assert run.finished.stdout == f"{2.0 * sum(range(64))}\n"
    assert run.report["run"]["processes"] == len(list(run.directory.glob("process-*"))) == 1
    assert run.report["steps"]["count"] == 16
    assert run.report["time"]["parts"]["input_s"] > 0
    assert run.report["warnings"] == []


def test_compiled_program_makes_as_many_graphs_as_without_us(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", COMPILES)

    bare = python(program)
    run = capture(tmp_path / "out", program, cwd=tmp_path)

    assert bare.stdout == run.finished.stdout == "1 graphs\n1 compilations\n"
    assert run.report["findings"] == []
    assert run.report["warnings"] == []
    assert '"reads"' not in (run.process / "steps.jsonl").read_text()  # dynamo's own wait


def test_program_that_profiles_itself_gets_its_own_trace(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", PROFILES)

    run = capture(tmp_path / "out", program, tmp_path / "logs", cwd=tmp_path)

    assert run.finished.status == 0
    assert len(list(tmp_path.glob("logs/plugins/profile/*/*.xplane.pb"))) == 1
    assert len(list(run.directory.glob("plugins/profile/*/*.xplane.pb"))) == 1  # the first steps
    assert run.report["steps"]["count"] == 20
    assert run.report["warnings"] == []
