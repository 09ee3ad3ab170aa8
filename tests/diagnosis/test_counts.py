"""The counts of a run, with the lines that contribute to them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Row, Tables, complete, step
from xladoctor.diagnosis.counts import counts
from xladoctor.diagnosis.interface import Count, CountName, Steps

TRAIN = "/home/ada/train.py"
STEPS = [step(index) for index in range(10)]
NONE: Tables = {
    "step": STEPS,
    "host_sync": [],
    "compilation": [],
    "counter": [],
    "fallback_count": [],
}


def count(name: CountName, steps: Steps | None = None, **tables: list[Row]) -> Count:
    given = complete({**NONE, **tables}, cwd="/home/ada")
    (counted,) = [each for each in counts(given, steps) if each.name == name]
    return counted


def lines(counted: Count) -> list[tuple[int | None, float, int, str]]:
    return [
        (
            place.line if (place := consumer.location) else None,
            consumer.value,
            consumer.times,
            consumer.what,
        )
        for consumer in counted.consumers
    ]


def read(line: int | None, **columns: Any) -> Row:
    return {
        "process": 0,
        "thread": 1,
        "step": 3,
        "kind": "item",
        "closure": False,
        "tail": False,
        "count": 1,
        "duration_ns": 5,
        "compile_ns": 0,
        "file": TRAIN if line else None,
        "line": line,
        "function": "train",
        "via": "",
        **columns,
    }


def compilation(ordinal: int, **columns: Any) -> Row:
    return {
        "process": 0,
        "thread": 1,
        "index": ordinal,
        "ordinal": ordinal,
        "launches": 10,
        "step": ordinal,
        "cause": "user torch_xla.sync",
        "graph_hash": f"{ordinal}",
        "memory_bytes": None,
        "file": TRAIN,
        "line": 40,
        "function": "train",
        "via": "",
        **columns,
    }


# Unknown


@pytest.mark.parametrize(
    ("absent", "name", "reason"),
    [
        ("compilation", "compilations_after_warmup", "no record of compilations"),
        ("compilation", "peak_memory", "no record of compilations"),
        ("host_sync", "host_syncs_per_step", "no record of reads"),
        ("step", "host_syncs_per_step", "no steps"),
        ("counter", "fallbacks_per_step", "no counters"),
        ("step", "fallbacks_per_step", "no steps"),
        ("step", "barriers_per_step", "no steps"),
    ],
)
def test_count_without_its_evidence_is_unknown(absent: str, name: str, reason: str) -> None:
    given = complete({table: rows for table, rows in NONE.items() if table != absent})
    (counted,) = [each for each in counts(given, None) if each.name == name]
    assert counted.value is None
    assert (counted.reason or "").startswith(reason)
    assert counted.consumers == []


def test_what_was_looked_for_and_not_found_is_none() -> None:
    names: tuple[CountName, ...] = (
        "compilations_after_warmup",
        "host_syncs_per_step",
        "fallbacks_per_step",
    )
    for name in names:
        assert count(name) == Count(name, 0.0)


def test_step_is_the_median_or_unknown() -> None:
    assert count("step_ms", Steps(10, 3, 4.5)) == Count("step_ms", 4.5)
    for steps in (None, Steps(2, 2, None)):
        assert count("step_ms", steps).value is None
        assert count("step_ms", steps).reason


# Reads


def test_reads_are_counted_a_step_by_line() -> None:
    counted = count(
        "host_syncs_per_step",
        host_sync=[read(41, step=index) for index in range(10)] + [read(45, count=2), read(None)],
    )
    assert counted.value == 1.3
    assert lines(counted) == [(41, 1.0, 10, "item"), (45, 0.2, 2, "item"), (None, 0.1, 1, "item")]
    place = counted.consumers[0].location
    assert place is not None
    assert (place.file, place.function, place.role) == ("train.py", "train", "guilty")


def test_kinds_of_reads_at_a_line_are_named() -> None:
    counted = count("host_syncs_per_step", host_sync=[read(41), read(41, kind="bool")])
    assert lines(counted) == [(41, 0.2, 2, "bool, item")]


@pytest.mark.parametrize("change", [{"closure": True}, {"tail": True}, {"process": 7}], ids=str)
def test_reads_outside_of_the_loop_do_not_count(change: Row) -> None:
    assert count("host_syncs_per_step", host_sync=[read(41, **change)]).value == 0.0


def test_reads_of_a_thread_without_a_loop_count_a_turn_of_the_leading_one() -> None:
    counted = count("host_syncs_per_step", host_sync=[read(41, thread=7, count=20)])
    assert lines(counted) == [(41, 2.0, 20, "item")]


def test_last_turn_reads_after_the_last_barrier() -> None:
    reads = [read(41, step=index) for index in range(1, 10)] + [read(41, tail=True, count=5)]
    assert lines(count("host_syncs_per_step", host_sync=reads)) == [(41, 1.0, 10, "item")]


def test_loop_without_barrier_and_optimizer_turns_with_its_commonest_read() -> None:
    reads = [read(41, count=10, tail=True), read(45, count=5, tail=True)]
    counted = count(
        "host_syncs_per_step", step=[step(0, tail=True, optimizer_steps=0)], host_sync=reads
    )
    assert lines(counted) == [(41, 1.0, 10, "item"), (45, 0.5, 5, "item")]


def test_a_read_or_two_make_no_loop() -> None:
    reads = [read(41, count=2, tail=True), read(45, tail=True)]
    counted = count(
        "host_syncs_per_step", step=[step(0, tail=True, optimizer_steps=0)], host_sync=reads
    )
    assert counted.value == 0.0


def test_one_read_in_a_long_run_is_not_nothing() -> None:
    steps = [step(0, barriers=100_000)]
    counted = count("host_syncs_per_step", step=steps, host_sync=[read(41, step=0)])
    assert counted.value == pytest.approx(1e-5)
    assert counted.consumers[0].value == pytest.approx(1e-5)


def test_reads_are_a_turn_where_a_turn_has_several_barriers() -> None:
    period = [{"process": 0, "thread": 1, "barriers": 2}]
    counted = count(
        "host_syncs_per_step",
        step_period=period,
        host_sync=[read(41, step=2 * index) for index in range(5)],
    )
    assert counted.value == 1.0


def test_loop_without_barriers_turns_with_its_optimizer() -> None:
    tail = [step(0, tail=True, optimizer_steps=20)]
    counted = count("host_syncs_per_step", step=tail, host_sync=[read(41, count=10, tail=True)])
    assert counted.value == 0.5


@pytest.mark.parametrize("of", ["thread", "process"])
def test_each_thread_and_process_has_a_loop_of_its_own_and_the_worst_counts(of: str) -> None:
    steps = STEPS + [step(index, **{of: 2}) for index in range(10)]
    others = (1, 2) if of == "thread" else (0, 1, 2)  # process 1 has no loop
    reads = [read(41, step=index, **{of: each}) for index in range(10) for each in others]
    counted = count("host_syncs_per_step", step=steps, host_sync=[*reads, read(45, **{of: 2})])
    assert counted.value == 1.1
    assert lines(counted) == [(41, 1.0, 10, "item"), (45, 0.1, 1, "item")]


# Barriers


def test_barriers_are_those_of_a_turn_each_line_with_its_part() -> None:
    assert count("barriers_per_step").value == 1.0
    pairs = [step(index, line=40 + index % 2) for index in range(20)]
    period = [{"process": 0, "thread": 1, "barriers": 2}]
    counted = count("barriers_per_step", step=pairs, step_period=period)
    assert counted.value == 2.0
    assert lines(counted) == [(40, 1.0, 10, "barrier"), (41, 1.0, 10, "barrier")]


def test_barriers_of_another_loop_are_no_part_of_a_turn() -> None:
    evaluation = [step(index, line=60) for index in range(10, 15)]
    counted = count("barriers_per_step", step=STEPS + evaluation)
    assert counted.value == pytest.approx(1.0, abs=1e-3)
    assert [row[0] for row in lines(counted)] == [40, 60]


def test_barriers_of_two_threads_are_not_added_up() -> None:
    counted = count(
        "barriers_per_step", step=STEPS + [step(index, thread=2) for index in range(10)]
    )
    assert counted.value == 1.0
    assert lines(counted) == [(40, 1.0, 10, "barrier")]


# Compilations


def test_compilations_count_from_the_fourth_launch_of_their_line_on() -> None:
    counted = count(
        "compilations_after_warmup", compilation=[compilation(ordinal) for ordinal in range(6)]
    )
    assert counted.value == 3.0
    assert [row[:3] for row in lines(counted)] == [(40, 3.0, 3)]
    assert counted.consumers[0].what
    assert count("compilations_after_warmup", compilation=[compilation(2)]).value == 0.0


def test_compilations_of_the_process_that_has_most() -> None:
    counted = count(
        "compilations_after_warmup",
        compilation=[compilation(5), compilation(5, process=1), compilation(6, process=1, line=50)],
    )
    assert counted.value == 2.0
    assert {row[0] for row in lines(counted)} == {40, 50}


def test_where_barriers_lack_all_but_the_first_compilations_count() -> None:
    tail = [step(0, tail=True, optimizer_steps=20)]
    counted = count(
        "compilations_after_warmup",
        step=tail,
        compilation=[compilation(index) for index in range(5)],
    )
    assert (counted.value, lines(counted)) == (2.0, [(40, 2.0, 2, "missing barrier")])


# Fallbacks


def test_operators_on_the_cpu_are_counted_a_step_by_line() -> None:
    counted = count(
        "fallbacks_per_step",
        counter=[
            {"process": 0, "name": "aten::nonzero", "value": 12},
            {"process": 0, "name": "aten::_local_scalar_dense", "value": 9},
            {"process": 0, "name": "xla::add", "value": 99},
        ],
        fallback_count=[
            {"process": 0, "step": index, "tail": False, "name": "aten::nonzero", "value": 1}
            for index in range(10)
        ],
        fallback=[
            {
                "process": 0,
                "op": "aten::nonzero",
                "count": 2,
                "duration_ns": 5,
                "compile_ns": 0,
                "file": TRAIN,
                "line": 33,
                "function": "train",
                "via": "",
            }
        ],
    )
    assert counted.value == 1.0
    assert lines(counted) == [(33, 1.0, 8, "aten::nonzero")]


# Memory


def test_memory_is_that_of_the_largest_graph() -> None:
    counted = count(
        "peak_memory",
        compilation=[
            compilation(0, memory_bytes=100),
            compilation(1, memory_bytes=900, cause="user step"),
            compilation(2, memory_bytes=300, line=50),
        ],
    )
    assert (counted.value, counted.reason) == (900.0, None)
    assert lines(counted) == [(40, 900.0, 2, "user step"), (50, 300.0, 1, "user torch_xla.sync")]


def test_memory_of_some_graphs_alone_is_a_part() -> None:
    counted = count("peak_memory", compilation=[compilation(0, memory_bytes=100), compilation(1)])
    assert counted.value == 100.0
    assert counted.reason == "torch_xla's log does not say how much memory 1 of 2 graphs take"


def test_memory_that_no_log_tells_is_unknown() -> None:
    assert count("peak_memory", compilation=[compilation(0)]).value is None
    assert count("peak_memory").value is None
