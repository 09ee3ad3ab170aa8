"""The account of the wall time: its parts, and what accounts for them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import PACK, Row, complete, evidence, finding, location, step
from xladoctor.diagnosis.account import time_spent
from xladoctor.diagnosis.finding import Claim, Cost, Finding, Saving
from xladoctor.diagnosis.interface import TimeParts, TimeSpent
from xladoctor.diagnosis.unexplained import explain
from xladoctor.evidence.interface import Evidence

SECOND = 10**9
#: Of the run: its begin, in nanoseconds of the wall clock.
BEGAN = 1000 * SECOND


def parts(time: TimeSpent) -> dict[str, float]:
    """Those that are not zero."""
    return {name: seconds for name, seconds in asdict(time.parts or TimeParts()).items() if seconds}


def at(index: int, begin_s: float, end_s: float, **spent_s: float) -> Row:
    """A step from and to seconds of the run, with what it spent."""
    columns = {f"{name}_ns": int(seconds * SECOND) for name, seconds in spent_s.items()}
    return step(
        index,
        begin_ns=BEGAN + int(begin_s * SECOND),
        end_ns=BEGAN + int(end_s * SECOND),
        duration_ns=int((end_s - begin_s) * SECOND),
        **columns,
    )


def of_run(tables: dict[str, list[Row]], seconds: float = 20.0) -> Evidence:
    return complete(tables, began_ns=BEGAN, ended={"seconds": seconds})


# Parts


def test_run_is_start_up_loop_and_what_came_after() -> None:
    time = time_spent(
        of_run(
            {
                "step": [
                    at(0, 5, 7, compile=1.0, barrier=1.0),
                    at(1, 7, 9, read=0.5, input=0.5, barrier=1.0),
                    at(2, 9, 11, upload=0.5, save=0.5, barrier=0.5),
                ]
            }
        )
    )

    assert parts(time) == {
        "startup_s": 5.0,
        "compile_s": 1.0,
        "read_s": 0.5,
        "input_s": 0.5,
        "barrier_s": 2.5,
        "upload_s": 0.5,
        "save_s": 0.5,
        "python_s": 0.5,
        "after_s": 9.0,
    }
    assert (time.total_s, time.loop_s, time.whole_s) == (20.0, 6.0, 20.0)


def test_what_the_capture_took_is_its_own() -> None:
    rows = [at(0, 5, 6), {**at(1, 6, 8), "duration_ns": SECOND}]
    process = {"process": 0, "ended": True, "exit_ns": 30, "ended_ns": 30 + 2 * SECOND}
    time = time_spent(of_run({"step": rows, "process": [process]}))
    assert parts(time) == {"startup_s": 5.0, "python_s": 2.0, "after_s": 10.0, "capture_s": 3.0}


def test_first_step_has_the_set_up_of_the_model() -> None:
    time = time_spent(of_run({"step": [at(0, 5, 9), at(1, 9, 10), at(2, 10, 11)]}, 11.0))
    assert parts(time) == {"startup_s": 8.0, "python_s": 3.0}
    assert time.loop_s == 3.0


def test_without_begin_and_end_the_loop_is_all() -> None:
    time = time_spent(complete({"step": [at(0, 5, 9, barrier=4.0)]}))
    assert parts(time) == {"barrier_s": 4.0}
    assert (time.total_s, time.loop_s, time.whole_s) == (None, 4.0, 4.0)


spent = st.floats(0, 2)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(spent, spent, spent, spent), min_size=1, max_size=6), spent)
def test_parts_add_up_to_the_whole(steps: list[tuple[float, ...]], after: float) -> None:
    rows, now = [], 3.0
    for index, (compiling, reading, barrier, python) in enumerate(steps):
        end = now + compiling + reading + barrier + python
        rows.append(at(index, now, end, compile=compiling, read=reading, barrier=barrier))
        now = end
    time = time_spent(of_run({"step": rows}, now + after))
    assert sum(parts(time).values()) == pytest.approx(now + after, abs=1e-6)


def test_time_is_of_the_thread_that_took_longest() -> None:
    rows = [step(0), step(0, thread=2, duration_ns=3 * SECOND), step(0, process=1)]
    assert time_spent(complete({"step": rows})).loop_s == 3.0


def test_time_after_the_last_barrier_is_no_loop_unless_there_is_no_barrier() -> None:
    tail = step(1, tail=True, duration_ns=9 * SECOND)
    assert time_spent(complete({"step": [step(0), tail]})).loop_s == 0.001
    assert time_spent(complete({"step": [tail]})).loop_s == 9.0
    assert time_spent(complete({"step": [{**tail, "main": False}]})).loop_s is None


@pytest.mark.parametrize(("ended", "loop_s"), [(True, 0.001), (False, 9.001)])
def test_of_a_program_that_was_cut_short_it_is_loop(ended: bool, loop_s: float) -> None:
    tables = {
        "step": [step(0), step(1, tail=True, duration_ns=9 * SECOND)],
        "process": [{"process": 0, "ended": ended}],
    }
    assert time_spent(complete(tables)).loop_s == loop_s


def test_what_the_last_turn_compiles_is_the_loops() -> None:
    steps = [at(0, 5, 9), at(1, 9, 10), at(2, 10, 11, compile=0.5), step(3, tail=True)]
    compilations = [
        {
            "process": 0,
            "thread": 1,
            "index": index,
            "step": index,
            "ordinal": 3 * index,
            "launches": 10,
            "file": "train.py",
            "line": 40,
            "duration_ns": SECOND // 2,
        }
        for index in (2, 3)
    ]
    time = time_spent(of_run({"step": steps, "compilation": compilations}))
    assert parts(time)["compile_s"] == 1.0
    assert parts(time)["after_s"] == pytest.approx(8.5)
    assert time.total_s == pytest.approx(20)


def test_without_barriers_the_loop_ends_with_its_last_read() -> None:
    tail = {**at(0, 5, 15, compile=6.0), "tail": True}
    cuts = [{**at(0, 5, 12, compile=6.0), "ended_by": "read"}, {**at(0, 12, 15), "ended_by": "end"}]
    others = {
        "index",
        "tail",
        "barriers",
        "ordinal",
        "executions",
        "log_offset",
        "traced",
        "probed",
    }
    cuts = [{key: value for key, value in cut.items() if key not in others} for cut in cuts]
    time = time_spent(of_run({"step": [tail], "cut": cuts}))
    assert parts(time) == {
        "startup_s": 5.0,
        "compile_s": 6.0,
        "python_s": 1.0,
        "after_s": 8.0,
    }


def test_without_steps_there_are_no_parts() -> None:
    assert time_spent(complete({})) == TimeSpent(None, None, None, None)


def test_compiling_in_the_first_launches_is_warm_up() -> None:
    compilations = [
        {"process": p, "ordinal": ordinal, "duration_ns": SECOND}
        for p, ordinal in ((0, 0), (0, 2), (0, 3), (1, 0))
    ]
    rows = [step(i, duration_ns=10 * SECOND, compile_ns=SECOND) for i in range(3)]
    time = time_spent(complete({"step": rows, "compilation": compilations}))
    assert time.warmup_compile_s == 2.0
    assert (time.parts or TimeParts()).compile_s == 1.0


def test_functions_that_a_line_calls_before_the_loop_are_warm_up_however_many() -> None:
    """Making a model launches one operation after the other; a late shape of the step is none."""
    made = [
        {
            "process": 0,
            "thread": 1,
            "index": n,
            "ordinal": n,
            "launches": 5,
            "step": 0,
            "file": "train.py",
            "line": 8,
            "via": "init",
            "cause": f"jit(f{n})",
            "duration_ns": SECOND,
        }
        for n in range(5)
    ]
    late = {
        **made[0],
        "index": 5,
        "ordinal": 8,
        "launches": 9,
        "step": 8,
        "line": 40,
        "via": "",
        "cause": "jit(step)",
    }
    rows = [
        step(i, duration_ns=10 * SECOND, compile_ns={0: 5, 8: 1}.get(i, 0) * SECOND)
        for i in range(9)
    ]
    run = complete({"step": rows, "compilation": [*made, late]})
    assert (parts(time_spent(run))["warmup_compile_s"], parts(time_spent(run))["compile_s"]) == (
        5.0,
        1.0,
    )
    lines = run.database.rows("SELECT part, line, share FROM time_line ORDER BY line")
    assert [tuple(row.values()) for row in lines] == [
        ("warmup_compile", 8, 1.0),
        ("compile", 40, 1.0),
    ]


def test_what_another_thread_compiled_before_the_loop_is_no_start_up() -> None:
    """Callbacks make a loop on another thread than the one that compiled their launch."""
    loop = [{**at(0, 9, 10, compile=0.5), "thread": 2}, {**at(1, 10, 12), "thread": 2}]
    compiled = {
        "process": 0,
        "thread": 1,
        "index": 0,
        "ordinal": 0,
        "duration_ns": 3 * SECOND,
        "end_ns": BEGAN + 8 * SECOND,
        "file": "train.py",
        "line": 8,
    }
    callback = {
        **compiled,
        "thread": 2,
        "index": 1,
        "duration_ns": SECOND // 2,
        "line": 50,
        "end_ns": BEGAN + 10 * SECOND,
    }
    tail = {**at(0, 5, 20), "tail": True, "main": True}
    time = time_spent(of_run({"step": [*loop, tail], "compilation": [compiled, callback]}))
    assert parts(time) == {
        "startup_s": 6.0,
        "warmup_compile_s": 3.5,
        "python_s": 2.5,
        "after_s": 8.0,
    }


def sample(count: int, line: int = 30, **columns: Any) -> Row:
    return {
        "process": 0,
        "phase": "loop",
        "thread": 1,
        "main": True,
        "doing": None,
        "in_framework": False,
        "tracing": False,
        "file": "train.py",
        "line": line,
        "count": count,
        **columns,
    }


def test_samples_tell_recording_operations_from_other_python() -> None:
    samples = [sample(30, tracing=True), sample(10), sample(90, doing="barrier")]
    time = time_spent(complete({"step": [at(0, 5, 9)], "host_sample": samples}))
    assert parts(time) == {"tracing_s": 3.0, "python_s": 1.0}


def test_few_samples_tell_nothing() -> None:
    samples = [sample(9, tracing=True)]
    time = time_spent(complete({"step": [at(0, 5, 9)], "host_sample": samples}))
    assert parts(time) == {"python_s": 4.0}


def test_timeline_tells_dispatch_and_device_work_from_waiting() -> None:
    timeline = {"process": 0, "step": 0, "wait_ns": 3 * SECOND, "dispatch_ns": SECOND}
    device = {"process": 0, "step": 0, "idle_wait_ns": 0.6 * SECOND}
    time = time_spent(
        complete(
            {
                "step": [at(0, 5, 10, barrier=4.0, read=1.0)],
                "timeline_step": [timeline],
                "device_step": [
                    {**device, "device": 0},
                    {**device, "device": 1, "idle_wait_ns": 0.9 * SECOND},
                ],
            }
        )
    )
    assert parts(time) == {"barrier_s": 3.0, "dispatch_s": 1.0, "read_s": 1.0}
    assert time.device_s == pytest.approx(3.2)


@pytest.mark.parametrize("tracing", [0, None])
def test_a_graph_that_runs_within_the_call_that_launches_it_is_waited_for(
    tracing: int | None,
) -> None:
    steps = [at(n, 2.0 * n, 2.0 * n + 2, read=0.2) for n in range(10)]
    timeline = {
        "process": 0,
        "step": 5,
        "steady": True,
        "duration_ns": 2 * SECOND,
        "wait_ns": 1.4 * SECOND,
        "dispatch_ns": 0.4 * SECOND,
        "tracing_ns": tracing,
    }
    device = {"process": 0, "device": 0, "step": 5, "idle_wait_ns": 0}
    time = time_spent(
        complete(
            {
                "step": steps,
                "host_sample": [sample(80, tracing=True), sample(20)],
                "timeline_step": [timeline],
                "device_step": [device],
            },
            frontend="jax",
        )
    )
    # of 18 s of Python 14.4 are calls, in which the host waits for three of four parts
    assert parts(time) == pytest.approx(
        {
            "read_s": 2.0,
            "barrier_s": 10.8,
            "dispatch_s": 3.6,
            "python_s": 3.6,
        }
    )
    assert time.device_s == pytest.approx(12.8)


def test_arguments_that_are_sent_within_a_call_are_uploads() -> None:
    steps = [at(n, 2.0 * n, 2.0 * n + 2, upload=0.1) for n in range(10)]
    timeline = {
        "process": 0,
        "step": 5,
        "steady": True,
        "duration_ns": 2 * SECOND,
        "wait_ns": 0,
        "upload_ns": 1.3 * SECOND,
        "dispatch_ns": 0.4 * SECOND,
    }
    time = time_spent(
        complete(
            {
                "step": steps,
                "host_sample": [sample(80, tracing=True), sample(20)],
                "timeline_step": [timeline],
            },
            frontend="jax",
        )
    )
    # of 19 s of Python 15.2 are calls, which send for three of four parts
    assert parts(time) == pytest.approx({"upload_s": 12.4, "dispatch_s": 3.8, "python_s": 3.8})


def test_a_timeline_without_the_waits_of_other_steps_tells_nothing_of_them() -> None:
    timeline = {"process": 0, "step": 0, "wait_ns": 1000, "dispatch_ns": 0}
    device = {"process": 0, "step": 0, "device": 0, "idle_wait_ns": 900}
    time = time_spent(
        complete(
            {
                "step": [at(0, 5, 10, read=4.0)],
                "timeline_step": [timeline],
                "device_step": [device],
            }
        )
    )
    assert parts(time)["read_s"] == 4.0
    assert time.device_s is None


# What accounts for it


def reading(seconds: float, line: int = 43) -> Finding:
    """A read that costs so much."""
    saving = Saving(seconds, None, None, "estimate", assumes=[Claim("remove", "read")])
    return finding(
        cost=Cost(seconds, None, "measured"), saving=saving, locations=[location(line=line)]
    )


READS = [
    {
        "process": 0,
        "thread": 1,
        "step": 0,
        "tail": False,
        "kind": "item",
        "closure": False,
        "count": 1,
        "duration_ns": duration,
        "file": "train.py",
        "line": line,
    }
    for line, duration in ((43, 6), (50, 2))
]


def explained(*findings: Finding, seconds: float = 10.0) -> TimeSpent:
    """Of a run: five seconds of start-up, four of reads, one of Python."""
    run = of_run(
        {"step": [at(0, 5, 10, read=4.0)], "host_sync": READS, "host_sample": [sample(40)]}, seconds
    )
    return explain(run, time_spent(run), findings, PACK)


def test_what_no_finding_accounts_for_is_named_by_its_lines() -> None:
    time = explained(reading(3.0))

    assert time.explained is not None
    assert (time.explained.findings_s, time.explained.overhead_s) == (3.0, 5.0)
    assert (time.explained.named_s, time.explained.share) == (2.0, 1.0)
    rest = {
        part.part: (part.seconds, [(at.line, at.seconds) for at in part.lines])
        for part in time.unexplained
    }
    assert rest == {"read": (1.0, [(50, 0.25)]), "python": (1.0, [(30, 1.0)])}


def test_a_line_of_a_finding_about_other_time_is_named() -> None:
    assert ("python", [30]) in [
        (part.part, [at.line for at in part.lines])
        for part in explained(reading(3.0, line=30)).unexplained
    ]


def test_finding_accounts_for_no_more_than_its_part_of_the_time() -> None:
    time = explained(reading(3.0), reading(3.0, line=50))
    assert time.explained is not None
    assert time.explained.findings_s == 4.0
    assert [part.part for part in time.unexplained] == ["python"]


def test_what_came_after_the_loop_has_its_own_lines() -> None:
    """A loop of four steps, and an evaluation: 3 s of compiling, 1 s of a read."""
    steps = [at(index, 5 + index, 6 + index) for index in range(4)]
    tail = {**at(4, 9, 14, compile=3.0, read=1.0), "tail": True}
    compiled = {
        "process": 0,
        "thread": 1,
        "step": 4,
        "ordinal": 0,
        "index": 0,
        "launches": 1,
        "duration_ns": 3 * SECOND,
        "file": "train.py",
        "line": 60,
    }
    read = {**READS[0], "step": 4, "tail": True, "duration_ns": SECOND, "line": 61}
    run = of_run({"step": [*steps, tail], "compilation": [compiled], "host_sync": [read]})

    time = explain(run, time_spent(run), [], PACK)

    (after,) = [part for part in time.unexplained if part.part == "after"]
    assert after.seconds == 11.0
    assert [(at.line, at.seconds) for at in after.lines] == [(60, 3.0), (61, 1.0)]


def test_time_without_lines_is_not_explained() -> None:
    run = of_run({"step": [at(0, 5, 10)]}, 10.0)
    time = explain(run, time_spent(run), [], PACK)
    assert time.explained is not None
    assert time.explained.share == 0.5
    assert [(part.part, part.lines) for part in time.unexplained] == [("python", [])]


def test_little_is_not_worth_naming() -> None:
    assert explained(reading(4.0), seconds=1000.0).unexplained == []


def test_without_parts_nothing_is_explained() -> None:
    time = TimeSpent(3.0, None, None, None)
    assert explain(evidence({}), time, [], PACK) == time
