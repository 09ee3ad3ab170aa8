"""The decoder of timelines, against the plain reader of tests/xspace, and on damaged files."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.xspace import builder, generated, reference
from xladoctor.ingest.compressed import is_spoilt
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.xplane import tables, wire
from xladoctor.ingest.xplane.events import KINDS, Events
from xladoctor.ingest.xplane.nesting import nest_all
from xladoctor.ingest.xplane.read import read_space
from xladoctor.ingest.xplane.space import Space

pytestmark = pytest.mark.usefixtures("loops")
SAMPLES = sorted(Path(__file__).parents[2].glob("sample_traces/*/plugins/profile/*/*.xplane.pb"))
FILES = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def opened(folder: Path, data: bytes) -> tuple[Space, Ingested]:
    path = folder / "host.xplane.pb"
    path.write_bytes(data)
    ingested = Ingested()
    space = read_space(path, ingested)
    assert space is not None
    return space, ingested


def value_of(events: Events, kind: int, value: int) -> Any:
    """A stat's value as the reference gives it."""
    if kind == wire.DOUBLE:
        number = float(np.int64(value).view(np.float64))
        return "nan" if math.isnan(number) else number
    if kind == wire.UINT64:
        return value % (1 << 64)
    if kind == wire.INT64:
        return value
    if kind == wire.REF:
        return events.names[value] if value >= 0 else None
    if kind == wire.BYTES:
        return events.data(value)
    return events.text(kind, value)


def rows(space: Space) -> list[tuple[Any, ...]]:
    """Everything that the columns hold, an event a row."""
    events = space.decode()
    depth, own = nest_all(space, events)
    stats: list[list[Any]] = [[] for _ in events.name]
    columns = (column.tolist() for column in events.stats.columns)
    for event, name, kind, value in zip(*columns, strict=True):
        shown = value_of(events, kind, value)
        stats[event].append((events.names[name], KINDS[kind], shown))
    return [
        (
            line.plane.number,
            line.number,
            events.names[events.name[i]],
            int(events.start_ps[i]),
            int(events.duration_ps[i]),
            events.occurrences.get(i),
            tuple(stats[i]),
            int(depth[i]),
            int(own[i]),
        )
        for line in space.lines
        for i in range(line.first, line.first + line.count)
    ]


def expected(data: bytes) -> list[tuple[Any, ...]]:
    """The same from the reference."""
    return [
        (
            e.plane,
            e.line,
            e.name,
            e.start_ps,
            e.duration_ps,
            e.occurrences,
            tuple(
                (n, k, "nan" if isinstance(v, float) and math.isnan(v) else v)
                for n, k, v in e.stats
            ),
            e.depth,
            e.self_ps,
        )
        for e in reference.read(data)
    ]


@cache
def expected_of(path: Path) -> list[tuple[Any, ...]]:
    """The same of a sample, which is read in two ways."""
    return expected(path.read_bytes())


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.xdist_group(path.parts[-5])) for path in SAMPLES],
    ids=lambda path: path.parts[-5],
)
def test_samples_are_read_as_the_reference_reads_them(path: Path) -> None:
    space = read_space(path, Ingested())
    assert space is not None
    assert rows(space) == expected_of(path)
    assert space.damage_note() is None


@FILES
@given(data=generated.spaces())
def test_generated_files_are_read_as_the_reference_reads_them(data: bytes, tmp_path: Path) -> None:
    space, _ = opened(tmp_path, data)
    assert rows(space) == expected(data)
    assert space.damage_note() is None


@FILES
@given(data=generated.damaged() | st.binary(max_size=60))
def test_damaged_files_give_what_could_be_read(data: bytes, tmp_path: Path) -> None:
    assume(not is_spoilt(data))  # these are refused as a whole
    space, _ = opened(tmp_path, data)
    events = rows(space)
    tables.event_table(space, lambda line: 0, 0, lambda instants: instants)
    tables.stat_table(space, 0)
    assert len(events) == space.event_count
    if space.damage_note() is None:
        assert 0 <= len(events) <= len(data)


def loop(steps: int = 20) -> builder.Space:
    space = builder.Space()
    line = space.plane("/host:CPU").line("python", id=-7, timestamp_ns=500)
    for step in range(steps):
        line.event("StepMarker", 100.0 * step, 60, graph_hash=builder.Ref("abc"), step_num=step)
    return space


def test_a_file_cut_off_anywhere_keeps_the_events_before_the_cut(tmp_path: Path) -> None:
    data = loop().bytes()
    counts = []
    for size in range(len(data)):
        space, _ = opened(tmp_path, data[:size])
        counts.append(space.event_count)
        note = space.damage_note()
        assert note is None or f": cut off at byte {size};" in note
    assert counts == sorted(counts)
    assert counts[-1] == 20
    assert 5 < counts[len(data) // 2] < 15


def test_a_length_past_the_end_allocates_nothing(tmp_path: Path) -> None:
    huge = b"\x0a" + b"\xff" * 8 + b"\x7f" + b"\x1a\x03"  # a plane of 2^63 - 1 bytes
    space, _ = opened(tmp_path, huge)
    assert space.event_count == 0
    assert "cut off at byte 12;" in (space.damage_note() or "")


def test_damage_inside_names_the_place_and_the_rest_is_read(tmp_path: Path) -> None:
    data = loop().bytes()
    marker = data.index(b"\x22", 60)
    broken = data[: marker + 2] + b"\xff" * 4 + data[marker + 6 :]  # in the body of an event
    space, _ = opened(tmp_path, broken)
    assert space.event_count == 20
    assert len(rows(space)) == 20
    assert f"damaged at byte {marker + 2} of {len(data)}" in (space.damage_note() or "")


@pytest.mark.thorough
@pytest.mark.parametrize("loops", ["compiled"], indirect=True)
def test_a_file_over_two_gibibytes(tmp_path: Path) -> None:
    data, padding = loop().bytes(), (1 << 31) + 4096
    path = tmp_path / "host.xplane.pb"
    with path.open(
        "wb"
    ) as file:  # a field that no reader knows, which the file system stores as a hole
        file.write(b"\xfa\x01" + generated.varint(padding))
        file.seek(padding, 1)
        file.write(data)
    space = read_space(path, Ingested())
    assert space is not None
    assert space.size > 1 << 31
    assert [row[2:] for row in rows(space)] == [row[2:] for row in expected(data)]


def test_an_empty_file_has_no_planes(tmp_path: Path) -> None:
    space, _ = opened(tmp_path, b"")
    assert space.planes == []
    assert space.decode().names == []


def test_a_file_that_cannot_be_opened_is_noted(tmp_path: Path) -> None:
    ingested = Ingested()
    assert read_space(tmp_path / "absent.xplane.pb", ingested) is None
    assert "absent.xplane.pb: the timeline cannot be read (No such file" in ingested.notes[0]


def test_only_wanted_stats_are_kept(tmp_path: Path) -> None:
    space, _ = opened(tmp_path, loop().bytes())
    events = space.decode(["step_num"])
    assert {events.names[i] for i in events.stats.name} == {"step_num"}
    assert events.rows_of("step_num").value.tolist() == list(range(20))


def test_columns_of_the_event_table(tmp_path: Path) -> None:
    space, _ = opened(tmp_path, loop(3).bytes())
    columns = tables.event_table(space, lambda line: line.origin_ns, 4, lambda t: t // 100_000)
    assert columns["start_ns"].tolist() == [500, 100_500, 200_500]
    assert columns["duration_ns"].tolist() == [60_000] * 3
    assert columns["step"].tolist() == [0, 1, 2]
    assert [columns["name"].texts[code] for code in columns["name"].codes] == ["StepMarker"] * 3
    hashes = columns["graph_hash"]
    assert [hashes.texts[code] for code in hashes.codes] == ["abc"] * 3
    assert columns["program_id"].tolist() == [None] * 3
    assert columns["process"].tolist() == [4] * 3


def test_stats_of_the_metadata_hold_for_its_events(tmp_path: Path) -> None:
    space = builder.Space()
    plane = space.plane("/device:TPU:0")
    plane.metadata("fusion.1", program_id=7, hlo_op="fusion.1")
    plane.line("XLA Ops").event("fusion.1", 0, 5)
    opened_space, _ = opened(tmp_path, space.bytes())
    columns = tables.event_table(opened_space, lambda line: 0, 0, lambda instants: instants)
    assert columns["program_id"].tolist() == [7]
    assert [columns["hlo_op"].texts[code] for code in columns["hlo_op"].codes] == ["fusion.1"]


def test_rows_of_the_stat_table(tmp_path: Path) -> None:
    space = builder.Space()
    line = space.plane("/host:CPU").line("python")
    line.event("x", 0, 1, a=-3, b=2.5, c="text", d=b"12345", e=builder.Ref("far"))
    opened_space, _ = opened(tmp_path, space.bytes())
    columns = tables.stat_table(opened_space, 0)
    texts = {
        name: [columns[name].texts[code] for code in columns[name].codes]
        for name in ("name", "kind", "value")
    }
    assert texts["name"] == ["a", "b", "c", "d", "e"]
    assert texts["kind"] == ["int64", "double", "str", "bytes", "ref"]
    assert texts["value"] == ["-3", "2.5", "text", "5 bytes", "far"]
    assert columns["number"].tolist() == [-3.0, 2.5, None, None, None]
