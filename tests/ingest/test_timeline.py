"""Steps, breakdowns and devices: on traces whose truth is known, and on every sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.xspace import builder, devices
from tests.xspace.builder import Unsigned
from tests.xspace.truth import Truth
from xladoctor.evidence.interface import Elsewhere, Evidence
from xladoctor.evidence.load import build, load
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.timeline.breakdown import add_steps
from xladoctor.ingest.timeline.intervals import Intervals
from xladoctor.ingest.timeline.read import TimelineFile, read_timeline
from xladoctor.ingest.timeline.steps import Steps

ROOT = Path(__file__).parents[2]
SAMPLES = sorted(path.parent for path in ROOT.glob("sample_traces/*/run.json"))
ORIGIN = 1_700_000_000_000_000_000 + devices.ORIGIN_NS
PARTS = ("compile", "wait", "upload", "input", "save", "dispatch", "tracing", "other", "unrecorded")
TRACES: dict[str, tuple[Callable[[], builder.Space], Truth]] = {
    "tpu": (devices.tpu, devices.TPU),
    "gpu": (devices.gpu, devices.GPU),
    "gpu without derived lines": (lambda: devices.gpu(derived=False), devices.GPU),
    "jax on cpu": (devices.jax_cpu, devices.JAX_CPU),
    "jax on cpu, older": (
        lambda: devices.jax_cpu("TfrtCpuExecutable::Execute"),
        devices.JAX_CPU,
    ),
    "tensorflow": (devices.tensorflow, devices.TENSORFLOW),
    "tensorflow, older": (lambda: devices.tensorflow("TraceContext"), devices.TENSORFLOW),
}


def read(folder: Path, space: builder.Space) -> Evidence:
    path = folder / "host.xplane.pb"
    path.write_bytes(space.bytes())
    ingested = Ingested()
    for table, columns in read_timeline(TimelineFile(path), Folders(), ingested.of(0)).of_steps:
        ingested.of(0).append(table, columns)
    assert ingested.notes == []
    return build(ingested, str(path), Elsewhere("timeline"))


def us(value: Any) -> float:
    return float(value) / 1e3


@pytest.mark.parametrize(("make", "truth"), TRACES.values(), ids=TRACES)
class TestTracesWithAKnownTruth:
    def test_steps(self, make: Callable[[], builder.Space], truth: Truth, tmp_path: Path) -> None:
        evidence = read(tmp_path, make())
        rows = evidence.database.rows("SELECT * FROM timeline_step ORDER BY begin_ns")
        steps = [
            (str(r["step"]), us(r["begin_ns"] - ORIGIN), us(r["end_ns"] - ORIGIN)) for r in rows
        ]
        assert steps == [(s.name, s.begin_us, s.end_us) for s in truth.steps]

    def test_busy_and_idle(
        self, make: Callable[[], builder.Space], truth: Truth, tmp_path: Path
    ) -> None:
        database = read(tmp_path, make()).database
        rows = database.rows("SELECT * FROM device ORDER BY device")
        assert [(r["name"], r["kind"], us(r["busy_ns"])) for r in rows] == [
            (name, device.kind, device.busy_us) for name, device in truth.devices.items()
        ]
        for row, device in zip(rows, truth.devices.values(), strict=True):
            gaps = database.rows(
                "SELECT * FROM idle_gap WHERE device = $device ORDER BY begin_ns",
                {"device": row["device"]},
            )
            idle = [
                (us(g["begin_ns"] - ORIGIN), us(g["duration_ns"]), g["reason"], us(g["reason_ns"]))
                for g in gaps
            ]
            assert idle == [
                (g.begin_us, g.end_us - g.begin_us, g.reason, g.reason_us) for g in device.gaps
            ]

    def test_operations(
        self, make: Callable[[], builder.Space], truth: Truth, tmp_path: Path
    ) -> None:
        database = read(tmp_path, make()).database
        for number, device in enumerate(truth.devices.values()):
            rows = database.rows("SELECT * FROM device_op WHERE device = $n", {"n": number})
            operations = {
                (r["hlo_module"], r["hlo_op"]): (r["count"], us(r["duration_ns"]), us(r["self_ns"]))
                for r in rows
            }
            assert operations == device.operations


def test_a_tpu_whose_clock_is_behind_is_set_right(tmp_path: Path) -> None:
    space, behind = devices.tpu(), 40
    runtime = space.plane("/host:CPU").line("runtime", 99, devices.ORIGIN_NS)
    runs = devices.TPU.devices["/device:TPU:0"]
    for number, (begin, _) in enumerate(devices._TPU_RUNS[0]):  # the second was launched latest
        late = behind if number == 1 else behind - 5
        runtime.event("DoEnqueueProgram", begin + late, 2, run_id=Unsigned(number + 2))
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(space.bytes())
    ingested = Ingested()
    read_timeline(TimelineFile(path), Folders(), ingested.of(0))
    evidence = build(ingested, str(path), Elsewhere("timeline"))

    begins = evidence.database.rows(
        "SELECT begin_ns + duration_ns AS ns FROM idle_gap WHERE device = 0 ORDER BY begin_ns"
    )
    was = [gap.end_us for gap in runs.gaps]
    assert us(begins[0]["ns"] - ORIGIN) == was[0] + behind
    assert any("the clock of /device:TPU:0 was behind by 40" in note for note in ingested.notes)


@pytest.mark.parametrize("known", [True, False])
def test_the_most_memory_of_a_tpu(known: bool, tmp_path: Path) -> None:
    space = devices.tpu()
    line = space.plane("/host:CPU").line("runtime", 99, devices.ORIGIN_NS)
    sizes = {"bytes_allocated": 70, "bytes_reserved": 10, "bytes_available": 20}
    if not known:
        del sizes["bytes_available"]
    for peak in (50, 80):
        line.event("MemoryAllocation", peak, 0, index_on_host=1, peak_bytes_in_use=peak, **sizes)
    rows = read(tmp_path, space).database.rows("SELECT * FROM device ORDER BY device")
    assert [(row["peak_bytes"], row["memory_bytes"]) for row in rows] == [
        (None, None),
        (80, 100) if known else (None, None),
    ]


@pytest.mark.parametrize("run", SAMPLES, ids=lambda run: run.name)
class TestSamples:
    def test_parts_of_a_step_add_up_to_it(self, run: Path) -> None:
        rows = load(str(run)).database.rows("SELECT * FROM timeline_step")
        assert len(rows) >= 10
        for row in rows:
            spent = [row[f"{part}_ns"] or 0 for part in PARTS]
            assert min(spent) >= 0
            assert sum(spent) == row["duration_ns"] == row["end_ns"] - row["begin_ns"]

    def test_a_devices_time_adds_up_to_the_step(self, run: Path) -> None:
        database = load(str(run)).database
        rows = database.rows(
            "SELECT d.*, s.duration_ns FROM device_step d"
            " JOIN timeline_step s USING (process, step)"
        )
        assert len(rows) >= 10
        for row in rows:
            idle = [row[f"idle_{part}_ns"] or 0 for part in PARTS]
            assert min(idle) >= 0
            assert sum(idle) == row["idle_ns"]
            assert row["busy_ns"] + row["idle_ns"] == row["duration_ns"]

    def test_steps_are_those_of_the_step_log(self, run: Path) -> None:
        rows = load(str(run)).database.rows(
            "SELECT t.joined, t.duration_ns, s.duration_ns AS logged, s.capture_ns, s.ordinal"
            " FROM timeline_step t LEFT JOIN step s ON s.process = t.process AND s.index = t.step"
            " AND NOT s.tail AND abs(s.end_ns - t.end_ns) < 5_000_000 ORDER BY t.step"
        )
        joined = [row for row in rows if row["joined"]]
        assert len(joined) >= 0.9 * len(rows)
        differences = [
            abs(row["duration_ns"] - row["logged"] - row["capture_ns"])
            for row in joined
            if row["ordinal"] > 0
        ]
        assert np.median(differences) < 200_000

    def test_idle_gaps_add_up_to_the_idle_time(self, run: Path) -> None:
        database = load(str(run)).database
        for row in database.rows("SELECT * FROM device"):
            assert row["busy_ns"] + row["idle_ns"] == row["end_ns"] - row["begin_ns"]
            idle = database.scalar(
                "SELECT sum(duration_ns) FROM idle_gap WHERE process = $p", {"p": row["process"]}
            )
            assert idle == row["idle_ns"]


def test_steps_by_repeated_executions(tmp_path: Path) -> None:
    space = builder.Space()
    line = space.plane("/host:CPU").line("python")
    for number in range(5):
        line.event("PjitFunction(step)", 100.0 * number, 20)
    line.event("PjitFunction(init)", 510, 30)
    rows = read(tmp_path, space).database.rows("SELECT * FROM timeline_step")
    assert [us(row["begin_ns"]) for row in rows] == [0, 100, 200, 300]
    assert [us(row["dispatch_ns"]) for row in rows] == [20] * 4
    assert [us(row["other_ns"]) for row in rows] == [80] * 4


def test_a_nested_launch_begins_no_step(tmp_path: Path) -> None:
    space = builder.Space()
    line = space.plane("/host:CPU").line("python")
    for number in range(5):
        line.event("PjitFunction(step)", 100.0 * number, 20)
        line.event("PjitFunction(step)", 100.0 * number + 0.3, 19)
        line.event("PjitFunction(matmul)", 100.0 * number + 1, 18)  # traced in it
    database = read(tmp_path, space).database
    begins = database.table("SELECT begin_ns / 1e3 FROM timeline_step ORDER BY step")[1]
    assert begins == [(0,), (100,), (200,), (300,)]


def test_a_program_that_compiles_long_makes_no_steps(tmp_path: Path) -> None:
    space = builder.Space()
    line = space.plane("/host:CPU").line("python")
    for number in range(5):
        line.event("PjitFunction(init)", 1000.0 * number, 900)
        line.event("backend_compile_and_load", 1000.0 * number + 10, 800)
    for number in range(9):
        line.event("PjitFunction(step)", 5000 + 100.0 * number, 20)
    database = read(tmp_path, space).database
    assert database.scalar("SELECT count(*) FROM timeline_step") == 8


def test_the_program_that_devices_work_for_makes_the_steps(tmp_path: Path) -> None:
    space = builder.Space()
    line = space.plane("/host:CPU").line("python")
    client = space.plane("/host:CPU").line("tf_XLAPjRtCpuClient/1")
    for number in range(5):
        begin = 100.0 * number
        line.event("PjitFunction(<lambda>)", begin, 5)
        client.event(
            "dot.1",
            begin + 2,
            60,
            hlo_op=builder.Ref("dot.1"),
            hlo_module=builder.Ref("jit__lambda_"),
        )
        for small in range(10, 50, 10):
            line.event("PjitFunction(add)", begin + small, 9)
    database = read(tmp_path, space).database
    assert database.scalar("SELECT count(*) FROM timeline_step") == 4


def test_an_operation_that_began_before_the_profile_kept_the_device_busy(tmp_path: Path) -> None:
    """Only the mark of its end is there; those of operations that begin later tell nothing new."""
    space = builder.Space()
    host = space.plane("/host:CPU")
    host.line("python").event("train", 0, 1000, step_num=0)
    client = host.line("tf_XLAPjRtCpuClient/1").event("end: dot", 30, 0)
    for name, begin in (("tanh", 690), ("dot", 710)):
        client.event(name, begin, 10, hlo_op=builder.Ref(name))
        client.event(f"end: {name}", begin + 10, 0)
    database = read(tmp_path, space).database

    assert database.rows("SELECT begin_ns, busy_ns FROM device") == [
        {"begin_ns": 0, "busy_ns": 50_000}
    ]


def test_a_trace_without_steps_or_devices(tmp_path: Path) -> None:
    space = builder.Space()
    space.plane("/host:CPU").line("worker").event("odd", 3, 4)
    database = read(tmp_path, space).database
    assert database.scalar("SELECT steps_from FROM timeline") is None
    for table in ("timeline_step", "device", "idle_gap", "device_step"):
        assert database.scalar(f"SELECT count(*) FROM {table}") == 0


def test_a_line_with_instants_of_the_wall_clock(tmp_path: Path) -> None:
    space = builder.Space()
    space.started_at(ORIGIN)
    space.plane("/host:CPU").line("python", timestamp_ns=ORIGIN + 70_000).event("x", 5, 1)
    database = read(tmp_path, space).database
    assert database.scalar("SELECT start_ns FROM event") == ORIGIN + 75_000


def test_compilation_is_told_from_dispatch_and_waiting_inside_it(tmp_path: Path) -> None:
    space = builder.Space()
    line = space.plane("/host:CPU").line("python")
    line.event("StepMarker", 0, 100).event("XLAGraphExecutor::Compile", 10, 60)
    line.event("Wait for usage holds", 20, 5).event("TensorCollectionBarrier", 80, 15)
    (row,) = read(tmp_path, space).database.rows("SELECT * FROM timeline_step")
    spent = {part: us(row[f"{part}_ns"]) for part in PARTS if row[f"{part}_ns"]}
    assert spent == {"dispatch": 25, "compile": 60, "wait": 15}


@pytest.mark.parametrize(("launching", "steps"), [((0, 3), 6), ((0, 2, 4), 3)])
def test_barriers_after_reads_end_steps_where_most_have_nothing_to_launch(
    tmp_path: Path, launching: tuple[int, ...], steps: int
) -> None:
    space = builder.Space()
    line = space.plane("/host:CPU").line("python")
    for turn in range(6):
        line.event("ScheduleSyncTensorsGraph", 100 * turn + 10, 5)  # of a read
        line.event("StepMarker", 100 * turn + 60, 30)
        if turn in launching:
            line.event("ScheduleSyncTensorsGraph", 100 * turn + 70, 5)
    database = read(tmp_path, space).database
    assert database.scalar("SELECT count(*) FROM timeline_step") == steps


spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12)


@given(given_spans=spans, begin=st.integers(-5, 70), length=st.integers(0, 50))
def test_intervals_are_sets_of_instants(
    given_spans: list[tuple[int, int]], begin: int, length: int
) -> None:
    starts = np.array([start for start, _ in given_spans], np.int64)
    ends = np.array([start + lasted for start, lasted in given_spans], np.int64)
    union = Intervals.union(starts, ends)
    instants = {t for start, lasted in given_spans for t in range(start, start + lasted)}
    span = set(range(begin, begin + length))
    covered = union.covered(np.array([begin]), np.array([begin + length]))
    assert union.total == len(instants)
    assert int(covered[0]) == len(instants & span)
    assert union.within(begin, begin + length).total == len(instants & span)
    assert union.gaps(begin, begin + length).total == len(span - instants)


@pytest.mark.parametrize(("late_ns", "joined"), [(3_000_000, True), (8_000_000, False)])
def test_a_mark_that_was_held_up_is_of_the_step_with_its_number(late_ns: int, joined: bool) -> None:
    step_ns, log = 10_000_000, Gathered()
    end = np.arange(1, 6) * step_ns
    for index, ended in enumerate(end.tolist()):
        log.add(
            "step",
            thread=0,
            tail=False,
            probed=False,
            end_ns=ended,
            begin_ns=ended - step_ns,
            index=index,
            ordinal=index,
            barriers=1,
        )
    marked = end[:4] + np.array([0, late_ns, 0, 0])
    steps = Steps("xladoctor.step", np.append(0, marked[:-1]), marked, np.arange(4), logged=True)

    _, columns = add_steps({}, steps, log)
    assert list(columns["joined"]) == [True, joined, True, True]
