"""Values of constants, as XLA prints them."""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.hlo_modules import TYPES, module, read
from xladoctor.ingest.hlo import literal
from xladoctor.ingest.hlo.element_types import READERS
from xladoctor.ingest.protobuf_schema import message


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


@pytest.mark.thorough
@pytest.mark.live
@pytest.mark.skipif(not importlib.util.find_spec("torch_xla"), reason="torch_xla is not installed")
def test_cases_are_what_xla_prints() -> None:
    modules = [serialized_constant(constant(*case[:4])).hex() for case in PRINTED]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input="\n".join(modules),
        capture_output=True,
        text=True,
        env=os.environ | {"PJRT_DEVICE": "CPU"},
        check=True,
    )
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
        result.SerializeToString()
        + field(2, b"main")
        + program_shape
        + field(3, computation.SerializeToString() + program_shape + root_id)
    )


def test_constant_is_in_its_instruction() -> None:
    proto = module()
    added = proto.hlo_module.computations[1].instructions.add(opcode="constant", name="constant.4")
    added.literal.CopyFrom(constant("f32", [], [2.5], []))
    assert [row["literal"] for row in read(proto)["hlo_instruction"]] == [None] * 4 + ["2.5"]


@pytest.mark.parametrize(
    ("type_name", "dimensions", "values"),
    [
        ("f32", [17], [0.0] * 17),
        ("f32", [2, 3], [0.0] * 5),
        ("f32", [-1, -1], [0.0]),
        ("f32", [2**62, 0], []),
        ("f32", [16] * 15 + [0], []),
        ("f32", [1] * 20, [0.0]),
        ("f16", [2], b"\x00\x00\x00"),
        ("c64", [1], [1.0]),
    ],
)
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
