"""Figures of a report against those of the program or of torch_xla itself."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from tests.live.harness import EXAMPLES, LIVE, Captured, Captures, capture, write
from xladoctor.evidence.database import Database
from xladoctor.evidence.load import load

pytestmark = LIVE

#: Programs in which graphs are compiled in barriers, in reads, and in autograd's own thread.
COMPILING = ["recompiling", "dynamic_shape", "missing_barrier_growing", "scalar_read"]
LONG = {
    "dynamic_shape",
    "missing_barrier_growing",
    "tensor_transfer",
    "scalar_read",
    "printing",
}  # thorough
#: Times its own steps, which are long against what the machine may do besides.
STEADY = """
    import statistics, time
    import torch
    import torch_xla

    weights = torch.ones(8, 8).to(torch_xla.device())
    times = []
    for step in range(40):
        begin = time.perf_counter()
        time.sleep(0.02)  # loading a batch
        weights = weights * 0.9
        torch_xla.sync()
        times.append(time.perf_counter() - begin)
    print(1e3 * statistics.median(times[3:]))
    """
#: An agent: each turn reads its action, each tenth trains. What a turn reads launches its graph.
ACTS = """
    import torch
    import torch_xla

    policy = torch.ones(4, 2).to(torch_xla.device()).requires_grad_()
    optimizer = torch.optim.SGD([policy], lr=0.1)
    seen = torch.randn(1, 4)
    for turn in range(60):
        action = (seen.to(policy.device) @ policy).argmax(1).cpu()
        if turn % 10 == 9:
            policy.square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        torch_xla.sync()
    """
#: After the step's barrier, a read that launches, and the barrier of a loader.
TWO_BARRIERS = """
    import torch
    import torch_xla

    weights = torch.ones(8, 8).to(torch_xla.device())

    def batches():
        for step in range(30):
            yield step
            torch_xla.sync()

    for step in batches():
        weights = weights * 0.9
        torch_xla.sync()
        (weights + 1).sum().item()
    torch_xla.sync()
    """
#: One barrier, after a loop that reads cut.
BARRIER_AT_THE_END = """
    import torch
    import torch_xla

    weights = torch.ones(8, 8).to(torch_xla.device())
    for step in range(30):
        weights = weights * 0.9
        weights.sum().item()
    torch_xla.sync()
    """


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(
            name,
            marks=[
                pytest.mark.xdist_group(name),
                *[pytest.mark.thorough] * (name in LONG),
            ],
        )
        for name in COMPILING
    ],
)
def compiling(request: pytest.FixtureRequest, captured: Captures) -> tuple[Captured, Database]:
    """A captured example that compiles, and its evidence."""
    run = captured(EXAMPLES / f"{request.param}.py")
    return run, load(str(run.directory)).database


def metric(database: Database, name: str) -> dict[str, Any]:
    """A metric of torch_xla's own report at the end of the program."""
    (row,) = database.rows("SELECT * FROM metric WHERE name = $name", {"name": name})
    return row


def counter(database: Database, name: str) -> int:
    """A counter of the same report."""
    value: int = database.scalar("SELECT value FROM counter WHERE name = $name", {"name": name})
    return value


def test_every_compilation_is_recorded_once(compiling: tuple[Captured, Database]) -> None:
    run, database = compiling
    compilations = database.rows("SELECT * FROM compilation")

    assert len(compilations) == counter(database, "UncachedCompile")
    assert len(compilations) == metric(database, "CompileTime")["samples"]
    assert len(compilations) == len(run.log_lines("compile"))
    assert all(row["file"] and row["line"] for row in compilations)


def test_compile_time_is_that_of_torch_xla(compiling: tuple[Captured, Database]) -> None:
    run, database = compiling
    recorded = database.scalar("SELECT sum(duration_ns) FROM compilation")
    in_steps = sum(
        line.get("compile_ns", 0)
        for line in (*run.log_lines("step"), *run.log_lines("cut"), *run.log_lines("tail"))
    )

    accumulator = metric(database, "CompileTime")["accumulator"]
    assert recorded == pytest.approx(accumulator, rel=0.01)
    assert in_steps == pytest.approx(accumulator, rel=0.01)


def test_graphs_are_those_of_the_timeline(compiling: tuple[Captured, Database]) -> None:
    run, database = compiling
    compilations = database.rows("SELECT graph_hash FROM compilation")
    events = database.rows(
        "SELECT graph_hash FROM event WHERE name = $n", {"n": "XLAGraphExecutor::Compile"}
    )
    log = (run.process / "analysis.log").read_text()

    in_timeline = Counter(event["graph_hash"] for event in events)  # but for warm-up
    in_log = Counter(re.findall(r"Compilation Analysis: .*Graph Hash: ([0-9a-f]+)", log))
    hashes = Counter(row["graph_hash"] for row in compilations)
    assert in_timeline <= hashes
    assert in_log <= hashes  # it misses what autograd's own thread compiles
    assert in_log.total() > 0
    modules = Counter(row["graph_hash"] for row in database.rows("SELECT * FROM hlo_module"))
    assert modules == hashes


@pytest.mark.parametrize(
    ("program", "kind", "in_steps", "afterwards"),
    [
        pytest.param(
            *row,
            marks=[
                pytest.mark.xdist_group(row[0]),
                *[pytest.mark.thorough] * (row[0] in LONG),
            ],
        )
        for row in (
            ("scalar_read", "item", 40, 0),
            ("printing", "repr", 39, 1),
            ("tensor_transfer", "cpu", 29, 1),
        )
    ],
)
def test_reads_are_counted_one_by_one(
    captured: Captures, program: str, kind: str, in_steps: int, afterwards: int
) -> None:
    database = load(str(captured(EXAMPLES / f"{program}.py").directory)).database
    query = "SELECT coalesce(sum(count), 0) FROM host_sync WHERE kind = $kind AND tail = $tail"

    assert database.scalar(query, {"kind": kind, "tail": False}) == in_steps
    assert database.scalar(query, {"kind": kind, "tail": True}) == afterwards


@pytest.mark.parametrize(
    ("source", "steps"), [(ACTS, 60), (TWO_BARRIERS, 30), (BARRIER_AT_THE_END, 1)]
)
def test_steps_are_those_of_the_program(
    tmp_path_factory: pytest.TempPathFactory, source: str, steps: int
) -> None:
    folder = tmp_path_factory.mktemp("steps")
    run = capture(folder / "out", write(folder, "turns.py", source), cwd=folder)

    assert load(str(run.directory)).database.rows("SELECT steps FROM loop") == [{"steps": steps}]


def test_median_step_is_what_the_program_measures_itself(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("steady")
    program = write(folder, "steady.py", STEADY)

    run = capture(folder / "out", program, cwd=folder)

    median_ms = run.report["steps"]["median_ms"]
    assert run.report["steps"]["count"] == 40
    assert median_ms == pytest.approx(float(run.finished.stdout), rel=0.1)
