"""Uploads and saves with their lines, and the lines at which samples find Python."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import LIVE, ON_DEVICE, Captured, capture, command, line_of, write
from tests.support import read_call_sites, rows
from tests.xspace import reference
from xladoctor.evidence.load import load
from xladoctor.ingest.host_samples import read_host_samples
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.step_log import StepLog, facts_of

pytestmark = [*LIVE, pytest.mark.xdist_group("uploads saves samples")]

STEPS, EVERY = 60, 20
TRAIN = f"""
import json
import time
import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch.utils.data import DataLoader, Dataset
from torch_xla.utils import serialization


class Images(Dataset):
    def __len__(self):
        return 4 * {STEPS}

    def __getitem__(self, index):
        total = 0
        for pixel in range(20_000): total += pixel  # crop
        return torch.ones(8)


class Wrapped:
    def __init__(self, state):
        self.state = state


device = torch_xla.device()
model = torch.nn.Linear(8, 8).to(device)
spent = 0.0
for step, batch in enumerate(DataLoader(Images(), batch_size=4)):
    inputs = batch.to(device)
    loss = model(inputs).square().mean()
    loss.backward()
    torch_xla.sync()
    total = 0
    for word in range(200_000): total += word  # tokenize
    torch.save(batch, "batch.pt")
    xm.save([batch], "batches.pt")
    if step % {EVERY} == {EVERY} - 1:
        began = time.perf_counter()
        torch.save(Wrapped([model.state_dict()]), "model.pt")
        xm.save(model.state_dict(), "xm.pt")
        serialization.save(model.state_dict(), "xser.pt")
        torch.save({{"norm": (model.weight * step).norm()}}, "norm.pt")  # is computed here
        spent += time.perf_counter() - began
assert torch.equal(torch.load("xm.pt")["weight"], model.weight.detach().cpu())
print(json.dumps(spent))
"""
IN_THE_BACKGROUND = """
import torch
import torch_xla
from torch.utils.data import DataLoader, Dataset
from torch_xla.distributed.parallel_loader import MpDeviceLoader


class Images(Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, index):
        total = 0
        for pixel in range(200_000): total += pixel  # crop
        return torch.ones(8)


device = torch_xla.device()
weights = torch.ones(8, 8).to(device)
for batch in MpDeviceLoader(DataLoader(Images(), batch_size=2), device):
    weights = weights + batch.sum()
"""
#: Moves to a device and back, and a change of type, which moves nothing.
MOVES = f"""{ON_DEVICE}
for step in range(10):
    inputs = torch.ones(4, 8).to(device)
    wide = inputs.to(torch.float64)
    weights = weights * 0.9 + wide.mean().to(torch.float32)
    torch_xla.sync()
    total = weights.to("cpu").sum()
"""
#: The interval is the program's own where its threads compete, and in forked children.
INTERVALS = f"""{ON_DEVICE}
import threading

def count(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

def steps(seconds):
    for _ in range(20):
        weights.add_(1)
        torch_xla.sync()
        count(seconds / 20)

before = sys.getswitchinterval()
steps(0.5)
child = os.fork()
if child == 0:
    os._exit(0 if sys.getswitchinterval() == before else 1)
print(os.waitpid(child, 0)[1])
competing = True

def compete():
    while competing:
        pass

rival = threading.Thread(target=compete)
rival.start()
last = time.perf_counter() + 60
while sys.getswitchinterval() != before and time.perf_counter() < last:
    steps(0.2)
print(sys.getswitchinterval() == before)
competing = False
rival.join()
"""
UNUSED = {
    "no tensor": "import torch_xla\n",
    "saves on the host": 'import torch, torch_xla\ntorch.save(torch.ones(4), "ones.pt")\n',
}
NO_STEPS = {
    "saves without a step": ON_DEVICE + 'torch.save(weights, "weights.pt")\n',
    "one step": ON_DEVICE + "weights.add_(1)\ntorch_xla.sync()\ntime.sleep(0.1)\n",
    "no barrier": ON_DEVICE + "for _ in range(20): (weights + 1).sum().item(); time.sleep(0.01)\n",
}


def read(run: Captured) -> dict[str, list[dict[str, Any]]]:
    """The tables that a run's step log and samples fill."""
    ingested = Ingested()
    sites = read_call_sites((run.process / "call_sites.json").read_text())
    with (run.process / "steps.jsonl").open() as lines:
        log = StepLog(sites, facts_of(lines, "steps.jsonl", ingested.of(0)))
    log.tables().move(ingested.of(0))
    samples = run.process / "host_samples.json"
    read_host_samples(samples, sites, set(), set(), ingested.of(0))
    assert ingested.notes == []
    tables = {name: rows(columns) for name, columns in ingested.tables.items()}
    return {
        **tables,
        "compilation": [each._asdict() | each.site.columns() for each in log.compiled],
    }


def by_line(table: list[dict[str, Any]], column: str) -> Counter[int]:
    """The sum of a column for each line."""
    sums: Counter[int] = Counter()
    for row in table:
        sums[row["line"]] += row[column]
    return sums


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    folder = tmp_path_factory.mktemp("uploads_saves_samples")
    return capture(folder / "out", write(folder, "train.py", TRAIN), cwd=folder)


@pytest.fixture(scope="module")
def tables(run: Captured) -> dict[str, list[dict[str, Any]]]:
    assert run.finished.status == 0, run.finished.stderr
    return read(run)


@pytest.fixture
def save_lines(run: Captured) -> list[int]:
    starts = ("torch.save(Wrapped", "xm.save(model", "serialization.save(", "torch.save({")
    return [line_of(run.program, start) for start in starts]


# Uploads


def test_uploads_have_their_line_and_bytes(
    run: Captured, tables: dict[str, list[dict[str, Any]]]
) -> None:
    line = line_of(run.program, "inputs = batch.to")
    model = line_of(run.program, "model = ")

    assert by_line(tables["upload"], "count") == {line: STEPS, model: 2}
    assert by_line(tables["upload"], "bytes") == {line: STEPS * 4 * 8 * 4, model: (64 + 8) * 4}
    in_steps = sum(step["upload_ns"] for step in tables["step"])
    assert 0 < in_steps == sum(by_line(tables["upload"], "duration_ns").values())


# Saves


def test_saves_of_the_device_s_state_are_counted_once_each(
    tables: dict[str, list[dict[str, Any]]], save_lines: list[int]
) -> None:
    saves = STEPS // EVERY
    assert by_line(tables["state_save"], "count") == dict.fromkeys(save_lines, saves)
    first = sorted(row["step"] for row in tables["state_save"] if row["line"] == save_lines[0])
    assert first == [EVERY, 2 * EVERY, 3 * EVERY]


def test_reads_inside_a_save_are_not_reported_again(
    run: Captured, tables: dict[str, list[dict[str, Any]]], save_lines: list[int]
) -> None:
    at_the_end = line_of(run.program, "assert torch")
    assert set(by_line(tables["host_sync"], "count")) == {at_the_end}


def test_time_of_saves_is_what_the_program_measures_without_compilation(
    run: Captured, tables: dict[str, list[dict[str, Any]]], save_lines: list[int]
) -> None:
    measured_ns = 1e9 * json.loads(run.finished.stdout)
    compiled = [row for row in tables["compilation"] if row["during"] == "save"]
    saved_ns = sum(row["duration_ns"] for row in tables["state_save"])

    assert by_line(compiled, "duration_ns")[save_lines[-1]] > 0
    compile_ns = sum(row["duration_ns"] for row in compiled)
    assert 0.8 * measured_ns < saved_ns + compile_ns < measured_ns
    assert saved_ns == sum(step["save_ns"] for step in tables["step"])
    assert sum(step["compile_ns"] for step in tables["step"]) >= compile_ns


# Samples


def test_samples_name_the_slow_line_of_the_loop(
    run: Captured, tables: dict[str, list[dict[str, Any]]]
) -> None:
    elsewhere = [row for row in tables["host_sample"] if row["doing"] is None]
    counts = by_line(elsewhere, "count")
    slow = line_of(run.program, "for word in")

    assert counts.most_common(1)[0][0] == slow
    assert counts.total() > 20
    assert all(row["main"] for row in elsewhere)
    own = [row for row in elsewhere if row["file"] == str(run.program) and row["line"] == slow]
    # The collector may run at any line, and call what the framework left behind there.
    in_framework = sum(row["count"] for row in own if row["in_framework"])
    assert in_framework < 0.1 * sum(row["count"] for row in own)


def test_samples_name_the_slow_line_of_the_data_set(
    run: Captured, tables: dict[str, list[dict[str, Any]]]
) -> None:
    batch = [row for row in tables["host_sample"] if row["doing"] == "batch"]
    assert by_line(batch, "count").most_common(1)[0][0] == line_of(run.program, "for pixel in")


def test_loaders_threads_are_sampled_as_making_the_batch(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("in_the_background")
    run = capture(folder / "out", write(folder, "train.py", IN_THE_BACKGROUND), cwd=folder)
    samples = [row for row in read(run)["host_sample"] if row["doing"] == "batch"]

    making = by_line([row for row in samples if not row["main"]], "count")
    waiting = by_line([row for row in samples if row["main"]], "count")
    assert making.most_common(1)[0][0] == line_of(run.program, "for pixel in")
    assert waiting.most_common(1)[0][0] == line_of(run.program, "for batch in")
    assert any(row["in_framework"] for row in samples if row["main"])


@pytest.mark.thorough
def test_sampling_leaves_the_interpreter_s_switch_interval_to_the_program(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("intervals")
    run = capture(folder / "out", write(folder, "intervals.py", INTERVALS), cwd=folder)

    assert run.finished.stdout.split() == ["0", "True"]
    assert not (run.process / "faults.log").exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["no tensor", pytest.param("saves on the host", marks=pytest.mark.thorough)]
)
def test_programs_that_use_no_device_leave_no_trace(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("unused")
    run = command(folder / "out", write(folder, "program.py", UNUSED[name]), cwd=folder)

    assert list(run.directory.glob("process-*")) == []
    assert "no computation ran on an XLA device" in run.finished.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("name", NO_STEPS)
def test_programs_without_steps_have_no_samples_of_a_loop_and_no_faults(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("no_steps")
    run = capture(folder / "out", write(folder, "program.py", NO_STEPS[name]), cwd=folder)

    assert "Traceback" not in run.finished.stderr
    assert not (run.process / "faults.log").exists()
    samples = json.loads((run.process / "host_samples.json").read_text())["samples"]
    assert ("loop" in {sample["phase"] for sample in samples}) == (name == "no barrier")  # reads
    saved = [row["line"] for row in read(run).get("state_save", [])]
    assert saved == ([line_of(run.program, "torch.save")] if name == "saves without a step" else [])


# The timeline


def test_waits_and_saves_stand_in_the_timeline_with_their_lines(
    run: Captured, save_lines: list[int]
) -> None:
    (file,) = run.directory.glob("plugins/profile/*/*.xplane.pb")
    events = reference.read(file.read_bytes())
    places = {
        name: {(event.stat("file"), event.stat("line")) for event in events if event.name == name}
        for name in ("xladoctor.input", "xladoctor.save")
    }
    program = str(run.program)

    assert places["xladoctor.input"] == {(program, line_of(run.program, "for step, batch"))}
    host = ("torch.save(batch", "xm.save([batch]")
    lines = [*save_lines, *(line_of(run.program, text) for text in host)]
    assert places["xladoctor.save"] == {(program, line) for line in lines}


@pytest.mark.thorough
def test_moves_are_regions_of_the_loop_with_their_lines(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("moves")
    program = write(folder, "moves.py", MOVES)
    run = capture(folder / "out", program, cwd=folder, trace_after=0)
    calls = load(str(run.directory)).database.rows(
        "SELECT region, file, line, count(DISTINCT call) AS calls FROM host_segment"
        " WHERE step > 0 AND region <> 'barrier' GROUP BY ALL ORDER BY line"
    )
    to_device, to_host = (line_of(run.program, text) for text in ("inputs =", "total ="))

    assert [tuple(row.values()) for row in calls] == [
        ("upload", str(run.program), to_device, 9),
        ("read", str(run.program), to_host, 9),
    ]


HELD = """
    import sys, threading, time
    import torch, torch_xla
    from torch_xla.debug import metrics
    from _xladoctor.call_site import CallSites

    place = CallSites.place

    def slowly(self, frame):
        if threading.get_ident() != threading.main_thread().ident:
            time.sleep(0.002)  # hands the interpreter over, as happens on a busy machine
        return place(self, frame)

    def forward(inputs):
        hidden = torch.tanh(inputs @ weights)
        for _ in range(30_000):  # in which samples are taken
            pass
        return hidden.sum()

    CallSites.place = slowly
    weights = torch.ones(64, 64).to(torch_xla.device())
    total = torch.zeros(()).to(torch_xla.device())
    for _ in range(600):
        total = total + forward(weights)
        torch_xla.sync()
    print(metrics.metric_data("CompileTime")[0])
"""


@pytest.mark.thorough
def test_tensors_of_sampled_frames_are_no_outputs_of_the_graph(tmp_path: Path) -> None:
    run = capture(tmp_path / "run", write(tmp_path, "held.py", HELD))
    assert run.finished.stdout == "2\n", run.finished.stderr
