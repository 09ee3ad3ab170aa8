"""Time and steps of a run, whatever its findings are."""

from __future__ import annotations

import dataclasses

from tests.support import Row, evidence, step
from xladoctor.diagnosis.facts import run, steps, time_spent
from xladoctor.diagnosis.interface import Steps, TimeParts, TimeSpent

SECOND = 10**9


# Time


def test_parts_of_the_loop_add_up_to_it() -> None:
    row = step(0, duration_ns=10 * SECOND, compile_ns=4 * SECOND, read_ns=SECOND,
               input_ns=SECOND // 2, barrier_ns=2 * SECOND, upload_ns=SECOND // 4)  # fmt: skip
    time = time_spent(evidence({"step": [row]}, ended={"seconds": 12.5}))

    assert time == TimeSpent(12.5, 10.0, TimeParts(4.0, 1.0, 0.5, 2.25, 2.0, 0.25), 0.0)
    assert sum(dataclasses.astuple(time.parts or TimeParts(0, 0, 0, 0, 0, 0))) == time.loop_s


def test_time_is_of_the_thread_that_took_longest() -> None:
    rows = [step(0), step(0, thread=2, duration_ns=3 * SECOND), step(0, process=1)]
    assert time_spent(evidence({"step": rows})).loop_s == 3.0


def test_time_after_the_last_barrier_is_no_loop_unless_there_is_no_barrier() -> None:
    tail = step(1, tail=True, duration_ns=9 * SECOND)
    assert time_spent(evidence({"step": [step(0), tail]})).loop_s == 0.001
    assert time_spent(evidence({"step": [tail]})).loop_s == 9.0
    assert time_spent(evidence({"step": [{**tail, "main": False}]})).loop_s is None


def test_without_steps_there_are_no_parts() -> None:
    assert time_spent(evidence({})) == TimeSpent(None, None, None, None)


def test_compiling_in_the_first_launches_is_warm_up() -> None:
    compilations = [{"process": p, "ordinal": ordinal, "duration_ns": SECOND}
                    for p, ordinal in ((0, 0), (0, 2), (0, 3), (1, 0))]  # fmt: skip
    rows = [step(i, duration_ns=10 * SECOND, compile_ns=SECOND) for i in range(3)]
    assert time_spent(
        evidence({"step": rows, "compilation": compilations})
    ).warmup_compile_s == 2.0  # fmt: skip


# Steps


def of(*rows: Row, period: int | None = None) -> Steps | None:
    tables: dict[str, list[Row]] = {"step": list(rows)}
    if period:
        tables["step_period"] = [{"process": 0, "thread": 1, "barriers": period}]
    return steps(evidence(tables))


def test_median_is_of_warm_steps_that_did_not_compile() -> None:
    rows = [step(i, duration_ns=9 * SECOND) for i in range(3)]
    rows += [step(i, duration_ns=i * 10**6) for i in (3, 4, 5)]
    rows += [step(6, duration_ns=SECOND, compilations=1), step(7, duration_ns=SECOND, probed=True)]
    assert of(*rows) == Steps(8, 3, 4.0)


def test_traced_steps_count_only_where_there_are_no_others() -> None:
    traced = [step(i, duration_ns=2 * 10**6, traced=True) for i in range(6)]
    assert of(*traced) == Steps(6, 3, 2.0)
    assert of(*traced, step(6, duration_ns=10**6)) == Steps(7, 3, 1.0)


def test_step_of_several_barriers() -> None:
    assert of(*(step(i) for i in range(16)), period=4) == Steps(4, 3, 4.0)


def test_row_of_several_barriers_is_that_many_steps() -> None:
    rows = [step(i) for i in range(3)] + [step(13, barriers=10, duration_ns=20 * 10**6)]
    assert of(*rows) == Steps(13, 3, 2.0)


def test_no_barrier_no_steps() -> None:
    assert of(step(0, tail=True)) is None
    assert steps(evidence({})) is None


def test_warm_steps_may_not_have_come_yet() -> None:
    assert of(step(0), step(1)) == Steps(2, 2, None)


# The run


def test_run_is_described_by_its_manifest_and_its_processes() -> None:
    processes = [{"process": p, "device_kind": "TPU", "devices": 4, "frontend": "torch_xla"}
                 for p in (0, 1)]  # fmt: skip
    versions = [{"process": p, "package": "torch_xla", "version": f"2.9.{p}"} for p in (0, 1)]
    facts = run(evidence({"process": processes, "version": versions}, command=["python", "a.py"],
                         ended={"status": None, "signal": 9}))  # fmt: skip
    assert (facts.command, facts.status, facts.signal) == (["python", "a.py"], None, 9)
    assert (facts.processes, facts.device, facts.devices) == (2, "TPU", 8)
    assert (facts.frontend, facts.versions) == ("torch_xla", {"torch_xla": "2.9.0"})


def test_run_of_which_nothing_is_known() -> None:
    facts = run(evidence({}))
    assert (facts.processes, facts.device, facts.devices, facts.command) == (0, None, 0, [])
