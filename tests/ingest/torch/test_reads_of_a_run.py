"""Reads of a captured run on a GPU: the capture notes none, but its timeline shows the waits.

The records are as the recorder wrote those of a program on the CPU; the timeline has the marks of
their steps, and calls of CUDA's runtime.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.chrome.builder import BASE_NS, HOST, Trace
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence

STEP_US, STEPS, FIRST, LAST = 10_000, 200, 20, 40
FILE = f"plugins/profile/run/vm_{HOST}.pt.trace.json.gz"


def at(step: float) -> float:
    """When a step ends, in microseconds of the trace."""
    return (step + 1) * STEP_US


def records(
    run: Path, device: str = "CUDA:0", frontend: str = "torch", reads: bool = False
) -> Path:
    """What the recorder leaves of a loop of 200 steps of 10 ms, without the timeline."""
    process = run / f"process-{HOST}"
    process.mkdir(parents=True)
    manifest = {
        "schema_version": 1,
        "tool": {"name": "xladoctor", "version": "0.1.0"},
        "command": ["python", "train.py"],
        "script": "train.py",
        "cwd": "/home/user",
        "session": "run",
        "began_ns": BASE_NS - 1_000_000_000,
        "ended": {"status": 0, "signal": None, "seconds": 4.0},
    }
    (run / "run.json").write_text(json.dumps(manifest), "utf-8")
    record = {
        "pid": HOST,
        "host": "vm",
        "frontend": frontend,
        "versions": {"torch": "2.9.0+cu128", "python": "3.11.7"},
        "devices": [device],
        "used_device": True,
        "settings": {},
        "settings_lines": {},
        "folders": {"standard": ["/usr/lib/python3.11"], "installed": []},
        "began_ns": BASE_NS - 500_000_000,
        "exit_ns": BASE_NS + 2_500_000_000,
        "ended_ns": BASE_NS + 2_500_000_000,
        "ended": True,
    }
    (process / "process.json").write_text(json.dumps(record), "utf-8")
    site = dict.fromkeys(("user_file", "user_line", "user_function"))
    site |= {"file": "/home/user/train.py", "line": 14, "function": "train", "via": "wrapper"}
    sites = {"sites": [site], "fallbacks": []}
    (process / "call_sites.json").write_text(json.dumps(sites), "utf-8")
    lines = [
        {
            "event": "step",
            "thread": HOST,
            "index": index,
            "end_ns": BASE_NS + int(at(index) * 1000),
            "duration_ns": STEP_US * 1000,
            "main": True,
            "steps": 1,
            "executions": 1,
            "traced": FIRST <= index <= LAST,
            "optimizers": [[0, 1]],
            "reads": [[0, "float", 0, 1, 1000, 0]] if reads else [],
            "site": 0,
        }
        for index in range(STEPS)
    ]
    (process / "steps.jsonl").write_text(
        "".join(f"{json.dumps(line)}\n" for line in lines), "utf-8"
    )
    return run


def timeline(run: Path, every: int = 1, marks: str = "xladoctor.step#") -> Path:
    """Steps 20 to 40, whose device works for 6 ms of 10; one in so many reads a value."""
    trace = Trace()
    for step in range(FIRST, LAST + 1):
        begin = at(step - 1)
        trace.event("aten::mm", begin, 1_900).launch("gemm", begin + 100, begin + 200, 6_000)
        if not step % every:
            trace.event("aten::item", begin + 2_000, 4_500)
            trace.event("aten::_local_scalar_dense", begin + 2_001, 4_498)
            trace.copy("DtoH (Device -> Pageable)", begin + 2_010, begin + 6_300, 2, takes=20)
            trace.call("cudaStreamSynchronize", begin + 2_040, 4_400)
        trace.event(f"{marks}{step}", at(step) - 10, 5)
    (run / FILE).parent.mkdir(parents=True)
    (run / FILE).write_bytes(gzip.compress(trace.text().encode()))
    return run


def judged(run: Path) -> Diagnosis:
    return diagnose(load_evidence(str(run)), load_rules())


def reads_a_step(diagnosis: Diagnosis) -> float | None:
    return next(each.value for each in diagnosis.counts if each.name == "host_syncs_per_step")


def test_a_read_in_each_step_of_the_window(tmp_path: Path) -> None:
    timeline(records(tmp_path))
    diagnosis = judged(tmp_path)
    (finding,) = (each for each in diagnosis.findings if each.rule == "XD201")

    assert (finding.severity, finding.count, finding.per_step) == ("error", STEPS, 1.0)
    assert "inside aten::item in 100% of the 20 steps in the timeline" in finding.message
    # 200 steps wait 4.5 ms each; without, one lasts as long as the device works
    assert finding.cost.basis == "estimate"
    assert finding.cost.seconds == pytest.approx(0.9)
    assert (finding.saving.now_ms, finding.saving.after_ms) == pytest.approx((10, 6), abs=0.1)
    assert reads_a_step(diagnosis) == 1.0


def test_a_read_now_and_then(tmp_path: Path) -> None:
    timeline(records(tmp_path), every=10)
    diagnosis = judged(tmp_path)

    assert "XD201" in diagnosis.rules.clear
    assert reads_a_step(diagnosis) == pytest.approx(2 / 20)


def test_no_read_in_the_window(tmp_path: Path) -> None:
    timeline(records(tmp_path), every=1000)
    diagnosis = judged(tmp_path)

    assert "XD201" in diagnosis.rules.clear
    assert reads_a_step(diagnosis) == 0


def test_without_a_timeline_of_the_steps_nothing_is_known(tmp_path: Path) -> None:
    records(tmp_path)
    diagnosis = judged(tmp_path)

    assert "XD201" in diagnosis.rules.not_evaluated
    assert reads_a_step(diagnosis) is None


def test_marks_of_other_steps_tell_of_no_step_of_the_log(tmp_path: Path) -> None:
    timeline(records(tmp_path), marks="ProfilerStep#")
    diagnosis = judged(tmp_path)

    assert "XD201" in diagnosis.rules.not_evaluated
    assert reads_a_step(diagnosis) is None


def test_reads_that_the_capture_noted_count_once(tmp_path: Path) -> None:
    timeline(records(tmp_path, frontend="jax", reads=True))
    rows = load_evidence(str(tmp_path)).database.table(
        "SELECT kind, sum(count) FROM host_sync GROUP BY ALL"
    )[1]

    assert rows == [("float", STEPS)]
