"""What a Chrome trace alone tells of compiling: of which functions, and what it consisted of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chrome.builder import Trace
from tests.chrome.test_joined import compiled, load, log, rows

#: As torch 2.9 marks them, and as later releases do.
NAMES = [
    (
        "_compile.compile_inner (dynamo_timed)",
        "create_aot_dispatcher_function (dynamo_timed)",
        "compile_fx_inner (dynamo_timed)",
        "async_compile.wait (dynamo_timed)",
        "backward._backward_impl (dynamo_timed)",
    ),
    (
        "dynamo",
        "create_aot_dispatcher_function (dynamo_timed)",
        "inductor_compile",
        "async_compile.wait (dynamo_timed)",
        "entire_backward_compile",
    ),
]
PHASES = "SELECT compilation, phase, duration_ns FROM compile_phase ORDER BY ALL"
COMPILATIONS = """SELECT index, step, ordinal, launches, cause, compile_id, duration_ns
                  FROM compilation ORDER BY index"""


def marked(names: tuple[str, ...], steps: int = 4) -> Trace:
    """Two parts, the second compiled while the first runs; then the backward pass is compiled."""
    dynamo, aot, inductor, kernels, backward = names
    trace = Trace().event("aten::empty", 0, 1)
    for at, lasted in ((100, 900), (1_200, 300)):
        third = lasted // 3
        trace.label(dynamo, at, lasted).label("entire_frame_compile", at, lasted - 1)
        trace.label("backend_compile", at + third, third * 2 - 2)
        trace.label(aot, at + third, third).label(inductor, at + third + 20, 60)
        trace.label(kernels, at + third + 30, 40)
    trace.event("Torch-Compiled Region: 0/0", 1_100, 600)
    trace.event("Torch-Compiled Region: 1/0", 1_550, 100)
    trace.label(backward, 1_800, 100)
    trace.label("dynamo_data: compile_id=0/0", 1_700, 1).label("mine", 1_790, 200)
    for number in range(steps):
        at = 2_000 + 1_000 * number
        trace.step(number, at, 1_000)
        trace.event("Torch-Compiled Region: 0/0", at + 100, 600)
        trace.event("Torch-Compiled Region: 1/0", at + 550, 100)
    return trace


@pytest.mark.parametrize("names", NAMES)
def test_each_part_has_its_compilation_and_phases(tmp_path: Path, names: tuple[str, ...]) -> None:
    evidence = load(tmp_path, {"trace": marked(names)}, {})

    assert rows(evidence, COMPILATIONS) == [
        (0, None, 0, None, "jit(Torch-Compiled Region: 0)", "0/0", 900_000),
        (1, None, 0, None, "jit(Torch-Compiled Region: 1)", "1/0", 300_000),
    ]
    assert rows(evidence, PHASES) == [
        (0, "aot", 240_000),
        (0, "dynamo", 600_000),
        (0, "inductor", 20_000),
        (0, "triton", 40_000),
        (1, "aot", 40_000),
        (1, "dynamo", 200_000),
        (1, "inductor", 20_000),
        (1, "triton", 40_000),
        (None, "aot", 100_000),
    ]
    assert rows(evidence, "SELECT DISTINCT name FROM region WHERE name NOT LIKE 'Profiler%'") == [
        ("mine",)
    ]


def test_a_part_that_is_compiled_again_is_placed_in_its_step(tmp_path: Path) -> None:
    evidence = load(tmp_path, {"trace": compiled()}, {})

    assert rows(evidence, COMPILATIONS) == [
        (0, 0, 0, 12, "jit(Torch-Compiled Region: 0)", "0/0", 600_000),
        (1, 6, 6, 12, "jit(Torch-Compiled Region: 0)", "0/1", 600_000),
    ]


def test_a_compilers_log_goes_before_the_marks(tmp_path: Path) -> None:
    evidence = load(tmp_path, {"trace": compiled()}, {"a": log()})

    assert rows(evidence, "SELECT cause FROM compilation") == [("jit(forward)",)] * 2
    assert rows(evidence, "SELECT sum(compilations) FROM step") == [(2,)]


def test_the_first_step_has_the_compilation_before_its_call(tmp_path: Path) -> None:
    """In a trace of three calls without marks of steps, the compiler runs for most of it."""
    trace = Trace().label(NAMES[0][0], 1_000, 30_000)
    for at in (31_200, 32_200, 33_200):
        trace.event("Torch-Compiled Region: 0/0", at, 400)
        trace.event("aten::item", at + 500, 100)
    evidence = load(tmp_path, {"trace": trace}, {})

    steps = rows(evidence, "SELECT duration_ns / 1000 FROM timeline_step ORDER BY begin_ns")
    assert steps[0] == (31_200,)
    assert rows(evidence, "SELECT step FROM compilation") == [(0,)]
