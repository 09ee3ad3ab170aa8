"""What a timeline alone says in place of a step log: steps, reads, compilations by their place."""

from __future__ import annotations

from pathlib import Path

from tests.ingest.loop_trace import Trace, loop
from tests.support import Row
from tests.xspace import builder
from xladoctor.doctor import load_evidence
from xladoctor.evidence.interface import Evidence


def evidence_of(trace: Trace, folder: Path) -> Evidence:
    file = folder / "vm.xplane.pb"
    file.write_bytes(trace.space.bytes())
    return load_evidence(str(file))


def queried(evidence: Evidence, sql: str) -> list[Row]:
    return evidence.database.rows(sql)


def compiled(trace: Trace, at: float, graph: str) -> Trace:
    """A compilation of 3, in the graph that begins 1 before."""
    trace.python.event("XLAGraphExecutor::Compile", at, 3, graph_hash=builder.Ref(graph))
    return trace


def test_steps_go_from_barrier_to_barrier(tmp_path: Path) -> None:
    steps = queried(
        evidence_of(loop(3), tmp_path),
        "SELECT index, tail, barriers, executions, (end_ns - begin_ns) / 1e3 AS us,"
        " barrier_ns / 1e3 AS barrier FROM step ORDER BY index",
    )
    assert [(s["index"], s["tail"], s["executions"], s["us"]) for s in steps] == [
        (0, False, 1, 130),
        (1, False, 1, 1000),
        (2, False, 1, 1000),
        (3, True, 0, 520),
    ]
    assert steps[1]["barrier"] == 30


def test_what_leaves_no_event_is_unknown_and_not_nothing(tmp_path: Path) -> None:
    evidence = evidence_of(loop(3), tmp_path)
    (step, *_) = queried(evidence, "SELECT * FROM step")
    assert (step["input_ns"], step["save_ns"], step["optimizer_steps"]) == (None, None, None)
    assert not {"step_period", "upload", "data_wait", "state_save"} & evidence.available
    assert queried(evidence, "SELECT * FROM captured_loop") == []


def test_fetches_outside_of_barriers_are_reads_of_their_step(tmp_path: Path) -> None:
    trace = Trace()
    for at in (100, 1100, 2100):
        trace.barrier(at).transfer("From", at + 28, at + 29).run(at + 50, at + 550)
        if at < 2100:
            trace.graph(at + 600).transfer("From", at + 625, at + 675)
    reads = queried(
        evidence_of(trace, tmp_path),
        "SELECT step, tail, kind, count, duration_ns / 1e3 AS us FROM host_sync ORDER BY step",
    )
    assert [(r["step"], r["tail"], r["kind"], r["count"]) for r in reads] == [
        (1, False, "fetch", 1),
        (2, False, "fetch", 1),
    ]
    assert all(50 <= r["us"] <= 75 for r in reads)


def test_compilations_of_barriers_and_of_reads_are_kept_apart(tmp_path: Path) -> None:
    trace = compiled(Trace().barrier(100).barrier(1100), 1105, "step")
    compiled(trace.graph(1700), 1701, "read").transfer("From", 1725, 1775).barrier(2100)
    rows = queried(
        evidence_of(trace, tmp_path),
        "SELECT step, via, ordinal, launches, graph_hash, duration_ns / 1e3 AS us FROM compilation",
    )
    assert [(r["step"], r["via"], r["ordinal"], r["graph_hash"], r["us"]) for r in rows] == [
        (1, "barrier", 3, "step", 3),
        (2, "read", 0, "read", 3),  # the first step warmed up
    ]
    assert rows[0]["launches"] == 3


def test_without_barriers_the_time_goes_from_read_to_read(tmp_path: Path) -> None:
    trace = Trace()
    for at in (100, 600):
        trace.graph(at).transfer("From", at + 25, at + 75)
    evidence = evidence_of(trace, tmp_path)
    (tail,) = queried(evidence, "SELECT * FROM step")
    assert tail["tail"]
    cuts = queried(evidence, "SELECT ended_by, launches FROM cut ORDER BY begin_ns")
    assert [(c["ended_by"], c["launches"]) for c in cuts] == [("read", 1), ("read", 1), ("end", 0)]


def test_timeline_without_a_frontends_events_has_no_steps_of_barriers(tmp_path: Path) -> None:
    trace = Trace()
    for step in range(5):
        trace.python.event("train", 100.0 * step, 90, _r=1, step_num=step)
    evidence = evidence_of(trace, tmp_path)
    assert not {"step", "compilation", "host_sync"} & evidence.available
    assert queried(evidence, "SELECT * FROM timeline_step") != []


def test_what_a_profiler_waited_before_the_first_launch_is_of_no_step(tmp_path: Path) -> None:
    space = builder.Space("vm")
    space.started_at(1_700_000_000_000_000_000)
    line = space.plane("/host:CPU").line("python", 1, 1_700_000_000_000_000_000)
    for number in range(5):
        at = 9_000_000 + 1_000 * number
        line.event("PjitFunction(step)", at, 400)
        line.event("PjRtCpuExecutable::Execute", at + 10, 380)
    file = tmp_path / "vm.xplane.pb"
    file.write_bytes(space.bytes())
    steps = queried(load_evidence(str(file)), "SELECT duration_ns FROM step ORDER BY begin_ns")
    assert [step["duration_ns"] for step in steps][:2] == [1_000_000, 1_000_000]
