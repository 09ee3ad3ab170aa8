"""Steps of a run, and what ran, whatever its findings are."""

from __future__ import annotations

import pytest

from tests.support import Row, evidence, step
from xladoctor.diagnosis.facts import reported, run, step_groups, steps
from xladoctor.diagnosis.interface import StepGroup, Steps, StepsAt
from xladoctor.evidence.interface import Evidence

SECOND = 10**9


# Steps


def of(*rows: Row, period: int | None = None) -> Steps | None:
    tables: dict[str, list[Row]] = {"step": list(rows)}
    if period:
        tables["step_period"] = [{"process": 0, "thread": 1, "barriers": period}]
    return steps(evidence(tables))


def grouped(known: Evidence) -> list[StepGroup]:
    return step_groups(known, steps(known))


def test_median_is_of_warm_steps_that_did_not_compile() -> None:
    rows = [step(i, duration_ns=9 * SECOND) for i in range(3)]
    rows += [step(i, duration_ns=i * 10**6) for i in (3, 4, 5)]
    rows += [step(6, duration_ns=SECOND, compilations=1), step(7, duration_ns=SECOND, probed=True)]
    assert of(*rows) == Steps(8, 3, 4.0)


def test_traced_steps_count_where_there_are_more_of_them_than_others() -> None:
    traced = [step(i, duration_ns=2 * 10**6, traced=True) for i in range(6)]
    others = [step(i, duration_ns=10**6) for i in (6, 7, 8)]
    assert of(*traced) == Steps(6, 3, 2.0)
    assert of(*traced, *others[:1]) == Steps(7, 3, 2.0)
    assert of(*traced, *others) == Steps(9, 3, 1.0)


def test_step_of_several_barriers() -> None:
    assert of(*(step(i) for i in range(16)), period=4) == Steps(4, 3, 4.0)


def test_steps_of_several_barriers_are_drawn_as_they_are_counted() -> None:
    tables = {
        "step": [step(i, duration_ns=(i % 4 + 1) * 10**6) for i in range(16)],
        "step_period": [{"process": 0, "thread": 1, "barriers": 4}],
    }
    assert grouped(evidence(tables)) == [StepGroup(n, 1, 10.0, 0.0) for n in range(4)]


def test_row_of_several_barriers_is_that_many_steps() -> None:
    rows = [step(i) for i in range(3)] + [step(13, barriers=10, duration_ns=20 * 10**6)]
    assert of(*rows) == Steps(13, 3, 2.0)


def test_steps_are_grouped_in_their_order() -> None:
    rows = [step(i, duration_ns=(i + 1) * 10**6) for i in range(4)]
    rows[1] |= {"compile_ns": 10**6}
    assert grouped(evidence({"step": rows})) == [
        StepGroup(0, 1, 1.0, 0.0),
        StepGroup(1, 1, 2.0, 1.0),
        StepGroup(2, 1, 3.0, 0.0),
        StepGroup(3, 1, 4.0, 0.0),
    ]
    groups = grouped(evidence({"step": [step(i, duration_ns=i * 10**6) for i in range(1000)]}))
    assert len(groups) == 60
    assert {group.count for group in groups} == {16, 17}
    assert sum(group.count for group in groups) == 1000
    assert (groups[0].first, groups[-1].longest_ms) == (0, 999.0)
    assert grouped(evidence({})) == []


def at(line: int, ms: int, *indices: int) -> list[Row]:
    return [step(i, file="/job/train.py", line=line, duration_ns=ms * 10**6) for i in indices]


def test_steps_of_training_and_of_evaluation() -> None:
    rows = at(10, 2, *range(20)) + at(20, 50, *range(20, 25))
    measured = of(*rows)
    assert measured is not None
    assert measured.ends == [
        StepsAt("/job/train.py", 20, 5, 50.0),
        StepsAt("/job/train.py", 10, 20, 2.0),
    ]


@pytest.mark.parametrize(
    "rows",
    [
        at(10, 2, *range(20)) + at(20, 2, *range(20, 40)),  # alike
        at(10, 2, *range(20)) + at(20, 50, 20, 21),  # too few
        at(10, 20, *range(40)) + at(20, 5, *range(40, 45)),  # little of the time
    ],
)
def test_one_median_is_enough(rows: list[Row]) -> None:
    measured = of(*rows)
    assert measured is not None
    assert measured.ends == []


def test_no_barrier_no_steps() -> None:
    assert of(step(0, tail=True)) is None
    assert steps(evidence({})) is None


def test_warm_steps_may_not_have_come_yet() -> None:
    assert of(step(0), step(1)) == Steps(2, 2, None)


# The run


def test_process_with_two_frameworks_is_one() -> None:
    rows = [
        {"process": n, "host": host, "pid": pid, "frontend": frontend}
        for n, (host, pid, frontend) in enumerate(
            [
                ("a", 7, "torch_xla"),
                ("a", 7, "jax"),
                ("a", 8, "jax"),
                ("b", 7, "jax"),
                ("a", 8, "jax"),  # a later one with the same number
            ]
        )
    ]
    assert run(evidence({"process": rows})).processes == 4


def test_run_is_described_by_its_manifest_and_its_processes() -> None:
    processes = [
        {"process": p, "device_kind": "TPU", "devices": 4, "frontend": "torch_xla"} for p in (0, 1)
    ]
    versions = [{"process": p, "package": "torch_xla", "version": f"2.9.{p}"} for p in (0, 1)]
    facts = run(
        evidence(
            {"process": processes, "version": versions},
            command=["python", "a.py"],
            ended={"status": None, "signal": 9, "seconds": 1},
        )
    )
    assert (facts.command, facts.status, facts.signal) == (["python", "a.py"], None, 9)
    assert (facts.processes, facts.device, facts.devices) == (2, "TPU", 8)
    assert (facts.frontend, facts.versions) == ("torch_xla", {"torch_xla": "2.9.0"})


def test_run_of_which_nothing_is_known() -> None:
    facts = run(evidence({}))
    assert (facts.processes, facts.device, facts.devices, facts.command) == (0, None, 0, [])


# What a metrics report says


def measured(process: int, name: str, samples: int, seconds: float) -> Row:
    return {
        "process": process,
        "name": name,
        "unit": "ns",
        "samples": samples,
        "accumulator": seconds * SECOND,
    }


def test_a_report_s_totals_are_in_its_own_names() -> None:
    one = [measured(0, "ExecuteTime", 558, 15.05), measured(0, "CompileTime", 1, 178.1)]
    assert reported(evidence({"metric": one})) == (
        "The metrics report has CompileTime 2 min 58 s (1 graph), ExecuteTime 15.1 s (558 launches)"
    )
    assert reported(evidence({"metric": [*one, measured(1, "CompileTime", 1, 3.0)]})) == ""
    assert reported(evidence({"metric": [measured(0, "InboundData", 3, 1.0)]})) == ""
