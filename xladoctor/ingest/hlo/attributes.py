"""The attributes of an instruction, besides operands and shape, as HLO text prints them.

Only those that a Python number or flag of the program can end up in, for the opcodes that frontends
emit: bounds of slices, padding, dimensions, windows, directions. Format: ``PrintExtraAttributes``
in ``xla/hlo/ir/hlo_instructions.cc``, shortened where it would repeat the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def text(instruction: Any) -> str | None:
    """The attributes of an instruction; None if its opcode has none that are read."""
    printer = _PRINTERS.get(instruction.opcode)
    return printer(instruction) if printer else None


def _dimensions(instruction: Any) -> str:
    return f"dimensions={_list(instruction.dimensions)}"


def _list(numbers: Iterable[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _slice(instruction: Any) -> str:
    bounds = (
        f"[{bounds.start}:{bounds.limit}{f':{bounds.stride}' if bounds.stride != 1 else ''}]"
        for bounds in instruction.slice_dimensions
    )
    return "slice={" + ",".join(bounds) + "}"


def _pad(instruction: Any) -> str:
    edges = (
        f"{dimension.edge_padding_low}_{dimension.edge_padding_high}"
        f"{f'_{dimension.interior_padding}' if dimension.interior_padding else ''}"
        for dimension in instruction.padding_config.dimensions
    )
    return "padding=" + "x".join(edges)


def _window(instruction: Any) -> str:
    dimensions = instruction.window.dimensions
    parts = {
        "size": [dimension.size for dimension in dimensions],
        "stride": [dimension.stride for dimension in dimensions],
        "pad": [f"{dimension.padding_low}_{dimension.padding_high}" for dimension in dimensions],
        "lhs_dilate": [dimension.base_dilation for dimension in dimensions],
        "rhs_dilate": [dimension.window_dilation for dimension in dimensions],
        "rhs_reversal": [int(dimension.window_reversal) for dimension in dimensions],
    }
    plain: dict[str, Any] = {
        "stride": 1,
        "pad": "0_0",
        "lhs_dilate": 1,
        "rhs_dilate": 1,
        "rhs_reversal": 0,
    }
    shown = (
        f"{name}={'x'.join(map(str, values))}"
        for name, values in parts.items()
        if values and set(values) != {plain.get(name)}
    )
    groups = instruction.feature_group_count
    return (
        "window={"
        + " ".join(shown)
        + "}"
        + (f" groups={groups}" if groups > 1 else "")
        + (_precision(instruction))
    )


def _dot(instruction: Any) -> str:
    numbers = instruction.dot_dimension_numbers
    return (
        f"contracting={_list(numbers.lhs_contracting_dimensions)}"
        f"x{_list(numbers.rhs_contracting_dimensions)}"
        f" batch={_list(numbers.lhs_batch_dimensions)}x{_list(numbers.rhs_batch_dimensions)}"
        f"{_precision(instruction)}"
    )


def _precision(instruction: Any) -> str:
    """The precision, if it is not the default."""
    precision = instruction.precision_config.operand_precision
    return f" precision={_list(precision)}" if any(precision) else ""


_PRINTERS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(
        ("broadcast", "transpose", "reduce", "concatenate", "iota", "reverse", "sort"), _dimensions
    ),
    "slice": _slice,
    "pad": _pad,
    "reduce-window": _window,
    "convolution": _window,
    "select-and-scatter": _window,
    "dot": _dot,
    "dynamic-slice": lambda instruction: f"sizes={_list(instruction.dynamic_slice_sizes)}",
    "gather": lambda instruction: f"slice_sizes={_list(instruction.gather_slice_sizes)}",
    "compare": lambda instruction: f"direction={instruction.comparison_direction}",
    "rng": lambda instruction: f"distribution={instruction.distribution}",
    "custom-call": lambda instruction: f"target={instruction.custom_call_target}",
}
