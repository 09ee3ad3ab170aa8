"""Compiled modules: built from the messages that they are read with, captured, damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.hlo_modules import TYPES, module, of_first, read
from tests.support import Row
from xladoctor.evidence.load import build
from xladoctor.evidence.schema import TABLES
from xladoctor.ingest import hlo
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.protobuf_schema import message
from xladoctor.ingest.run_records import Manifest

SAMPLES = sorted(Path(__file__).parents[2].glob("sample_traces/*/plugins/profile/*/*.xplane.pb"))
ADAPTER = "/opt/xladoctor/recording/bootstrap/_xladoctor/adapter.py"
INT32, INT64 = 2**31, 2**63


# What is read


def test_module_has_one_row() -> None:
    assert read(module())["hlo_module"] == [
        {
            "process": 3,
            "program_id": 7,
            "name": "SyncTensorsGraph.7",
            "graph_hash": "cafe",
            "instructions": 4,
            "donated": [],
            "aliased": [],
            "devices": [],
            "sharding": None,
            "partitions": 1,
            "mesh": None,
            "memory_bytes": None,
        }
    ]


def test_columns_are_those_of_the_schema() -> None:
    for table, found in read(module()).items():
        for row in found:
            assert row.keys() == TABLES[table].columns.keys() - {"position"}  # database's


def test_entry_parameters_come_with_shape_type_and_line() -> None:
    first, second = read(module())["hlo_parameter"]
    assert first == {
        "process": 3,
        "program_id": 7,
        "graph_hash": "cafe",
        "number": 0,
        "shape": [16, 64],
        "layout": [0, 1],
        "type": "f32",
        "op": "xla__device_data",
        "sent": False,
        "file": "/home/ada/data.py",
        "line": 88,
        "function": "load",
        "user_file": None,
        "user_line": None,
        "user_function": None,
        "via": "",
    }
    assert (second["number"], second["shape"], second["type"]) == (1, [], "bf16")
    assert second["file"] is None


def test_instructions_of_all_computations() -> None:
    helper, first, second, total = read(module())["hlo_instruction"]
    assert first == {
        "process": 3,
        "program_id": 7,
        "graph_hash": "cafe",
        "computation": "main",
        "entry": True,
        "root": False,
        "id": 1,
        "name": "p0",
        "opcode": "parameter",
        "type": "f32",
        "shape": [16, 64],
        "layout": [0, 1],
        "operands": [],
        "parameter": 0,
        "literal": None,
        "attributes": None,
        "op_type": "xla__device_data",
        "op_name": "step/data",
        "frame": 2,
        "file": "/home/ada/data.py",
        "line": 88,
        "function": "load",
        "user_file": None,
        "user_line": None,
        "user_function": None,
        "via": "",
    }
    assert (helper["computation"], helper["entry"], helper["parameter"]) == ("fused", False, 0)
    assert (second["op_type"], second["op_name"], second["frame"]) == (None, None, None)
    assert (total["type"], total["shape"], total["operands"]) == ("tuple", [], [1, 2])
    assert total["parameter"] is None


def test_frames_with_their_callers() -> None:
    assert read(module())["hlo_frame"] == [
        {
            "process": 3,
            "program_id": 7,
            "frame": 1,
            "parent": 0,
            "file": "/home/ada/train.py",
            "line": 41,
            "function": "train",
            "kind": "user",
        },
        {
            "process": 3,
            "program_id": 7,
            "frame": 2,
            "parent": 1,
            "file": "/home/ada/data.py",
            "line": 88,
            "function": "load",
            "kind": "user",
        },
    ]


def test_modules_follow_each_other() -> None:
    ingested = Ingested()
    for program in (7, 8):
        hlo.read_module(module().SerializeToString(), program, None, Folders(), ingested.of(3))
    programs = {name: columns["program_id"] for name, columns in ingested.tables.items() if columns}
    assert programs == {
        "hlo_module": [7, 8],
        "hlo_instruction": [7] * 4 + [8] * 4,
        "hlo_parameter": [7, 7, 8, 8],
        "hlo_frame": [7, 7, 8, 8],
    }


def test_module_without_an_entry_computation_has_no_parameters() -> None:
    proto = module()
    proto.hlo_module.entry_computation_id = 99
    tables = read(proto)
    assert tables["hlo_parameter"] == []
    assert [row["entry"] for row in tables["hlo_instruction"]] == [False] * 4


def test_empty_module_counts_as_looked_for() -> None:
    tables = read(b"")
    assert len(tables.pop("hlo_module")) == 1
    empty = ("hlo_parameter", "hlo_instruction", "hlo_frame", "placement", "communication")
    assert tables == {name: [] for name in empty}


def test_type_without_a_name_is_its_number() -> None:
    proto = module()
    proto.hlo_module.computations[1].instructions[0].shape.element_type = 99
    assert read(proto)["hlo_parameter"][0]["type"] == "99"


@pytest.mark.parametrize("root", [1, 3, 9], ids=["parameter", "sum", "none of them"])
def test_result_of_a_computation(root: int) -> None:
    proto = module()
    proto.hlo_module.computations[1].root_id = root
    instructions = read(proto)["hlo_instruction"]
    assert [row["id"] for row in instructions if row["root"] and row["entry"]] == [
        number for number in (1, 3) if number == root
    ]


# Donation, devices, sharding


@pytest.mark.parametrize(
    ("aliases", "donors", "donated"),
    [([], [], []), ([0], [], [0]), ([], [1], [1]), ([2, 0], [1], [0, 1, 2]), ([1, 1], [1], [1])],
    ids=["none", "alias", "donor", "both", "same"],
)
def test_parameters_that_give_their_memory(
    aliases: list[int], donors: list[int], donated: list[int]
) -> None:
    proto = module()
    for number in aliases:
        proto.hlo_module.input_output_alias.entries.add(parameter_number=number)
    for number in donors:
        proto.hlo_module.buffer_donor.entries.add(parameter_number=number)
    assert read(proto)["hlo_module"][0]["donated"] == donated


def test_devices_that_a_module_is_for() -> None:
    proto = module()
    assignment = proto.hlo_module.device_assignment
    assignment.replica_count, assignment.computation_count = 2, 2
    for devices in ((0, 1), (2, 3)):
        assignment.computation_devices.add(replica_device_ids=devices)
    assert read(proto)["hlo_module"][0]["devices"] == [0, 1, 2, 3]


def sharding(parameters: list[bytes], output: bytes = b"") -> str | None:
    proto = module()
    proto.hlo_module.spmd_parameters_shardings.extend(parameters)
    proto.hlo_module.spmd_output_sharding = output
    digest: str | None = read(proto)["hlo_module"][0]["sharding"]
    return digest


def test_shardings_have_a_digest() -> None:
    assert sharding([]) is None
    assert sharding([b"", b""]) is None
    digests = {
        sharding([b"a"]),
        sharding([b"b"]),
        sharding([b"a", b""]),
        sharding([], b"a"),
        sharding([b"a"], b"b"),
        sharding([b"a", b"b"]),
    }
    assert len(digests) == 6
    assert all(digest and len(digest) == 8 for digest in digests)
    assert sharding([b"a"], b"b") == sharding([b"a"], b"b")


# Where instructions come from


@pytest.mark.parametrize("frame", [0, 3, -1])
def test_without_a_stack_the_line_of_the_metadata_is_named(frame: int) -> None:
    proto = module(frames=False)
    metadata = of_first(proto)
    metadata.source_file, metadata.source_line = "/home/ada/train.py", 12
    metadata.stack_frame_id = frame
    tables = read(proto)
    for row in (tables["hlo_parameter"][0], tables["hlo_instruction"][1]):
        assert (row["file"], row["line"]) == ("/home/ada/train.py", 12)
    assert tables["hlo_instruction"][1]["frame"] is None


def test_stack_goes_before_the_line_of_the_metadata() -> None:
    proto = module()
    of_first(proto).source_file = "/home/ada/other.py"
    assert read(proto)["hlo_instruction"][1]["file"] == "/home/ada/data.py"


def test_library_is_named_with_the_user_s_line_that_led_there() -> None:
    proto = module()
    proto.hlo_module.stack_frame_index.file_names[1] = "/v/site-packages/trainer/loop.py"
    first = read(proto, Folders(installed=("/v/site-packages",)))["hlo_instruction"][1]
    assert (first["file"], first["line"]) == ("/v/site-packages/trainer/loop.py", 88)
    assert (first["user_file"], first["user_line"]) == ("/home/ada/train.py", 41)


def test_parameter_that_the_capture_saw_being_sent() -> None:
    proto = module()
    proto.hlo_module.stack_frame_index.file_names[1] = ADAPTER
    first = read(proto)["hlo_parameter"][0]
    assert (first["sent"], first["file"], first["line"]) == (True, "/home/ada/train.py", 41)


@pytest.mark.parametrize("frame", range(-1, 4))
@pytest.mark.parametrize("identifier", [-1, 0, 3, 99])
@pytest.mark.parametrize("field", ["file_name_id", "function_name_id"])
def test_stack_that_points_nowhere_ends_there(frame: int, identifier: int, field: str) -> None:
    proto = module()
    index = proto.hlo_module.stack_frame_index
    setattr(index.file_locations[1], field, identifier)
    index.stack_frames[0].parent_frame_id = frame  # also itself, and the one it came from

    first = read(proto)["hlo_parameter"][0]

    assert first["file"] in (None, "/home/ada/train.py", "/home/ada/data.py")
    assert (first["file"], first["function"]) != ("/home/ada/data.py", "train")


def test_frame_without_a_place_keeps_its_number() -> None:
    proto = module()
    proto.hlo_module.stack_frame_index.stack_frames[0].file_location_id = 9
    broken, whole = read(proto)["hlo_frame"]
    assert (broken["frame"], broken["file"], broken["line"]) == (1, None, None)
    assert (whole["frame"], whole["parent"], whole["line"]) == (2, 1, 88)


def test_circle_is_cut_where_it_closes() -> None:
    proto = module()
    proto.hlo_module.stack_frame_index.stack_frames[0].parent_frame_id = 2
    assert [row["parent"] for row in read(proto)["hlo_frame"]] == [2, 0]


def test_frames_of_callers_may_come_later() -> None:
    proto = module()
    index = proto.hlo_module.stack_frame_index
    index.stack_frames[0].parent_frame_id, index.stack_frames[1].parent_frame_id = 2, 0
    assert [row["parent"] for row in read(proto)["hlo_frame"]] == [2, 0]


def test_absurdly_deep_stack() -> None:
    proto = module()
    index = proto.hlo_module.stack_frame_index
    index.file_names[1] = ADAPTER
    for number in range(2, 20_000):
        index.stack_frames.add(file_location_id=2, parent_frame_id=number)
    of_first(proto).stack_frame_id = 20_000
    assert read(proto)["hlo_instruction"][1]["file"] is None


# Captured modules


def captured(path: Path) -> list[bytes]:
    """The modules of a timeline."""
    space = message("XSpace").FromString(path.read_bytes())
    return [
        stat.bytes_value
        for plane in space.planes
        if plane.name == "/host:metadata"
        for entry in plane.event_metadata
        for stat in entry.value.stats
    ]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parts[-5])
def test_captured_modules_are_whole(path: Path) -> None:
    for proto in captured(path):
        tables = read(proto)
        instructions, frames = tables["hlo_instruction"], tables["hlo_frame"]
        identifiers = {row["id"] for row in instructions}
        for row in instructions:
            assert identifiers.issuperset(row["operands"])
            assert sorted(row["layout"]) == list(range(len(row["shape"])))
            assert (row["literal"] is not None) == (row["opcode"] == "constant")
            assert row["type"] in TYPES
        roots = [row["computation"] for row in instructions if row["root"]]
        assert sorted(roots) == sorted({row["computation"] for row in instructions})
        assert all(0 <= row["parent"] < row["frame"] for row in frames)
        assert all(row["file"] and row["line"] and row["function"] for row in frames)


def test_sample_names_the_lines_that_its_graph_is_built_on() -> None:
    (path,) = (path for path in SAMPLES if "scalar_read" in path.parts)
    sites = {
        (row["op_type"], row["file"], row["line"])
        for proto in captured(path)
        for row in read(proto)["hlo_instruction"]
    }
    assert ("aten__addmm", "/samples/programs/scalar_read.py", 32) in sites


# Damage


def test_unreadable_module_leaves_a_note() -> None:
    ingested = Ingested()
    hlo.read_module(b"\xff\xff", 7, "cafe", Folders(), ingested.of(3))
    assert ingested.tables == {}
    assert ingested.notes[0].startswith("module 7 of process 3: unreadable HLO (")


@settings(deadline=None)
@given(data=st.binary(max_size=300))
def test_junk_is_a_note_or_rows(data: bytes) -> None:
    ingested = Ingested()
    hlo.read_module(data, 0, None, Folders(), ingested.of(0))
    assert bool(ingested.notes) != ("hlo_module" in ingested.tables)


WHOLE = module().SerializeToString()


@settings(max_examples=300, deadline=None)
@given(position=st.integers(0, len(WHOLE) - 1), value=st.integers(0, 255))
def test_one_wrong_byte_never_raises(position: int, value: int) -> None:
    read(WHOLE[:position] + bytes([value]) + WHOLE[position + 1 :])


numbers = st.integers(-2, 7) | st.sampled_from([-INT32, INT32 - 1])
places = st.fixed_dictionaries(
    {"file_name_id": numbers, "function_name_id": numbers, "line": numbers}
)
stacks = st.lists(st.fixed_dictionaries({"file_location_id": numbers, "parent_frame_id": numbers}))


@settings(deadline=None)
@given(
    files=st.lists(st.sampled_from(["/home/ada/train.py", ADAPTER, "<string>", ""]), max_size=3),
    locations=st.lists(places, max_size=4),
    frames=stacks,
    innermost=numbers,
)
def test_any_index_of_stacks_ends(
    files: list[str], locations: list[Row], frames: list[Row], innermost: int
) -> None:
    proto = module(frames=False)
    index = message("StackFrameIndex")(
        file_names=files, function_names=["train"], file_locations=locations, stack_frames=frames
    )
    proto.hlo_module.stack_frame_index.CopyFrom(index)
    of_first(proto).stack_frame_id = innermost

    tables = read(proto)

    parents = [0] + [row["parent"] for row in tables["hlo_frame"]]
    assert len(parents) == len(frames) + 1
    assert tables["hlo_instruction"][1]["frame"] in (None, *range(1, len(parents)))
    for number in range(len(parents)):
        for _ in range(len(parents)):
            number = parents[number]  # noqa: PLW2901
        assert number == 0


def test_extreme_numbers_fit_the_evidence() -> None:
    proto = module()
    for number in (INT64 - 1, -INT64):
        added = proto.hlo_module.computations[1].instructions.add(opcode="parameter", id=number)
        added.shape.dimensions.append(number)
        added.shape.layout.minor_to_major.append(number)
        added.operand_ids.append(number)
        added.metadata.source_file, added.metadata.source_line = "a\0b", INT32 - 1
    ingested = Ingested()
    hlo.read_module(proto.SerializeToString(), 0, None, Folders(), ingested.of(0))
    hlo.read_module(module_with_parameter(2**62 + 5), 1, None, Folders(), ingested.of(0))

    database = build(ingested, "a-run", Manifest(command=[])).database

    assert database.scalar("SELECT max(id) FROM hlo_instruction") == INT64 - 1
    assert database.scalar("SELECT min(shape[1]) FROM hlo_parameter") == -INT64
    assert database.scalar("SELECT number FROM hlo_parameter WHERE program_id = 1") == 5


def module_with_parameter(number: int) -> bytes:
    """A module whose parameter has a number of 63 bits, as no compiler writes."""
    digits = [number >> shift & 127 | 128 for shift in range(0, 56, 7)] + [number >> 56]
    instruction = message("HloInstructionProto")(opcode="parameter")
    data = bytes(instruction.SerializeToString()) + bytes((9 << 3, *digits))
    for field in (2, 3, 1):  # HloComputationProto, HloModuleProto, HloProto
        data = bytes((field << 3 | 2, len(data))) + data
    return data
