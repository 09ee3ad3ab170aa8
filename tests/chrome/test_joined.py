"""Logs of TORCH_TRACE beside Chrome traces: by rank and process, and what both tell together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.chrome.builder import BASE_NS, HOST, Trace
from tests.ingest.torch.test_structured_log import BREAK, artifact, ended, record, start
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.evidence.interface import Evidence

STEP_US = 1_000
CHANGED = "[\"0/0: tensor 'x' size mismatch at index 0. expected 32, actual 33\"]"


def compiled(
    steps: int = 12, again: tuple[int, ...] = (6,), pid: int = HOST, rank: int | None = None
) -> Trace:
    """Steps that call function 0, which calls function 1; each new version takes 600 µs."""
    trace = Trace()
    if rank is not None:
        trace.facts += f'  "distributedInfo": {{"backend": "nccl", "rank": {rank}}},\n'
    at, version = 0.0, 0
    for number in range(steps):
        whole, begin = STEP_US, at + 100
        if number == 0 or number in again:
            version += number in again
            trace.event(
                "_compile.compile_inner (dynamo_timed)",
                begin,
                600,
                process=pid,
                thread=pid,
                category="user_annotation",
            )
            whole, begin = whole + 700, begin + 650
        trace.event(f"ProfilerStep#{number}", at, whole, "user_annotation", pid, pid)
        trace.event("aten::empty", begin - 40, 20, thread=pid, process=pid)
        trace.event(f"Torch-Compiled Region: 0/{version}", begin, 500, thread=pid, process=pid)
        trace.event(f"Torch-Compiled Region: 1/{version}", begin + 50, 400, thread=pid, process=pid)
        at += whole
    return trace


def log(again: tuple[int, ...] = (6,), pid: int = HOST) -> str:
    """Of the same program: its compilations end where the trace's do."""
    parts = [record({"str": ["/home/ada/train.py", 1]})]
    for version, number in enumerate((0, *again)):
        of, at = f"0/{version}", number * STEP_US + version * 700 + 710
        if version:
            parts.append(artifact("recompile_reasons", of, CHANGED))
        parts.append(start(of))
        if not version:
            parts.append(artifact("dynamo_graph_break_reason", of, BREAK))
        parts.append(ended(of, end_time_us=BASE_NS // 1000 + at))
    return re.sub(r"(?<= )5975(?= torch)", str(pid), "".join(parts))


def load(folder: Path, traces: dict[str, Trace], logs: dict[str, str]) -> Evidence:
    for name, trace in traces.items():
        trace.write(folder / f"{name}.pt.trace.json")
    for name, text in logs.items():
        (folder / f"dedicated_log_torch_trace_{name}.log").write_text(text)
    return load_evidence(str(folder))


def rows(evidence: Evidence, query: str) -> list[tuple[Any, ...]]:
    return evidence.database.table(query)[1]


PLACES = "SELECT process, step, ordinal, launches FROM compilation ORDER BY process, index"


def test_compilations_of_the_log_are_placed_in_the_steps_of_the_trace(tmp_path: Path) -> None:
    evidence = load(tmp_path, {"trace": compiled()}, {"a": log()})

    assert rows(evidence, PLACES) == [(0, 0, 0, 12), (0, 6, 6, 12)]
    assert rows(evidence, "SELECT list(index ORDER BY index) FROM step WHERE compilations = 1") == [
        ([0, 6],)
    ]
    assert rows(evidence, "SELECT frame, frame_ns, step_ns FROM frame_time ORDER BY 1") == [
        ("0", 500_000, 1_000_000),
        ("1", 400_000, 1_000_000),
    ]


def test_findings_of_the_log_say_how_much_of_a_step_the_function_takes(tmp_path: Path) -> None:
    again = (4, 6, 8, 10)
    found = {
        finding.rule: finding
        for finding in diagnose(
            load(tmp_path, {"trace": compiled(again=again)}, {"a": log(again)}), load_rules()
        ).findings
    }

    for rule in ("XD101", "XD314"):
        assert "A step without compiling takes 1 ms, the function 0.5 ms" in found[rule].message
    assert found["XD101"].count == 4


def test_a_log_alone_says_nothing_of_steps(tmp_path: Path) -> None:
    found = diagnose(load(tmp_path, {}, {"a": log()}), load_rules()).findings

    assert [finding.rule for finding in found] == ["XD314", "XD101"]
    assert all("A step" not in finding.message for finding in found)


@pytest.mark.parametrize("named", [True, False])
def test_logs_and_traces_of_several_ranks_are_joined_by_rank(tmp_path: Path, named: bool) -> None:
    again = {0: (3,), 1: (5, 7), 2: (9,)}
    traces = {
        f"rank{rank}" if named else f"vm_{9 - rank}": compiled(
            again=at, pid=4242 if rank else 4243, rank=None if named else rank
        )
        for rank, at in again.items()
    }
    logs = {
        f"rank_{rank}_x{9 - rank}": log(at, 4242 if rank else 4243) for rank, at in again.items()
    }
    evidence = load(tmp_path, traces, logs)

    assert rows(
        evidence,
        "SELECT rank, list(step ORDER BY index) FROM compilation"
        " JOIN process USING (process) GROUP BY rank ORDER BY rank",
    ) == [(rank, [0, *at]) for rank, at in again.items()]
    assert not any("another process" in note for note in evidence.notes)


def test_logs_of_unnumbered_processes_are_joined_by_the_process(tmp_path: Path) -> None:
    traces = {"a": compiled(again=(3,), pid=71), "b": compiled(again=(5,), pid=72)}
    evidence = load(tmp_path, traces, {"x": log((5,), 72), "y": log((3,), 71)})

    assert rows(
        evidence,
        "SELECT pid, max(step) FROM compilation JOIN process USING (process)"
        " GROUP BY pid ORDER BY pid",
    ) == [(71, 3), (72, 5)]


def test_the_log_of_another_run_is_another_process(tmp_path: Path) -> None:
    evidence = load(
        tmp_path, {"rank_0": compiled(rank=0)}, {"rank_0_old": log(pid=17), "rank_0_z": log()}
    )

    assert [row[:2] for row in rows(evidence, PLACES)] == [(0, 0), (0, 6), (1, None), (1, None)]
    (note,) = (note for note in evidence.notes if "another process" in note)
    assert "no timeline is of its process 17, rank 0" in note


def test_where_numbers_of_threads_stand_for_processes_one_of_each_is_taken_together(
    tmp_path: Path,
) -> None:
    evidence = load(tmp_path, {"trace": compiled()}, {"a": log(pid=140_245_678_901_234)})

    assert [row[:2] for row in rows(evidence, PLACES)] == [(0, 0), (0, 6)]


def test_versions_of_a_function_are_one_program_whose_calls_are_steps(tmp_path: Path) -> None:
    trace = compiled()
    trace.events = [event for event in trace.events if "ProfilerStep" not in event]
    evidence = load(tmp_path, {"trace": trace}, {})

    assert rows(evidence, "SELECT count(*) FROM timeline_step") == [(12,)]
