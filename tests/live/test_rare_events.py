"""A loop of many equal steps has few lines in the log. What is rare in it must still be there:
each is counted, or known by its step.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.live.harness import LIVE, ON_DEVICE, Captured, capture, line_of, write

STEPS, LATE, SLOW = 12_000, 10_001, 7_503
READ_EVERY, EVALUATE_EVERY = 997, 500
OF_THE_OTHER_THREAD = 3_000

TORCH_XLA = f"""{ON_DEVICE}
import threading
def other():
    values = torch.ones(4).to(device)
    for _ in range({OF_THE_OTHER_THREAD}):
        values = values * 0.5
        torch_xla.sync()
    values.tolist()
thread = threading.Thread(target=other)
thread.start()
thread.join()
measured = torch.ones(8, 8).to(device)
for step in range({STEPS}):
    weights = weights * 0.9 if step != {LATE} else weights.cos()
    torch_xla.sync()
    if step == {SLOW}:
        time.sleep(0.5)
    if step % {READ_EVERY} == 0:
        weights.sum().item()
    if step % {EVALUATE_EVERY} == 0:
        for _ in range(3):
            measured = measured * 0.5
            torch_xla.sync()
        measured[0, 0].tolist()
"""

JAX = f"""
import time
import jax, jax.numpy as jnp
@jax.jit
def train(weights):
    return weights * 0.9
@jax.jit
def evaluate(measured):
    return measured * 0.5
weights, measured = jnp.ones((8, 8)), jnp.ones((8, 8))
for step in range({STEPS}):
    weights = train(weights if step != {LATE} else weights[:4])
    if step == {SLOW}:
        time.sleep(0.5)
    if step % {READ_EVERY} == 0:
        float(weights[0, 0])
    if step % {EVALUATE_EVERY} == 0:
        for _ in range(3):
            measured = evaluate(measured)
        measured.tolist()
"""


def reads(captured: Captured) -> Counter[str]:
    """How often each kind of read happened, in all lines of the log."""
    counts: Counter[str] = Counter()
    for event in ("step", "cut", "tail"):
        for line in captured.log_lines(event):
            for _, kind, _, count, *_ in line.get("reads", ()):
                counts[kind] += count
    return counts


def steps(captured: Captured, thread: int) -> int:
    lines = [*captured.log_lines("step"), *captured.log_lines("tail")]
    return sum(line.get("steps", 0) for line in lines if line["thread"] == thread)


def few_lines(captured: Captured) -> bool:
    """Whether there was one for each millisecond at most, once it was known that they are many."""
    lines = captured.log_lines("step")
    ends: list[int] = [line["end_ns"] for line in lines]
    took_ms = (max(ends) - min(ends)) / 1e6
    return len(lines) < 4_000 + took_ms


def threads(captured: Captured) -> list[int]:
    """The main thread first."""
    lines = captured.log_lines("step")
    main = next(line["thread"] for line in lines if line.get("main"))
    return [main, *sorted({line["thread"] for line in lines} - {main})]


@pytest.fixture(scope="module")
def torch_xla(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    folder = tmp_path_factory.mktemp("rare")
    return capture(folder / "out", write(folder, "train.py", TORCH_XLA), cwd=folder)


@pytest.mark.xdist_group("rare events")
class TestTorchXla:
    pytestmark = LIVE

    def test_lines_are_few(self, torch_xla: Captured) -> None:
        assert few_lines(torch_xla)

    def test_steps_and_executions_are_all_counted(self, torch_xla: Captured) -> None:
        main, other = threads(torch_xla)
        evaluations = len(range(0, STEPS, EVALUATE_EVERY))
        assert steps(torch_xla, main) == STEPS + 3 * evaluations
        assert steps(torch_xla, other) == OF_THE_OTHER_THREAD

    def test_each_rare_read_is_counted(self, torch_xla: Captured) -> None:
        counts = reads(torch_xla)
        assert counts["item"] == len(range(0, STEPS, READ_EVERY))
        assert counts["tolist"] == len(range(0, STEPS, EVALUATE_EVERY)) + 1

    def test_a_late_compilation_has_its_step_and_line(self, torch_xla: Captured) -> None:
        compiled = [line["step"] for line in torch_xla.log_lines("compile")]
        evaluated = 3 * len(range(0, LATE, EVALUATE_EVERY))
        assert LATE + evaluated in compiled
        assert max(compiled) == LATE + evaluated
        (finding,) = torch_xla.findings("XD105")
        assert finding["count"] == 1
        assert "aten::cos" in finding["message"]
        (place, *_) = finding["locations"]
        assert (
            place["line"]
            == torch_xla.program.read_text().splitlines().index("    torch_xla.sync()") + 1
        )

    def test_a_slow_step_is_known(self, torch_xla: Captured) -> None:
        slow = [line["step"] for line in torch_xla.log_lines("outlier")]
        evaluated = 3 * len(range(0, SLOW, EVALUATE_EVERY))
        assert SLOW + 1 + evaluated in slow


@pytest.fixture(scope="module")
def jax(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    pytest.importorskip("jax")
    folder = tmp_path_factory.mktemp("rare")
    return capture(folder / "out", write(folder, "train.py", JAX), cwd=folder)


@pytest.mark.xdist_group("rare events")
class TestJax:
    pytestmark = pytest.mark.live

    def test_lines_are_few(self, jax: Captured) -> None:
        assert few_lines(jax)

    def test_each_rare_read_is_counted(self, jax: Captured) -> None:
        counts = reads(jax)
        assert counts["float"] == len(range(0, STEPS, READ_EVERY))
        assert counts["tolist"] == len(range(0, STEPS, EVALUATE_EVERY))

    def test_launches_are_all_counted(self, jax: Captured) -> None:
        lines = [line for event in ("step", "cut", "tail") for line in jax.log_lines(event)]
        launched = sum(line.get("executions", 0) for line in lines)
        evaluations = len(range(0, STEPS, EVALUATE_EVERY))
        assert launched >= STEPS + 3 * evaluations

    def test_a_late_compilation_has_its_line(self, jax: Captured) -> None:
        rows: list[Any] = json.loads((jax.process / "call_sites.json").read_text())["sites"]
        late = line_of(jax.program, "weights = train(")
        compiled = [line for line in jax.log_lines("compile") if line.get("site") is not None]
        assert late in {rows[line["site"]]["line"] for line in compiled if line["step"] > LATE - 5}

    def test_a_slow_step_is_known(self, jax: Captured) -> None:
        assert any(line["duration_ns"] > 4e8 for line in jax.log_lines("outlier"))
