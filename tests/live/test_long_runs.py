"""What is kept of a long run: the timeline's windows, all causes of compilations, a clean end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import LIVE, ON_DEVICE, Captured, capture, command, line_of, run, write

pytestmark = LIVE

STEPS = 400
OUTLIER = 300
#: Shapes change when source lines are no longer recorded, and one step is slow.
LATE = f"""{ON_DEVICE}
for step in range({STEPS}):
    rows = 16 if step < 150 or step % 50 else 8 + step // 50
    inputs = torch.ones(rows, 8).to(device)
    weights = weights * 0.9 + torch.tanh(inputs @ weights).sum()
    if step == {OUTLIER} - 10:
        weights = weights.cos()
    if step == {OUTLIER} + 5:
        time.sleep(0.4)
    torch_xla.sync()
"""


def record(of: Captured) -> dict[str, Any]:
    """The record of the only process."""
    described: dict[str, Any] = json.loads((of.process / "process.json").read_text())
    return described


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """A captured run of it."""
    folder = tmp_path_factory.mktemp("late")
    return capture(folder / "out", write(folder, "train.py", LATE), cwd=folder)


@pytest.mark.xdist_group("late")
def test_compilations_outside_the_window_have_cause_and_line(late: Captured) -> None:
    (finding,) = late.findings("XD101")
    (place, *_) = finding["locations"]
    assert finding["count"] == 5
    assert place["line"] == line_of(late.program, "inputs = torch.ones")
    assert finding["cause"]["dimension"] == 0
    (operations,) = late.findings("XD105")
    assert "aten::cos" in operations["message"]
    assert late.findings("XD110") == []


@pytest.mark.xdist_group("late")
def test_window_skips_warm_up_and_says_what_it_cost(late: Captured) -> None:
    window = record(late)["windows"][0]
    first = late.log_lines("step")[:5]
    assert window["ended_by"] == "step limit"
    assert window["steps"] == 60
    assert window["begin_ns"] > first[2]["end_ns"]
    assert window["stop_ns"] > 0
    assert window["write_ns"] > 0


@pytest.mark.xdist_group("late")
def test_step_that_took_much_too_long_opens_a_second_window(late: Captured) -> None:
    outliers = late.log_lines("outlier")
    assert OUTLIER + 5 in [line["step"] for line in outliers]
    (_, second) = record(late)["windows"]
    assert second["session"] == "out-outlier"
    (finding,) = late.findings("XD903")
    assert "--session out-outlier" in finding["message"]
    words = ("out", "--session", "out-outlier", "--format", "csv")
    query = "SELECT count(*) FROM timeline_step"
    again = run(
        sys.executable, "-m", "xladoctor", "query", *words, query, cwd=late.directory.parent
    )
    assert again.status == 0, again.stderr
    assert 15 <= int(again.stdout.splitlines()[1]) <= 21


@pytest.mark.thorough
def test_program_is_ended_gently_after_the_steps_that_were_asked_for(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        "train.py",
        f"""{ON_DEVICE}
import atexit
atexit.register(print, "atexit")
try:
    while True:
        weights = weights * 0.9
        torch_xla.sync()
finally:
    print("finally")
""",
    )
    flags = ("--stop-after", "200", "--trace-after", "20", "--trace-bytes", "1k")

    captured = command(tmp_path / "out", program, cwd=tmp_path, flags=flags)

    assert captured.finished.status == 0
    assert captured.finished.stdout == "finally\natexit\n"
    assert captured.finished.stderr == ""
    assert captured.report["steps"]["count"] == 200
    (window,) = record(captured)["windows"]
    assert window["begin_ns"] >= captured.log_lines("step")[19]["end_ns"]
