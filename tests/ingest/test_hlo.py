"""Compiled modules: built from the messages that they are read with, captured, damaged."""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import Row, rows
from xladoctor.evidence.load import build
from xladoctor.evidence.schema import TABLES
from xladoctor.ingest import hlo
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.hlo import attributes, literal
from xladoctor.ingest.hlo.element_types import NAMES, READERS
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.protobuf_schema import message

SAMPLES = sorted(Path(__file__).parents[2].glob("sample_traces/*/plugins/profile/*/*.xplane.pb"))
TYPES = {name: number for number, name in NAMES.items()}
F32, BF16 = TYPES["f32"], TYPES["bf16"]
ADAPTER = "/opt/xladoctor/capture/bootstrap/_xladoctor/adapter.py"
INT32, INT64 = 2**31, 2**63


def module(*, frames: bool = True) -> Any:
    """Parameters 0 (made at data.py:88 in load, from train.py:41) and 1, and their sum."""
    proto = message("HloProto")()
    proto.hlo_module.name, proto.hlo_module.entry_computation_id = "SyncTensorsGraph.7", 5
    helper = proto.hlo_module.computations.add(id=4, name="fused")
    helper.instructions.add(opcode="parameter", name="of_another_computation")
    entry = proto.hlo_module.computations.add(id=5, name="main")
    first = entry.instructions.add(opcode="parameter", name="p0", id=1)
    first.shape.element_type = F32
    first.shape.dimensions.extend((16, 64))
    first.shape.layout.minor_to_major.extend((0, 1))
    first.metadata.op_type, first.metadata.op_name = "xla__device_data", "step/data"
    second = entry.instructions.add(opcode="parameter", parameter_number=1, name="p1", id=2)
    second.shape.element_type = BF16
    total = entry.instructions.add(opcode="add", name="add.3", id=3, operand_ids=(1, 2))
    total.shape.element_type = TYPES["tuple"]
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


def of_first(proto: Any) -> Any:
    """The OpMetadata of parameter 0."""
    return proto.hlo_module.computations[1].instructions[0].metadata


def read(proto: Any, folders: Folders | None = None) -> dict[str, list[Row]]:
    ingested = Ingested()
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    hlo.read_module(data, 3, 7, "cafe", folders or Folders(), ingested)
    return {name: rows(columns) for name, columns in ingested.tables.items()}


# What is read


def test_module_has_one_row() -> None:
    assert read(module())["hlo_module"] == [
        {"process": 3, "program_id": 7, "name": "SyncTensorsGraph.7", "graph_hash": "cafe",
         "instructions": 4, "donated": [], "devices": [], "sharding": None}
    ]  # fmt: skip


def test_columns_are_those_of_the_schema() -> None:
    for table, (row, *_) in read(module()).items():
        assert row.keys() == TABLES[table].columns.keys()


def test_entry_parameters_come_with_shape_type_and_line() -> None:
    first, second = read(module())["hlo_parameter"]
    assert first == {
        "process": 3, "program_id": 7, "graph_hash": "cafe", "number": 0, "shape": [16, 64],
        "layout": [0, 1], "type": "f32", "op": "xla__device_data", "sent": False,
        "file": "/home/ada/data.py", "line": 88,
        "function": "load", "user_file": None, "user_line": None, "user_function": None, "via": "",
    }  # fmt: skip
    assert (second["number"], second["shape"], second["type"]) == (1, [], "bf16")
    assert second["file"] is None


def test_instructions_of_all_computations() -> None:
    helper, first, second, total = read(module())["hlo_instruction"]
    assert first == {
        "process": 3, "program_id": 7, "graph_hash": "cafe", "computation": "main", "entry": True,
        "root": False, "id": 1, "name": "p0", "opcode": "parameter", "type": "f32",
        "shape": [16, 64], "layout": [0, 1], "operands": [], "parameter": 0, "literal": None,
        "attributes": None, "op_type": "xla__device_data", "op_name": "step/data", "frame": 2,
        "file": "/home/ada/data.py", "line": 88,
        "function": "load", "user_file": None, "user_line": None, "user_function": None, "via": "",
    }  # fmt: skip
    assert (helper["computation"], helper["entry"], helper["parameter"]) == ("fused", False, 0)
    assert (second["op_type"], second["op_name"], second["frame"]) == (None, None, None)
    assert (total["type"], total["shape"], total["operands"]) == ("tuple", [], [1, 2])
    assert total["parameter"] is None


def test_frames_with_their_callers() -> None:
    assert read(module())["hlo_frame"] == [
        {"process": 3, "program_id": 7, "frame": 1, "parent": 0, "file": "/home/ada/train.py",
         "line": 41, "function": "train"},
        {"process": 3, "program_id": 7, "frame": 2, "parent": 1, "file": "/home/ada/data.py",
         "line": 88, "function": "load"},
    ]  # fmt: skip


def test_modules_follow_each_other() -> None:
    ingested = Ingested()
    for program in (7, 8):
        hlo.read_module(module().SerializeToString(), 3, program, None, Folders(), ingested)
    programs = {name: columns["program_id"] for name, columns in ingested.tables.items()}
    assert programs == {
        "hlo_module": [7, 8], "hlo_instruction": [7] * 4 + [8] * 4,
        "hlo_parameter": [7, 7, 8, 8], "hlo_frame": [7, 7, 8, 8],
    }  # fmt: skip


def test_module_without_an_entry_computation_has_no_parameters() -> None:
    proto = module()
    proto.hlo_module.entry_computation_id = 99
    tables = read(proto)
    assert tables["hlo_parameter"] == []
    assert [row["entry"] for row in tables["hlo_instruction"]] == [False] * 4


def test_empty_module_counts_as_looked_for() -> None:
    tables = read(b"")
    assert len(tables.pop("hlo_module")) == 1
    assert tables == {"hlo_parameter": [], "hlo_instruction": [], "hlo_frame": []}


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
    digests = {sharding([b"a"]), sharding([b"b"]), sharding([b"a", b""]), sharding([], b"a"),
               sharding([b"a"], b"b"), sharding([b"a", b"b"])}  # fmt: skip
    assert len(digests) == 6
    assert all(digest and len(digest) == 8 for digest in digests)
    assert sharding([b"a"], b"b") == sharding([b"a"], b"b")


# Attributes


WINDOW = {"size": 3, "stride": 1, "window_dilation": 1, "base_dilation": 1}
ATTRIBUTES: dict[str, tuple[str, Row, str]] = {
    **{opcode: (opcode, {"dimensions": (1, 0)}, "dimensions={1,0}") for opcode in (
        "broadcast", "transpose", "reduce", "concatenate", "iota", "reverse", "sort")},
    "broadcast of a scalar": ("broadcast", {}, "dimensions={}"),
    "slice": ("slice", {"slice_dimensions": [{"start": 0, "limit": 16, "stride": 1},
                                             {"start": 2, "limit": 9, "stride": 3}]},
              "slice={[0:16],[2:9:3]}"),
    "slice of a scalar": ("slice", {}, "slice={}"),
    "pad": ("pad", {"padding_config": {"dimensions": [
        {"edge_padding_low": 1, "edge_padding_high": 2},
        {"edge_padding_low": -1, "interior_padding": 3},
    ]}}, "padding=1_2x-1_0_3"),
    "reduce-window": ("reduce-window",
                      {"window": {"dimensions": [WINDOW, {**WINDOW, "stride": 2}]}},
                      "window={size=3x3 stride=1x2}"),
    "select-and-scatter": ("select-and-scatter", {"window": {"dimensions": [WINDOW]}},
                           "window={size=3}"),
    "convolution": ("convolution", {"window": {"dimensions": [
        {**WINDOW, "padding_low": 1, "padding_high": 2, "window_dilation": 2,
         "base_dilation": 3, "window_reversal": True},
    ]}, "feature_group_count": 4},
        "window={size=3 pad=1_2 lhs_dilate=3 rhs_dilate=2 rhs_reversal=1} groups=4"),
    "convolution of points": ("convolution", {"feature_group_count": 1}, "window={}"),
    "dot": ("dot", {"dot_dimension_numbers": {
        "lhs_contracting_dimensions": (2,), "rhs_contracting_dimensions": (1,),
        "lhs_batch_dimensions": (0,), "rhs_batch_dimensions": (0,),
    }}, "contracting={2}x{1} batch={0}x{0}"),
    "dynamic-slice": ("dynamic-slice", {"dynamic_slice_sizes": (1, 64)}, "sizes={1,64}"),
    "gather": ("gather", {"gather_slice_sizes": (1, 64)}, "slice_sizes={1,64}"),
    "compare": ("compare", {"comparison_direction": "LT"}, "direction=LT"),
    "rng": ("rng", {"distribution": 1}, "distribution=1"),
    "custom-call": ("custom-call", {"custom_call_target": "TopK"}, "target=TopK"),
}  # fmt: skip


@pytest.mark.parametrize(("opcode", "fields", "printed"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes(opcode: str, fields: Row, printed: str) -> None:
    proto = module()
    computation = proto.hlo_module.computations[1]
    computation.instructions.append(message("HloInstructionProto")(opcode=opcode, **fields))
    assert read(proto)["hlo_instruction"][-1]["attributes"] == printed


@pytest.mark.parametrize("opcode", ["parameter", "add", "constant", "tuple", "", "no-such-opcode"])
def test_opcode_without_attributes(opcode: str) -> None:
    instruction = message("HloInstructionProto")(opcode=opcode, dimensions=(1, 2))
    assert attributes.text(instruction) is None


@pytest.mark.parametrize("opcode", sorted({case[0] for case in ATTRIBUTES.values()}))
def test_opcode_without_its_fields(opcode: str) -> None:
    assert attributes.text(message("HloInstructionProto")(opcode=opcode)) is not None


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


# Constants


def constant(type_name: str, dimensions: list[int], values: Any, layout: list[int]) -> Any:
    """A LiteralProto."""
    result = message("LiteralProto")()
    result.shape.element_type = TYPES[type_name]
    result.shape.dimensions.extend(dimensions)
    result.shape.layout.minor_to_major.extend(layout)
    if isinstance(values, bytes):
        setattr(result, f"{type_name}s", values)
    else:
        getattr(result, f"{type_name}s").extend(values)
    return result


#: Type, dimensions, values as stored, layout, and the text that XLA itself prints for them.
PRINTED: list[tuple[str, list[int], Any, list[int], str]] = [
    ("pred", [], [True], [], "true"),
    ("pred", [3], [True, False, True], [0], "{1, 0, 1}"),
    ("s4", [3], b"\x01\x0f\x08", [0], "{1, -1, -8}"),
    ("u4", [3], b"\x01\x0f\x08", [0], "{1, 15, 8}"),
    ("s8", [2], b"\x80\x7f", [0], "{-128, 127}"),
    ("u8", [2], b"\x80\x7f", [0], "{128, 127}"),
    ("s16", [2], b"\x00\x80\x01\x00", [0], "{-32768, 1}"),
    ("u16", [2], b"\x00\x80\x01\x00", [0], "{32768, 1}"),
    ("s32", [], [-(2**31)], [], "-2147483648"),
    ("u32", [], [2**32 - 1], [], "4294967295"),
    ("s64", [2], [-(2**63), 2531011], [0], "{-9223372036854775808, 2531011}"),
    ("u64", [], [2**64 - 1], [], "18446744073709551615"),
    ("f16", [4], b"\x66\x2e\xff\x7b\x00\xfc\x01\x80", [0], "{0.099976, 65504, -inf, -5.9605e-08}"),
    ("bf16", [3], b"\x80\x3f\xcd\x3d\xc0\x7f", [0], "{1, 0.1001, nan}"),
    ("f32", [], [2.5], [], "2.5"),
    ("f32", [4], [0.1, 1 / 3, 1e-5, 16777216], [0], "{0.1, 0.333333343, 1e-05, 16777216}"),
    ("f32", [4], [float("nan"), -float("nan"), float("inf"), -0.0], [0], "{nan, -nan, inf, -0}"),
    ("f64", [2], [0.1, 1 / 3], [0], "{0.1, 0.33333333333333331}"),
    ("f64", [2], [5e-324, float("nan")], [0], "{4.94065645841247e-324, nan}"),
    ("c64", [2], [1, 2, 3, -4.5], [0], "{(1, 2), (3, -4.5)}"),
    ("c128", [], [0.1, -0.0], [], "(0.1, -0)"),
    ("f8e5m2", [4], b"\x3c\x7b\x7c\xfe", [0], "{1, 5.7e+04, inf, -nan}"),
    ("f8e4m3fn", [4], b"\x7e\x7f\x01\x80", [0], "{448, nan, 0.00195, -0}"),
    ("f8e4m3", [2], b"\x77\x78", [0], "{240, inf}"),
    ("f8e3m4", [2], b"\x6f\x01", [0], "{15.5, 0.0156}"),
    ("f8e4m3b11fnuz", [2], b"\x7f\x80", [0], "{30, -nan}"),
    ("f8e4m3fnuz", [2], b"\x7f\x80", [0], "{240, -nan}"),
    ("f8e5m2fnuz", [2], b"\x7f\x80", [0], "{5.7e+04, -nan}"),
    ("f4e2m1fn", [3], b"\x01\x07\x0a", [0], "{0.5, 6, -1}"),
    ("f32", [2, 2], [1, 2, 3, 4], [1, 0], "{ { 1, 2 }, { 3, 4 } }"),
    ("f32", [2, 2], [1, 2, 3, 4], [0, 1], "{ { 1, 3 }, { 2, 4 } }"),
    ("s64", [2, 1, 3], [1, 2, 3, 4, 5, 6], [0, 1, 2], "{ { { 1, 3, 5 } }, { { 2, 4, 6 } } }"),
    ("f32", [3, 1], [1, 2, 3], [1, 0], "{ {1}, {2}, {3} }"),
    ("f32", [0], [], [0], "{}"),
    ("f32", [0, 3], [], [1, 0], "{  }"),
    ("f32", [3, 0], [], [1, 0], "{ {}, {}, {} }"),
]


@pytest.mark.parametrize(("type_name", "dimensions", "values", "layout", "printed"), PRINTED)
def test_constant_is_printed_as_xla_does(
    type_name: str, dimensions: list[int], values: Any, layout: list[int], printed: str
) -> None:
    assert literal.text(constant(type_name, dimensions, values, layout)) == printed


def test_every_type_that_is_read_has_a_field_and_a_case() -> None:
    fields = {field.name.removesuffix("s") for field in message("LiteralProto").DESCRIPTOR.fields}
    assert fields - {"shape"} == set(READERS) == {case[0] for case in PRINTED}


#: Has XLA print the modules that standard input gives.
PROGRAM = """
import json, sys
from torch_xla.core import xla_builder
modules = [bytes.fromhex(line) for line in sys.stdin]
computations = [xla_builder.computation_from_module_proto("m", module) for module in modules]
print(json.dumps([xla_builder.get_computation_hlo(each) for each in computations]))
"""


@pytest.mark.live
@pytest.mark.skipif(not importlib.util.find_spec("torch_xla"), reason="torch_xla is not installed")
def test_cases_are_what_xla_prints() -> None:
    modules = [serialized_constant(constant(*case[:4])).hex() for case in PRINTED]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input="\n".join(modules), capture_output=True, text=True,
        env=os.environ | {"PJRT_DEVICE": "CPU"}, check=True,
    )  # fmt: skip
    texts = json.loads(done.stdout.splitlines()[-1])
    for text, (*_, printed) in zip(texts, PRINTED, strict=True):
        assert f" constant({printed})\n" in text


def serialized_constant(value: Any) -> bytes:
    """A HloModuleProto that XLA accepts: one constant, with the program shape that it wants."""

    def field(number: int, data: bytes) -> bytes:
        assert len(data) < 1 << 14
        return bytes((number << 3 | 2, len(data) & 127 | 128, len(data) >> 7)) + data

    shape = value.shape.SerializeToString()
    program_shape = field(4, field(2, shape))
    instruction = message("HloInstructionProto")(name="k", opcode="constant", id=1)
    instruction.shape.CopyFrom(value.shape)
    instruction.literal.CopyFrom(value)
    computation = message("HloComputationProto")(name="main", id=1, instructions=[instruction])
    root_id = bytes((6 << 3, 1))
    result = message("HloModuleProto")(name="m", id=1, entry_computation_id=1)
    return bytes(
        result.SerializeToString() + field(2, b"main") + program_shape
        + field(3, computation.SerializeToString() + program_shape + root_id)
    )  # fmt: skip


def test_constant_stands_in_its_instruction() -> None:
    proto = module()
    added = proto.hlo_module.computations[1].instructions.add(opcode="constant", name="constant.4")
    added.literal.CopyFrom(constant("f32", [], [2.5], []))
    assert [row["literal"] for row in read(proto)["hlo_instruction"]] == [None] * 4 + ["2.5"]


@pytest.mark.parametrize(("type_name", "dimensions", "values"), [
    ("f32", [17], [0.0] * 17),
    ("f32", [2, 3], [0.0] * 5),
    ("f32", [-1, -1], [0.0]),
    ("f32", [2**62, 0], []),
    ("f32", [16] * 15 + [0], []),
    ("f32", [1] * 20, [0.0]),
    ("f16", [2], b"\x00\x00\x00"),
    ("c64", [1], [1.0]),
])  # fmt: skip
def test_constant_that_is_large_or_not_whole_has_no_text(
    type_name: str, dimensions: list[int], values: Any
) -> None:
    assert literal.text(constant(type_name, dimensions, values, [])) is None


def test_sixteen_elements_are_printed() -> None:
    printed = literal.text(constant("s32", [16], range(16), [0]))
    assert printed == "{" + ", ".join(map(str, range(16))) + "}"


@pytest.mark.parametrize("type_name", ["tuple", "token", "s2", "f8e8m0fnu"])
def test_types_whose_values_are_not_read(type_name: str) -> None:
    value = message("LiteralProto")()
    value.shape.element_type = TYPES[type_name]
    assert literal.text(value) is None


@settings(deadline=None)
@given(bits=st.integers(0, 2**16 - 1))
def test_half_precision_agrees_with_python(bits: int) -> None:
    data = struct.pack("<H", bits)
    (value,) = struct.unpack("<e", data)
    printed = float(literal.text(constant("f16", [], data, [])) or "")
    assert struct.pack("<e", printed) == data or value != value  # noqa: PLR0124 - NaN


# Captured modules


def captured(path: Path) -> list[bytes]:
    """The modules of a timeline."""
    space = message("XSpace").FromString(path.read_bytes())
    return [stat.bytes_value for plane in space.planes if plane.name == "/host:metadata"
            for entry in plane.event_metadata for stat in entry.value.stats]  # fmt: skip


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
        for proto in captured(path) for row in read(proto)["hlo_instruction"]
    }  # fmt: skip
    assert ("aten__addmm", "/samples/programs/scalar_read.py", 32) in sites


# Damage


def test_unreadable_module_leaves_a_note() -> None:
    ingested = Ingested()
    hlo.read_module(b"\xff\xff", 3, 7, "cafe", Folders(), ingested)
    assert ingested.tables == {}
    assert ingested.notes[0].startswith("module 7 of process 3: unreadable HLO (")


@settings(deadline=None)
@given(data=st.binary(max_size=300))
def test_junk_is_a_note_or_rows(data: bytes) -> None:
    ingested = Ingested()
    hlo.read_module(data, 0, 0, None, Folders(), ingested)
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
    hlo.read_module(proto.SerializeToString(), 0, 0, None, Folders(), ingested)
    hlo.read_module(module_with_parameter(2**62 + 5), 0, 1, None, Folders(), ingested)

    database = build(ingested, {"kind": "run", "path": "a-run"}).database

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
