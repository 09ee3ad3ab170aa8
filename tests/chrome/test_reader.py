"""Chrome traces become the same columns as timelines, whole, cut off or damaged."""

from __future__ import annotations

import gzip
import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.chrome.builder import BASE_NS, Trace, training
from xladoctor.doctor import load_evidence
from xladoctor.evidence.interface import Evidence
from xladoctor.ingest.chrome.read import read_chrome
from xladoctor.ingest.chrome.space import ChromeSpace
from xladoctor.ingest.interface import Ingested, IngestError

pytestmark = pytest.mark.usefixtures("loops")
FILES = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def opened(folder: Path, content: str | bytes) -> ChromeSpace:
    path = folder / "trace.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    space = read_chrome(path, Ingested())
    assert space is not None
    return space


def events(space: ChromeSpace) -> list[tuple[str, int, int]]:
    """Name, begin and duration in nanoseconds of each event, in order of time."""
    found = space.decode(())
    origin = space.lines[0].origin_ns if space.lines else 0
    return sorted(
        (found.names[name], origin + start // 1000, duration // 1000)
        for name, start, duration in zip(
            found.name.tolist(), found.start_ps.tolist(), found.duration_ps.tolist(), strict=True
        )
    )


def load(folder: Path, trace: Trace) -> Evidence:
    return load_evidence(str(trace.write(folder / "trace.json")))


@FILES
@given(
    rows=st.lists(
        st.tuples(st.text(), st.integers(0, 10**16), st.integers(0, 10**12), st.booleans()),
        min_size=1,
        max_size=20,
    ),
    indent=st.sampled_from([None, 1]),
)
def test_what_is_written_is_read(
    tmp_path: Path, rows: list[tuple[str, int, int, bool]], indent: int | None
) -> None:
    origin = rows[0][1]
    rows = [(name, origin + at % 10**15, lasted, args) for name, at, lasted, args in rows]
    written: list[dict[str, Any]] = [
        {
            "ph": "X",
            "name": name,
            "pid": 1,
            "tid": 2,
            "ts": at // 1000,
            **({"args": {"note": name, "deep": [{"a": [name]}], "Ev Idx": lasted}} if args else {}),
            "dur": lasted // 1000,
        }
        for name, at, lasted, args in rows
    ]
    space = opened(tmp_path, json.dumps({"traceEvents": [*written, {}]}, indent=indent))
    assert space.damage_note() is None
    assert events(space) == sorted(
        (name, 1000 * (at // 1000), 1000 * (lasted // 1000)) for name, at, lasted, _ in rows
    )
    stats = space.decode()
    notes = stats.rows_of("note")
    assert [stats.names[value] for value in notes.value.tolist()] == [
        stats.names[stats.name[event]] for event in notes.event.tolist()
    ]


@pytest.mark.parametrize(
    ("written", "nanoseconds"),
    [
        ("1712195495520883.125", 1712195495520883125),
        ("10.936999999999999", 10937),
        ('"17.5"', 17500),
        ("5", 5000),
        ("-2.5", -2500),
        ("0.0004", 0),
        ("1.712195495520883e+15", 1712195495520883000),
        ("171219549552088312e-2", 1712195495520883120),
        ("1.2E1", 12000),
        ("-25e-1", -2500),
        ("1e-05", 0),
        ("3e-900", 0),
        ("0e9", 0),
        ("1.5e3", 1500000),
    ],
)
def test_instants_are_decimals(tmp_path: Path, written: str, nanoseconds: int) -> None:
    event = f'{{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": {written}, "dur": 1}}'
    assert events(opened(tmp_path, f"[{event}]")) == [("a", nanoseconds, 1000)]


def test_a_trace_has_threads_streams_steps_and_flows(tmp_path: Path) -> None:
    trace = training(3, kernels=2).label("part", 30, 40)
    trace.event("part", 5, 9, "gpu_user_annotation", 7, 0)
    evidence = load(tmp_path, trace)
    table = evidence.database.table
    assert table(
        "SELECT p.name, l.name, l.main, l.events FROM line l JOIN plane p USING"
        " (process, plane) WHERE p.kind IN ('host', 'device') ORDER BY l.line"
    )[1] == [
        ("/host:CPU", "thread 4242 (python)", True, 13),
        ("/device:GPU:0", "Stream #7", False, 6),
        ("/device:GPU:0", "gpu_user_annotation #7", False, 1),
    ]
    assert table("SELECT step, duration_ns FROM timeline_step")[1] == [
        (0, 10_000_000),
        (1, 10_000_000),
        (2, 10_000_000),
    ]
    assert table("SELECT min(begin_ns), max(frontend) FROM timeline")[1] == [(BASE_NS, "torch")]
    pairs = table(
        "SELECT a.name, b.name, b.start_ns - a.start_ns FROM event a JOIN event b"
        " ON a.flow_out = b.flow_in ORDER BY a.start_ns LIMIT 2"
    )[1]
    assert pairs == [("cudaLaunchKernel", "gemm", 10_000), ("cudaLaunchKernel", "gemm", 4_990_000)]
    assert table("SELECT DISTINCT name FROM region ORDER BY 1")[1] == [
        ("ProfilerStep#0",),
        ("ProfilerStep#1",),
        ("ProfilerStep#2",),
        ("part",),
    ]


def test_a_trace_that_is_cut_off_anywhere_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = training(1, kernels=2).label("é\\\\", 1, 2).text().encode()
    every = events(opened(tmp_path, whole))
    begin = whole.index(b'": [\n') + 4
    end = whole.index(b"\n  ],")
    for at in range(begin + 1, end, 3):
        space = opened(tmp_path, whole[:at])
        assert set(events(space)) <= set(every)
        assert f"cut off at byte {at}" in str(space.damage_note())
    assert len(events(opened(tmp_path, whole[:end]))) == len(every)


@FILES
@given(places=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), min_size=1))
def test_damage_costs_no_more_than_its_events(
    tmp_path: Path, places: list[tuple[int, int]]
) -> None:
    content = bytearray(training(1, kernels=3).text().encode())
    for place, byte in places:
        content[place % len(content)] = byte
    opened(tmp_path, bytes(content)).decode()


@pytest.mark.parametrize("value", ["7", "-1.5", "null", "true", "[1]", '{"name": "a"}', '""'])
def test_process_whose_name_is_none_is_read_all_the_same(tmp_path: Path, value: str) -> None:
    text = training(1, kernels=3).text()
    named = re.sub(r'(?s)("process_name".*?"args": \{\s*"name": )"[^"]*"', rf"\g<1>{value}", text)
    assert named != text
    space, whole = opened(tmp_path, named), opened(tmp_path, text)
    assert len(events(space)) == len(events(whole)) > 0


def test_one_damaged_event_is_left_out_with_its_byte(tmp_path: Path) -> None:
    text = Trace().label("a", 1, 1).label("b", 2, 1).label("c", 3, 1).text()
    damaged = text.replace('"name": "b"', '"name": b"')
    space = opened(tmp_path, damaged)
    assert [name for name, *_ in events(space)] == ["a", "c"]
    at = damaged.index("  {", damaged.index('"a"')) + 2
    assert f"damaged at byte {at} of {len(damaged)}" in str(space.damage_note())


@pytest.mark.parametrize("name", ['say "hi"', '"', 'f("a", "b")', '"a": 1', '{"', 'x", y"'])
def test_quotes_that_are_not_escaped_are_a_part_of_the_text(tmp_path: Path, name: str) -> None:
    text = Trace().label("before", 1, 1).label(name, 2, 1).label("after", 3, 1).text()
    with pytest.raises(ValueError, match="line"):
        json.loads(text)
    space = opened(tmp_path, text)
    assert name in [name for name, *_ in events(space)]
    assert len(events(space)) == 3
    first = text.index(f': "{name}", "pid') + 3 + name.index('"')
    assert f"the first at byte {first}" in str(space.damage_note())


@pytest.mark.parametrize("name", [b"\xad\\n", b"\\u12", b"a\\ud800"])
def test_names_of_any_bytes_are_read(tmp_path: Path, name: bytes) -> None:
    text = Trace().label("before", 1, 1).label("odd", 2, 1).text().encode()
    space = opened(tmp_path, text.replace(b'"odd"', b'"' + name + b'"'))
    assert len(events(space)) == 2


def test_a_folder_has_a_process_for_each_rank_and_its_newest_part(tmp_path: Path) -> None:
    for rank in range(2):
        for at in (1712195498123, 1712195499456):
            training(at % 10).write(tmp_path / f"vm_{rank}.{at}.pt.trace.json")
    packed = tmp_path / "vm_1.1712195499456.pt.trace.json"
    packed.with_name(f"{packed.name}.gz").write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    evidence = load_evidence(str(tmp_path))
    assert evidence.database.table(
        "SELECT p.host, count(*) FROM process p JOIN timeline_step"
        " USING (process) GROUP BY ALL ORDER BY 1"
    )[1] == [("vm_0", 6), ("vm_1", 6)]
    assert any("2 traces of earlier parts" in note for note in evidence.notes)


@pytest.mark.parametrize("text", ['{"traceEvents": []}', '{"traceEvents": [', '[{"ph": 1}]'])
def test_a_trace_without_events_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "trace.json").write_text(text)
    with pytest.raises(IngestError, match="one without events"):
        load_evidence(str(tmp_path / "trace.json"))


def test_a_trace_made_of_a_timeline_has_its_planes_and_lacks_the_graphs(tmp_path: Path) -> None:
    names = [("process_name", None, "/host:CPU"), ("thread_name", 5, "python")]
    rows: list[dict[str, Any]] = [
        {
            "ph": "M",
            "pid": 701,
            "name": what,
            "args": {"name": name},
            **({} if thread is None else {"tid": thread}),
        }
        for what, thread, name in names
    ]
    rows += [
        {
            "ph": "X",
            "pid": 701,
            "tid": 5,
            "ts": 10.0 * step,
            "dur": 9.5,
            "name": "train",
            "args": {"step_num": str(step)},
        }
        for step in range(4)
    ]
    path = tmp_path / "vm.trace.json"
    path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": [*rows, {}]}))
    (tmp_path / "perfetto_trace.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    evidence = load_evidence(str(tmp_path))
    described = evidence.database.table(
        "SELECT p.host, steps_from, l.name FROM process p JOIN timeline USING (process)"
        " JOIN line l USING (process)"
    )[1]
    assert described == [("vm", "StepTrace", "python")]
    assert evidence.database.table("SELECT step, duration_ns FROM timeline_step")[1] == [
        (0, 9500),
        (1, 10000),
        (2, 10000),
        (3, 10000),
    ]
    assert any("without the compiled graphs" in note for note in evidence.notes)


def test_a_trace_of_devices_alone_is_of_the_framework_whose_profiler_wrote_it(
    tmp_path: Path,
) -> None:
    trace = Trace()
    for number in range(4):
        trace.event("gemm", number * 10, 9, "kernel", 7, 0)
    trace.write(tmp_path / "trace.json")
    assert load_evidence(str(tmp_path / "trace.json")).frontend == "torch"


def test_labels_are_told_from_other_events_only_where_some_are_marked(tmp_path: Path) -> None:
    plain = '[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]'
    assert opened(tmp_path, plain).labels is None
    unlabelled = Trace().event("aten::mm", 2, 3).call("cudaLaunchKernel", 3)
    assert opened(tmp_path, unlabelled.text()).labels == set()
    marked = Trace().event("aten::mm", 2, 3).label("forward", 0, 9).text()
    assert opened(tmp_path, marked).labels == {"forward"}


@pytest.mark.parametrize("loops", ["compiled"], indirect=True)
def test_short_events_take_twice_the_size_of_their_file(tmp_path: Path) -> None:
    event = '{{"ph":"X","name":"op{}","pid":1,"tid":{},"ts":{}.5,"dur":2.25,"args":{{}}}}'
    rows = ",\n".join(event.format(at % 500, at % 4, 3_000_000 + at) for at in range(200_000))
    content = f"[{rows}]".encode()
    fixed = 8 << 20  # bytes for what is read at a time, whatever the size of the file
    tracemalloc.start()
    try:
        opened(tmp_path, content).decode(())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * len(content) + fixed


@pytest.mark.parametrize("before", ["", "\ufeff"])
def test_much_may_be_said_of_the_whole_before_the_events(tmp_path: Path, before: str) -> None:
    groups = [{"pg_name": str(number), "ranks": list(range(9_000))} for number in range(20)]
    trace = training(3)
    trace.facts += f'  "distributedInfo": {json.dumps({"rank": 3, "groups": groups})},\n'
    (tmp_path / "trace.json").write_text(before + trace.text(), encoding="utf-8")
    for named in (tmp_path / "trace.json", tmp_path):
        evidence = load_evidence(str(named))
        assert evidence.database.table("SELECT rank, frontend FROM timeline")[1] == [(3, "torch")]
        assert evidence.database.scalar("SELECT count(*) FROM timeline_step") == 3


def test_numbers_that_are_written_as_texts_join_events(tmp_path: Path) -> None:
    written = training(3, kernels=2).text()
    texts = re.sub(r'"correlation": (\d+)', r'"correlation": "\1"', written)
    assert texts != written
    (tmp_path / "trace.json").write_text(texts, encoding="utf-8")
    joined = load_evidence(str(tmp_path / "trace.json")).database.scalar(
        "SELECT count(*) FROM event a JOIN event b ON a.flow_out = b.flow_in"
    )
    assert joined == 6


def test_ranks_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    whole = training(3).write(tmp_path / "rank-0.json").read_bytes()
    (tmp_path / "rank-1.json").write_bytes(whole[:40])
    (tmp_path / "rank-2.json").write_bytes(b"")
    (tmp_path / "host.3.pt.trace.json.gz").write_bytes(b"\x1f\x8b")
    (tmp_path / "settings.json").write_bytes(b"{}")
    evidence = load_evidence(str(tmp_path))
    named = [note.partition(":")[0].rpartition("/")[2] for note in evidence.notes]
    assert named == ["host.3.pt.trace.json.gz", "rank-1.json", "rank-2.json"]
