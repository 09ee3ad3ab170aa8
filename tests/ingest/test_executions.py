"""When the graphs that the loop launched ran: by the busy time of devices, or by their modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.loop_trace import Trace, executions
from tests.ingest.test_timeline import read
from tests.xspace import builder


def test_execution_is_the_busy_time_until_the_next_is_taken_up(tmp_path: Path) -> None:
    trace = Trace().barrier(100).run(50, 90).run(150, 200).run(300, 1300)
    trace.barrier(1100).run(1400, 1500).barrier(2100)

    runs = executions(read(tmp_path, trace.space).database)
    assert runs[:2] == [(119, 150, 1120), (1119, 1120, 1500)]


def test_execution_without_busy_time_lasts_none(tmp_path: Path) -> None:
    trace = Trace().barrier(100).run(150, 600).barrier(1100).barrier(2100).run(2150, 2600)

    runs = executions(read(tmp_path, trace.space).database)
    assert runs[:2] == [(119, 150, 600), (1119, 1120, 1120)]


def on_device(
    modules: list[tuple[float, float]], number: int = 0, trace: Trace | None = None
) -> Trace:
    """A loop of four steps whose device tells when it ran what; it was busy for most of that."""
    trace = trace or Trace().barrier(100).barrier(1100).barrier(2100).barrier(3100)
    plane = trace.space.plane(f"/device:TPU:{number}")
    lines = plane.line("XLA Modules"), plane.line("XLA Ops")
    for begin, end in modules:
        lines[0].event("SyncTensorsGraph.7(1)", begin, end - begin)
        lines[1].event("fusion.1", begin + 10, end - begin - 20)
    return trace


def test_executions_of_a_device_are_its_modules_in_order(tmp_path: Path) -> None:
    """However late: the host may be steps ahead. One before the first launch is another's."""
    modules: list[tuple[float, float]] = [
        (20, 60),
        (1500, 1600),
        (1600, 2500),
        (2600, 2700),
        (3200, 3300),
    ]
    launches = executions(read(tmp_path, on_device(modules).space).database)
    assert [(begin, end) for _, begin, end in launches] == modules[1:]
    assert [launched for launched, _, _ in launches] == [119, 1119, 2119, 3119]


@pytest.mark.parametrize(
    "modules",
    [
        [(200, 900), (2200, 2300), (3200, 3300)],
        [(200, 500), (600, 900), (2200, 2300), (3200, 3300)],
    ],
    ids=["too few", "one before its launch"],
)
def test_modules_that_do_not_fit_the_launches_leave_the_busy_time(
    modules: list[tuple[float, float]], tmp_path: Path
) -> None:
    launches = executions(read(tmp_path, on_device(modules).space).database)
    runs = [(begin, end) for _, begin, end in launches]
    assert runs[:3] == [(210, 890), (1120, 1120), (2210, 2290)]


def test_executions_are_those_of_the_busiest_device(tmp_path: Path) -> None:
    trace = on_device([(at, at + 100) for at in (200, 1200, 2200, 3200)])
    on_device([(at, at + 600) for at in (200, 1200, 2200, 3200)], 1, trace)
    database = read(tmp_path, trace.space).database

    assert [end for *_, end in executions(database)] == [800, 1800, 2800, 3800]
    assert database.scalar("SELECT list_distinct(list(device)) FROM device_execution") == [1]


# By the numbers of runs


def numbered(
    calls: list[tuple[float, str]],
    runs: list[tuple[float, float, str]],
    other: tuple[float, str] | None = None,
) -> builder.Space:
    """Calls of compiled functions by the loop's thread and another one, and runs of their programs.

    Each run is of two operations, and the wait for the second's end, which names no program.
    """
    space = builder.Space()
    host = space.plane("/host:CPU")
    loop = host.line("python").event("train", 0, 4000, step_num=0)
    for at, name in calls:
        loop.event(f"PjitFunction({name})", at, 10)
    if other:
        host.line("loader").event(f"PjitFunction({other[1]})", other[0], 10)
    client = host.line("tf_XLAPjRtCpuClient/2")
    for number, (begin, end, name) in enumerate(runs):
        program: dict[str, builder.Ref | int] = {
            "hlo_module": builder.Ref(f"jit_{name}"),
            "run_id": number - 3,
        }
        client.event("dot", begin, 5, hlo_op=builder.Ref("dot"), **program)
        client.event("tanh", begin + 6, 1, hlo_op=builder.Ref("tanh"), **program)
        client.event(
            "ThunkExecutor::Execute (wait for completion)",
            begin + 7,
            end - begin - 7,
            run_id=number - 3,
        )
    return space


def test_runs_are_those_of_their_calls_however_far_ahead_the_host_is(tmp_path: Path) -> None:
    """The second call comes before the first one's run; what ran before all calls is another's."""
    space = numbered(
        [(at, "step") for at in (100, 200, 1000, 1600, 2400)],
        [
            (20, 150, "step"),
            (250, 900, "step"),
            (950, 1500, "step"),
            (1550, 2300, "step"),
            (2300, 2900, "step"),
            (2950, 3500, "step"),
        ],
    )
    assert executions(read(tmp_path, space).database) == [
        (100, 250, 900),
        (200, 950, 1500),
        (1000, 1550, 2300),
        (1600, 2300, 2900),
        (2400, 2950, 3500),
    ]


def test_runs_of_other_programs_and_threads_are_not_mistaken(tmp_path: Path) -> None:
    """One may run while another does: time belongs to the one that began first."""
    space = numbered(
        [(100, "step"), (200, "log"), (1000, "step"), (1100, "log")],
        [
            (110, 900, "step"),
            (210, 230, "log"),
            (300, 950, "augment"),
            (1010, 1900, "step"),
            (1910, 1930, "log"),
        ],
        other=(290, "augment"),
    )
    assert executions(read(tmp_path, space).database) == [
        (100, 110, 900),
        (200, 230, 230),
        (1000, 1010, 1900),
        (1100, 1910, 1930),
    ]


def test_calls_and_runs_with_other_names_belong_together(tmp_path: Path) -> None:
    space = numbered(
        [(100, "<unnamed function>"), (500, "<unnamed function>")],
        [(150, 400, "wrapped"), (550, 700, "wrapped")],
    )
    runs = executions(read(tmp_path, space).database)
    assert runs == [(100, 150, 400), (500, 550, 700)]


def test_what_was_left_to_do_at_the_end_takes_as_long_as_it_usually_does(tmp_path: Path) -> None:
    calls = [(at, "step") for at in (100, 200, 300, 400)] + [(950.0, "other")]
    space = numbered(calls, [(150, 450, "step"), (500, 800, "step")])
    assert executions(read(tmp_path, space).database) == [
        (100, 150, 450),
        (200, 500, 800),
        (300, 800, 1100),
        (400, 1100, 1400),
        (950, 950, 950),
    ]
