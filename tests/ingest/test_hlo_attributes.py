"""Attributes of instructions, as HLO text prints them."""

from __future__ import annotations

import pytest

from tests.ingest.hlo_modules import module, read
from tests.support import Row
from xladoctor.ingest.hlo import attributes
from xladoctor.ingest.protobuf_schema import message

WINDOW = {"size": 3, "stride": 1, "window_dilation": 1, "base_dilation": 1}
ATTRIBUTES: dict[str, tuple[str, Row, str]] = {
    **{
        opcode: (opcode, {"dimensions": (1, 0)}, "dimensions={1,0}")
        for opcode in ("broadcast", "transpose", "reduce", "concatenate", "iota", "reverse", "sort")
    },
    "broadcast of a scalar": ("broadcast", {}, "dimensions={}"),
    "slice": (
        "slice",
        {
            "slice_dimensions": [
                {"start": 0, "limit": 16, "stride": 1},
                {"start": 2, "limit": 9, "stride": 3},
            ]
        },
        "slice={[0:16],[2:9:3]}",
    ),
    "slice of a scalar": ("slice", {}, "slice={}"),
    "pad": (
        "pad",
        {
            "padding_config": {
                "dimensions": [
                    {"edge_padding_low": 1, "edge_padding_high": 2},
                    {"edge_padding_low": -1, "interior_padding": 3},
                ]
            }
        },
        "padding=1_2x-1_0_3",
    ),
    "reduce-window": (
        "reduce-window",
        {"window": {"dimensions": [WINDOW, {**WINDOW, "stride": 2}]}},
        "window={size=3x3 stride=1x2}",
    ),
    "select-and-scatter": (
        "select-and-scatter",
        {"window": {"dimensions": [WINDOW]}},
        "window={size=3}",
    ),
    "convolution": (
        "convolution",
        {
            "window": {
                "dimensions": [
                    {
                        **WINDOW,
                        "padding_low": 1,
                        "padding_high": 2,
                        "window_dilation": 2,
                        "base_dilation": 3,
                        "window_reversal": True,
                    },
                ]
            },
            "feature_group_count": 4,
        },
        "window={size=3 pad=1_2 lhs_dilate=3 rhs_dilate=2 rhs_reversal=1} groups=4",
    ),
    "convolution of points": ("convolution", {"feature_group_count": 1}, "window={}"),
    "dot": (
        "dot",
        {
            "dot_dimension_numbers": {
                "lhs_contracting_dimensions": (2,),
                "rhs_contracting_dimensions": (1,),
                "lhs_batch_dimensions": (0,),
                "rhs_batch_dimensions": (0,),
            }
        },
        "contracting={2}x{1} batch={0}x{0}",
    ),
    "dynamic-slice": ("dynamic-slice", {"dynamic_slice_sizes": (1, 64)}, "sizes={1,64}"),
    "gather": ("gather", {"gather_slice_sizes": (1, 64)}, "slice_sizes={1,64}"),
    "compare": ("compare", {"comparison_direction": "LT"}, "direction=LT"),
    "rng": ("rng", {"distribution": 1}, "distribution=1"),
    "custom-call": ("custom-call", {"custom_call_target": "TopK"}, "target=TopK"),
}


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
