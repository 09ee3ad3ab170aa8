"""The dependency graph of a timeline: the loop's segments, and the executions that it launched."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.loop_trace import FILE, LINE, Trace, calls, executions, loop, segments
from tests.ingest.test_timeline import ORIGIN, read
from tests.support import Row, rows
from tests.xspace import builder, devices
from tests.xspace.schema import message
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.timeline.read import TimelineFile, read_timeline

#: name, begin and length in microseconds
Event = tuple[str, int, int]
CALLS = ("read", "input", "save", "upload")


# Segments


def test_a_step_is_python_and_its_barrier_cut_at_the_launch(tmp_path: Path) -> None:
    database = read(tmp_path, loop().space).database

    assert segments(database, "step = 1") == [
        ("python", None, 130, 1100, None, None),
        ("dispatch", "barrier", 1100, 1109, None, None),
        ("wait", "barrier", 1109, 1111, None, 0),
        ("dispatch", "barrier", 1111, 1119, 1, None),
        ("dispatch", "barrier", 1119, 1130, None, None),
    ]


def test_steps_part_segments_that_are_alike(tmp_path: Path) -> None:
    trace = loop(2)
    trace.call("save", 90, 300)  # the first barrier is in it

    saves = segments(read(tmp_path, trace.space).database, "region = 'save'")
    assert (saves[0][2], saves[-1][3]) == (90, 300)
    assert 130 in [begin for _, _, begin, *_ in saves]


def test_waits_shorter_than_a_microsecond_are_python(tmp_path: Path) -> None:
    trace = loop(2)
    trace.python.event("Wait for usage holds", 700, 0.999).event("Wait for usage holds", 800, 1)

    assert segments(read(tmp_path, trace.space).database, "step = 1 AND region IS NULL") == [
        ("python", None, 130, 800, None, None),
        ("wait", None, 800, 801, None, 0),
        ("python", None, 801, 1100, None, None),
    ]


_NAMES = st.sampled_from(
    [
        "SyncTensorsGraphInternal",
        "ScheduleSyncTensorsGraph",
        "TensorCollectionBarrier",
        "PjRtComputationClient::ExecuteComputation",
        "PjRtComputationClient::TransferFromDevice",
        "PjRtComputationClient::TransferToDevice",
        "ThunkExecutor::Execute",
        "Wait for usage holds",
        "XLAGraphExecutor::Compile",
        *(f"xladoctor.{kind}" for kind in CALLS),
        "unknown",
    ]
)
_EVENTS = st.tuples(_NAMES, st.integers(0, 300), st.integers(1, 60))
_LAYOUTS = st.dictionaries(
    st.sampled_from(["pt_autograd_0", "tf_pytorchxla/3", "tf_XLAPjRtCpuClient/4"]),
    st.lists(_EVENTS, min_size=1, max_size=12),
)


def tables(space: builder.Space, file: Path) -> dict[str, list[Row]]:
    """Steps, segments and executions, without the database, which takes most of the time."""
    written = message("XSpace").FromString(space.bytes())
    for line in written.planes[0].lines:  # profilers write a thread's events in order
        line.events.sort(key=lambda event: event.offset_ps)
    file.write_bytes(written.SerializeToString())
    ingested = Ingested()
    shown = read_timeline(TimelineFile(file), Folders(), ingested.of(0))
    texts = ("activity", "region", "file")
    return {
        name: rows(
            {column: values.tolist() for column, values in columns.items() if column not in texts}
        )
        for name, columns in (*ingested.batches, *shown.of_steps)
        if name in ("timeline_step", "host_segment", "device_execution")
    }


@settings(deadline=None)
@given(
    barriers=st.lists(st.integers(0, 300), max_size=4),
    events=st.lists(_EVENTS, max_size=12),
    threads=_LAYOUTS,
)
def test_segments_cover_the_steps_whatever_they_are_made_of(
    barriers: list[int],
    events: list[Event],
    threads: dict[str, list[Event]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    trace = Trace().run(50, 60)
    for at in (*barriers, 400):
        trace.barrier(at)
    for line, own in ((trace.python, events), *((trace.thread(n), e) for n, e in threads.items())):
        for event in own:
            line.event(*event)

    by_name = tables(trace.space, tmp_path_factory.getbasetemp() / "layout.xplane.pb")
    steps, parts, runs = (
        by_name[name] for name in ("timeline_step", "host_segment", "device_execution")
    )
    edges = [part["begin_ns"] for part in parts] + [steps[-1]["end_ns"]]
    assert edges[0] == steps[0]["begin_ns"]
    assert [part["duration_ns"] for part in parts] == [b - a for a, b in pairwise(edges)]
    assert min(part["duration_ns"] for part in parts) > 0

    launched = [(part["launches"], end) for part, end in zip(parts, edges[1:], strict=True)]
    assert [(run, at) for run, at in launched if run is not None] == [
        (run["execution"], run["launched_ns"]) for run in runs
    ]
    assert all(run["begin_ns"] <= run["end_ns"] for run in runs)
    awaited = [(part["awaits"], end) for part, end in zip(parts, edges[1:], strict=True)]
    assert all(runs[run]["launched_ns"] < at for run, at in awaited if run is not None)


# Waits


def test_read_awaits_its_own_execution_and_the_barrier_the_one_before(tmp_path: Path) -> None:
    trace = loop()
    trace.call("read", 1700, 1900).graph(1702).run(1750, 1820).transfer("From", 1730, 1850)

    waits = segments(read(tmp_path, trace.space).database, "activity = 'wait'")
    assert [(region, begin, awaits) for _, region, begin, _, _, awaits in waits] == [
        ("barrier", 109, None),  # nothing was launched yet
        ("barrier", 1109, 0),
        ("read", 1700, 1),  # before its graph
        ("read", 1707, 1),
        ("read", 1722, 2),
        ("barrier", 2109, 2),
    ]


@pytest.mark.parametrize(("late", "awaited"), [(40, 1), (60, 0)])
def test_execution_may_end_a_little_after_the_wait_for_it(
    late: float, awaited: int, tmp_path: Path
) -> None:
    trace = Trace().barrier(100).run(150, 650).barrier(1100).run(1150, 1500 + late)
    trace.transfer("From", 1200, 1500).barrier(2100)

    waits = segments(read(tmp_path, trace.space).database, "begin_ns = 1200000")
    assert [awaits for *_, awaits in waits] == [awaited]


# Calls


@pytest.mark.parametrize(
    ("kind", "activity"),
    [("read", "wait"), ("input", "input"), ("save", "save"), ("upload", "upload")],
)
def test_calls_are_regions_with_their_line(kind: str, activity: str, tmp_path: Path) -> None:
    trace = loop(2).call(kind, 700, 800)
    trace.python.event(f"xladoctor.{kind}", 900, 50)  # its line is unknown
    database = read(tmp_path, trace.space).database

    parts = database.rows("SELECT * FROM host_segment WHERE region = $kind", {"kind": kind})
    assert [row["activity"] for row in parts] == [activity] * 2
    assert [(row["file"], row["line"]) for row in parts] == [(FILE, 35), (None, None)]
    assert calls(database) == [
        ("barrier", 100, 130),
        (kind, 700, 800),
        (kind, 900, 950),
        ("barrier", 1100, 1130),
    ]


def test_nested_calls_belong_to_the_outermost(tmp_path: Path) -> None:
    trace = loop(2).call("save", 700, 800)
    trace.python.event("xladoctor.read", 710, 80, file=FILE, line=99)
    trace.graph(720).transfer("From", 745, 780)
    database = read(tmp_path, trace.space).database

    assert calls(database)[1:2] == [("save", 700, 800)]
    assert (
        database.scalar(
            "SELECT launches FROM host_segment WHERE region = 'save' AND launches IS NOT NULL"
        )
        == 1
    )
    assert database.scalar(
        "SELECT list_distinct(list(line)) FROM host_segment WHERE region = 'save'"
    ) == [35]


def test_cut_is_one_region_that_ends_with_the_upload(tmp_path: Path) -> None:
    trace = loop(2).graph(700).run(730, 740).transfer("From", 750, 780).transfer("To", 850, 860)
    database = read(tmp_path, trace.space).database

    assert calls(database)[1] == ("cut", 700, 860)
    assert segments(database, "region = 'cut'") == [
        ("dispatch", "cut", 700, 705, None, None),
        ("wait", "cut", 705, 707, None, 0),
        ("dispatch", "cut", 707, 715, 1, None),
        ("dispatch", "cut", 715, 720, None, None),
        ("python", "cut", 720, 750, None, None),
        ("wait", "cut", 750, 780, None, 1),
        ("python", "cut", 780, 850, None, None),
        ("upload", "cut", 850, 860, None, None),
    ]


def test_fetch_outside_other_calls_is_a_cut_too(tmp_path: Path) -> None:
    trace = loop(2).transfer("From", 750, 780).transfer("To", 850, 860)
    assert calls(read(tmp_path, trace.space).database)[1] == ("cut", 750, 860)


@pytest.mark.parametrize("kind", CALLS)
def test_cut_does_not_reach_beyond_another_call(kind: str, tmp_path: Path) -> None:
    trace = loop(2).graph(700).call(kind, 800, 900).transfer("To", 810, 890)
    regions = calls(read(tmp_path, trace.space).database)[1:3]
    assert regions == [("cut", 700, 720), (kind, 800, 900)]


def test_cut_does_not_reach_beyond_the_barrier(tmp_path: Path) -> None:
    trace = loop().graph(700).transfer("To", 1200, 1250)
    regions = calls(read(tmp_path, trace.space).database)
    assert regions[1:3] == [("cut", 700, 720), ("barrier", 1100, 1130)]


# Threads


def test_autograds_thread_is_part_of_the_loop(tmp_path: Path) -> None:
    trace = loop(2)
    trace.graph(700, trace.thread("pt_autograd_0")).run(730, 740)
    database = read(tmp_path, trace.space).database

    assert executions(database)[:2] == [(119, 150, 650), (715, 730, 740)]
    assert calls(database)[1] == ("cut", 700, 720)


def test_of_two_stepping_threads_only_the_first_is_looked_at(tmp_path: Path) -> None:
    trace = loop()
    trace.graph(700, trace.thread("pt_autograd_0")).barrier(800, trace.thread("python"))
    database = read(tmp_path, trace.space).database

    assert [launched for launched, _, _ in executions(database)] == [119, 1119, 2119]
    assert [begin for _, begin, _ in calls(database)] == [100, 1100, 2100]


def test_loaders_thread_that_only_uploads_is_not_the_loops(tmp_path: Path) -> None:
    trace = loop(2)
    loader = trace.thread("python")
    loader.event("xladoctor.upload", 700, 90, **LINE)
    loader.event("PjRtComputationClient::TransferToDevice", 710, 60)

    parts = segments(read(tmp_path, trace.space).database, "step = 1 AND region IS NULL")
    assert parts == [("python", None, 130, 1100, None, None)]


# Other frameworks, and what is missing


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (devices.tpu, [(105, 110, 190), (230, 236, 290), (340, 345, 390)]),  # the first compiles
        (devices.jax_cpu, [(12, 30, 90), (130, 138, 190), (200, 210, 250)]),
        (
            lambda: devices.jax_cpu("PjRtCpuExecutable::Execute"),
            [(12, 30, 90), (130, 138, 190), (200, 210, 250)],
        ),
    ],
    ids=["tpu", "cpu", "cpu, older"],
)
def test_jax_launches_by_its_own_calls(
    make: Callable[[], builder.Space], expected: list[tuple[float, float, float]], tmp_path: Path
) -> None:
    database = read(tmp_path, make()).database
    assert executions(database, ORIGIN) == expected
    launching = database.table(
        f"SELECT launches, (begin_ns + duration_ns - {ORIGIN}) / 1e3 FROM host_segment"
        " WHERE launches IS NOT NULL ORDER BY segment"
    )[1]
    assert launching == [(number, run[0]) for number, run in enumerate(expected)]


def test_runtime_s_executions_count_where_no_framework_names_its_own(tmp_path: Path) -> None:
    space = builder.Space()
    line = space.plane("/host:CPU").line("python")
    for number in range(3):
        line.event("train", 1000 * number, 1000, step_num=number)
        line.event("PjRtCpuExecutable::Execute", 1000 * number + 100, 20)
        line.event("ThunkExecutor::Execute", 1000 * number + 150, 50)
    runs = executions(read(tmp_path, space).database)
    assert runs == [(at, at + 50, at + 100) for at in (100, 1100, 2100)]


def test_without_steps_the_window_is_the_whole_timeline(tmp_path: Path) -> None:
    trace = Trace().graph(100).run(130, 150).graph(300).run(330, 350)
    database = read(tmp_path, trace.space).database

    assert executions(database) == [(115, 130, 150), (315, 330, 350)]
    parts = segments(database)
    assert (parts[0][2], parts[-1][3]) == (0, 350)
    assert database.scalar("SELECT count(step) FROM host_segment") == 0


def only_a_device() -> builder.Space:
    space = builder.Space()
    space.plane("/device:TPU:0").line("XLA Ops").event("fusion.1", 0, 100)
    return space


@pytest.mark.parametrize(
    "make",
    [lambda: Trace().barrier(100).space, only_a_device, devices.tensorflow],
    ids=["no device", "no thread", "no launch"],
)
def test_timeline_without_the_graph_leaves_both_tables_empty(
    make: Callable[[], builder.Space], tmp_path: Path
) -> None:
    evidence = read(tmp_path, make())
    for table in ("host_segment", "device_execution"):
        assert table in evidence.available
        assert evidence.database.scalar(f"SELECT count(*) FROM {table}") == 0
