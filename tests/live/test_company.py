"""Programs that fork, compile or profile by themselves work under capture."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from tests.live.harness import LIVE, ON_DEVICE, Captured, capture, python, write

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
#: As the profiling guide of torch_xla has it: a server, labels, and profiles from inside.
PROFILES = f"""{ON_DEVICE}
import time
import torch_xla.debug.profiler as xp
how, logdir, first, last = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
if how == "server":
    server = xp.start_server({{port}})
for step in range(40):
    if step == first and how == "server":
        xp.trace_detached("localhost:{{port}}", logdir, duration_ms=600)
    elif step == first:
        xp.start_trace(logdir)
    if step == last:
        xp.stop_trace()
    with xp.Trace("update"):
        weights = weights * 0.9
    torch_xla.sync()
    time.sleep(0.05 if how == "server" else 0)
"""


def test_workers_that_are_forked_for_loading_leave_no_process_folder(tmp_path: Path) -> None:
    run = capture(tmp_path / "out", write(tmp_path, "train.py", FORKS), cwd=tmp_path)

    assert run.finished.status == 0
    assert run.finished.stdout == f"{2.0 * sum(range(64))}\n"
    assert run.report["run"]["processes"] == len(list(run.directory.glob("process-*"))) == 1
    assert run.report["steps"]["count"] == 16
    assert run.report["time"]["parts"]["input_s"] > 0
    assert run.notes == []


@pytest.mark.thorough
def test_compiled_program_makes_as_many_graphs_as_without_us(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", COMPILES)

    bare = python(program)
    run = capture(tmp_path / "out", program, cwd=tmp_path)

    assert bare.stdout == run.finished.stdout == "1 graphs\n1 compilations\n"
    assert run.report["findings"] == []
    assert run.notes == []
    assert '"reads"' not in (run.process / "steps.jsonl").read_text()  # dynamo's own wait


def profiled(tmp_path: Path, how: str, *steps: int) -> Captured:
    """Captured while it profiles itself from one step to another; it gets its own trace."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        source = PROFILES.replace("{port}", str(free.getsockname()[1]))
    logs = tmp_path / "logs"
    program = write(tmp_path, "train.py", source)
    run = capture(tmp_path / "out", program, how, logs, *map(str, steps), cwd=tmp_path)
    assert run.finished.status == 0
    assert len(list(logs.glob("plugins/profile/*/*.xplane.pb"))) == (steps[1] < 40)
    assert run.report["steps"]["count"] == 40
    return run


@pytest.mark.parametrize(
    ("how", "steps"),
    [
        pytest.param("session", (5, 25), marks=pytest.mark.thorough),
        ("server", (5, -1)),
    ],
)
def test_profile_that_a_program_takes_of_itself_is_its_timeline(
    tmp_path: Path, how: str, steps: tuple[int, int]
) -> None:
    run = profiled(tmp_path, how, *steps)

    (told,) = run.notes
    assert re.search(
        r": the timeline is the profile that the program took of itself \(\d+ steps\)", told
    )
    (label,) = run.report["labels"]
    assert label["path"] == "update"
    assert label["count"] >= 5
    assert "XD601" not in {rule["rule"] for rule in run.report["not_checked"]}


@pytest.mark.thorough
def test_profile_of_warm_up_leaves_the_window_to_the_steps_after_it(tmp_path: Path) -> None:
    run = profiled(tmp_path, "session", 0, 2)

    (told,) = run.notes
    assert told.endswith(
        "profiled itself, too (2 steps): --session out-program reads that timeline"
    )
    assert "XD901" not in {finding["rule"] for finding in run.report["findings"]}


@pytest.mark.thorough
def test_profile_that_is_never_ended_is_why_there_is_no_timeline(tmp_path: Path) -> None:
    run = profiled(tmp_path, "session", 0, 40)

    (told,) = run.notes
    assert "the program's own profile was not ended" in told
    assert "XD901" not in {finding["rule"] for finding in run.report["findings"]}
