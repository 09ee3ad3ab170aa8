"""When the graphs that the loop launched ran: by the busy time of devices, or by their modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.loop_trace import Trace, executions
from tests.ingest.test_timeline import read


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
        (20, 60), (1500, 1600), (1600, 2500), (2600, 2700), (3200, 3300),
    ]  # fmt: skip
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
