"""Timelines and compiled modules, built from the messages that they are read with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import rows
from xladoctor.ingest import hlo
from xladoctor.ingest.compilations import CLIENT_COMPILE, GRAPH_COMPILE
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.protobuf_schema import message
from xladoctor.ingest.xplane import read_xplane

GRAPH_HASH, HLO_PROTO, REPEATED_HASH = 1, 2, 3
F32, BF16 = 11, 16


# What is read


def module(name: str = "SyncTensorsGraph.7", *, frames: bool = True) -> Any:
    """Parameters 0 (made at data.py:88 in load, from train.py:41) and 1, and a result."""
    proto = message("HloProto")()
    proto.hlo_module.name, proto.hlo_module.entry_computation_id = name, 5
    helper = proto.hlo_module.computations.add(id=4)
    helper.instructions.add(opcode="parameter", name="of_another_computation")
    entry = proto.hlo_module.computations.add(id=5)
    first = entry.instructions.add(opcode="parameter", parameter_number=0)
    first.shape.element_type = F32
    first.shape.dimensions.extend((16, 64))
    first.metadata.op_type = "xla__device_data"
    second = entry.instructions.add(opcode="parameter", parameter_number=1)
    second.shape.element_type = BF16
    entry.instructions.add(opcode="add").shape.element_type = F32
    if frames:
        first.metadata.stack_frame_id = 2
        index = proto.hlo_module.stack_frame_index
        index.file_names.extend(("/home/ada/train.py", "/home/ada/data.py"))
        index.function_names.extend(("train", "load"))
        index.file_locations.add(file_name_id=1, function_name_id=1, line=41)
        index.file_locations.add(file_name_id=2, function_name_id=2, line=88)
        index.stack_frames.add(file_location_id=1, parent_frame_id=0)
        index.stack_frames.add(file_location_id=2, parent_frame_id=1)
    return proto


def space() -> Any:
    """Two planes: host events with nothing in them, and metadata without modules."""
    result = message("XSpace")()
    host = result.planes.add(name="/host:CPU")
    host.stat_metadata.add(key=GRAPH_HASH).value.name = "graph_hash"
    host.stat_metadata.add(key=REPEATED_HASH).value.name = "cafe"
    for key, name in enumerate((GRAPH_COMPILE, CLIENT_COMPILE, "StepMarker", "Unrelated"), 1):
        host.event_metadata.add(key=key).value.name = name
    host.lines.add(id=77, timestamp_ns=1_000)
    metadata = result.planes.add(name="/host:metadata")
    metadata.stat_metadata.add(key=HLO_PROTO).value.name = "Hlo Proto"
    return result


def add_event(timeline: Any, kind: int, offset_ns: int, **hash_stat: Any) -> None:
    event = (
        timeline.planes[0]
        .lines[0]
        .events.add(metadata_id=kind, offset_ps=offset_ns * 1000, duration_ps=5_999)
    )
    if hash_stat:
        event.stats.add(metadata_id=GRAPH_HASH, **hash_stat)


def add_module(timeline: Any, program: int, proto: Any) -> None:
    entry = timeline.planes[1].event_metadata.add(key=program)
    entry.value.id = program
    entry.value.stats.add(metadata_id=HLO_PROTO, bytes_value=proto.SerializeToString())


def read(data: bytes, folder: Path) -> Ingested:
    path = folder / "vm_1.xplane.pb"
    path.write_bytes(data)
    ingested = Ingested()
    read_xplane(path, 3, Folders(), ingested)
    return ingested


def read_space(timeline: Any, folder: Path) -> Ingested:
    return read(timeline.SerializeToString(), folder)


# Modules


def test_entry_parameters_come_with_shape_type_and_line() -> None:
    ingested = Ingested()
    hlo.read_module(module().SerializeToString(), 3, 7, "cafe", Folders(), ingested)

    assert rows(ingested.tables["hlo_module"]) == [
        {"process": 3, "program_id": 7, "name": "SyncTensorsGraph.7", "graph_hash": "cafe",
         "instructions": 4}
    ]  # fmt: skip
    first, second = rows(ingested.tables["hlo_parameter"])
    assert first == {
        "process": 3, "program_id": 7, "graph_hash": "cafe", "number": 0, "shape": [16, 64],
        "type": "f32", "op": "xla__device_data", "sent": False,
        "file": "/home/ada/data.py", "line": 88,
        "function": "load", "user_file": None, "user_line": None, "user_function": None, "via": "",
    }  # fmt: skip
    assert (second["number"], second["shape"], second["type"]) == (1, [], "bf16")
    assert second["file"] is None


def test_parameter_without_a_stack_has_the_line_of_its_metadata() -> None:
    proto = module(frames=False)
    metadata = proto.hlo_module.computations[1].instructions[0].metadata
    metadata.source_file, metadata.source_line = "/home/ada/train.py", 12
    ingested = Ingested()

    hlo.read_module(proto.SerializeToString(), 0, 1, None, Folders(), ingested)

    assert rows(ingested.tables["hlo_parameter"])[0]["line"] == 12


def test_type_without_a_name_is_its_number() -> None:
    proto = module()
    proto.hlo_module.computations[1].instructions[0].shape.element_type = 99
    ingested = Ingested()
    hlo.read_module(proto.SerializeToString(), 0, 1, None, Folders(), ingested)
    assert rows(ingested.tables["hlo_parameter"])[0]["type"] == "99"


@pytest.mark.parametrize("frame", range(-1, 4))
@pytest.mark.parametrize("identifier", [-1, 0, 3, 99])
@pytest.mark.parametrize("field", ["file_name_id", "function_name_id"])
def test_stack_that_points_nowhere_ends_there(frame: int, identifier: int, field: str) -> None:
    proto = module()
    index = proto.hlo_module.stack_frame_index
    setattr(index.file_locations[1], field, identifier)
    index.stack_frames[0].parent_frame_id = frame  # also itself, and the one it came from
    ingested = Ingested()

    hlo.read_module(proto.SerializeToString(), 0, 1, None, Folders(), ingested)

    first = rows(ingested.tables["hlo_parameter"])[0]
    assert first["file"] in (None, "/home/ada/train.py", "/home/ada/data.py")
    assert (first["file"], first["function"]) != ("/home/ada/data.py", "train")


def test_unreadable_module_leaves_a_note() -> None:
    ingested = Ingested()
    hlo.read_module(b"\xff\xff", 3, 7, "cafe", Folders(), ingested)
    assert ingested.tables == {}
    assert ingested.notes[0].startswith("module 7 of process 3: unreadable HLO (")


# Timelines


def test_host_events_worth_a_row(tmp_path: Path) -> None:
    timeline = space()
    add_event(timeline, 3, 10)
    add_event(timeline, 4, 20)  # not among those that are kept
    add_event(timeline, 1, 30, str_value="beef")
    add_event(timeline, 1, 40, ref_value=REPEATED_HASH)  # a repeated text is a reference

    ingested = read_space(timeline, tmp_path)

    names = [(row["name"], row["start_ns"], row["graph_hash"])
             for row in rows(ingested.tables["event"])]  # fmt: skip
    assert names == [("StepMarker", 1_010, None), (GRAPH_COMPILE, 1_030, "beef"),
                     (GRAPH_COMPILE, 1_040, "cafe")]  # fmt: skip
    first = rows(ingested.tables["event"])[0]
    assert (first["process"], first["line"], first["duration_ns"]) == (3, 77, 5)


def test_modules_get_the_hash_of_their_compilation_in_order(tmp_path: Path) -> None:
    timeline = space()
    add_event(timeline, 1, 90, str_value="second")
    add_event(timeline, 1, 10, str_value="first")
    add_module(timeline, 12, module("b"))
    add_module(timeline, 11, module("a"))

    modules = rows(read_space(timeline, tmp_path).tables["hlo_module"])

    found = [(row["program_id"], row["name"], row["graph_hash"]) for row in modules]
    assert found == [(11, "a", "first"), (12, "b", "second")]


def test_module_from_before_the_window_has_no_hash(tmp_path: Path) -> None:
    timeline = space()
    add_event(timeline, 1, 10, str_value="inside")
    add_module(timeline, 1, module("earlier"))
    add_module(timeline, 2, module("inside"))

    ingested = read_space(timeline, tmp_path)

    assert [row["graph_hash"] for row in rows(ingested.tables["hlo_module"])] == [None, "inside"]
    assert ingested.notes == []


def test_fewer_modules_than_compilations_are_not_joined(tmp_path: Path) -> None:
    timeline = space()
    add_event(timeline, 1, 10, str_value="a")
    add_event(timeline, 1, 20, str_value="b")
    add_module(timeline, 1, module())

    ingested = read_space(timeline, tmp_path)

    assert [row["graph_hash"] for row in rows(ingested.tables["hlo_module"])] == [None]
    assert ingested.notes == [
        f"{tmp_path / 'vm_1.xplane.pb'}: 1 modules for 2 compilations; modules not joined"
    ]


def test_compilations_at_the_same_instant_one_without_a_hash(tmp_path: Path) -> None:
    timeline = space()
    add_event(timeline, 1, 10, str_value="a")
    add_event(timeline, 1, 10)
    assert len(rows(read_space(timeline, tmp_path).tables["event"])) == 2


def test_timeline_without_events_counts_as_looked_for(tmp_path: Path) -> None:
    assert read(b"", tmp_path).tables == {"event": {}}


# Damage


def whole() -> bytes:
    timeline = space()
    add_event(timeline, 1, 10, str_value="a")
    add_module(timeline, 1, module())
    return bytes(timeline.SerializeToString())


def test_truncated_timeline_is_not_used(tmp_path: Path) -> None:
    ingested = read(whole()[:-3], tmp_path)
    assert ingested.tables == {}
    (note,) = ingested.notes
    assert note.startswith(f"{tmp_path / 'vm_1.xplane.pb'}: the timeline cannot be read (")


def test_missing_timeline_leaves_a_note(tmp_path: Path) -> None:
    ingested = Ingested()
    read_xplane(tmp_path / "gone.xplane.pb", 0, Folders(), ingested)
    assert len(ingested.notes) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200))
def test_junk_bytes_never_raise(data: bytes, tmp_path: Path) -> None:
    ingested = read(data, tmp_path)
    assert ingested.notes or "event" in ingested.tables


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(position=st.integers(0, len(whole()) - 1), value=st.integers(0, 255))
def test_one_wrong_byte_never_raises(position: int, value: int, tmp_path: Path) -> None:
    data = bytearray(whole())
    data[position] = value
    read(bytes(data), tmp_path)
